import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            if i == j:
                row.append(p[..., i] * (1 - p[..., i]))
            else:
                row.append(-p[..., i] * p[..., j])
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)
