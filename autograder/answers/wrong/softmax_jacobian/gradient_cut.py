# mistake: the result can't be differentiated
# hint: stay with tensor operations on p: no `.detach()`, numpy, `.tolist()` or `torch.tensor(...)`, and `create_graph=True` where autograd finds the slope
import torch

def softmax_jacobian(p):
    if p.dim() > 1:
        return torch.stack([softmax_jacobian(row) for row in p])
    values = p.tolist()
    rows = [[a * (1 - b) if i == j else -a * b for j, b in enumerate(values)] for i, a in enumerate(values)]
    return torch.tensor(rows, dtype=p.dtype)
