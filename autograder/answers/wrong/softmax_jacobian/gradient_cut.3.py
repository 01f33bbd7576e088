# mistake: the result can't be differentiated
# hint: stay with tensor operations on p: no `.detach()`, numpy, `.tolist()` or `torch.tensor(...)`, and `create_graph=True` where autograd finds the slope
import torch

def softmax_jacobian(p):
    p = p.detach()
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
