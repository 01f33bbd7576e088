# mistake: the result can't be differentiated
# hint: stay with tensor operations on p: no `.detach()`, numpy, `.tolist()` or `torch.tensor(...)`, and `create_graph=True` where autograd finds the slope
import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    flat = p.reshape(-1, n)
    slopes = [torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), torch.log(row)) for row in flat]
    return torch.stack(slopes).reshape(*p.shape, n)
