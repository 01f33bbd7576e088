import torch

def attention_scores(q, k):
    rows = []
    for i in range(q.shape[-2]):
        row = []
        for j in range(k.shape[-2]):
            row.append((q[..., i, :] * k[..., j, :]).sum(dim=-1))
        rows.append(torch.stack(row, dim=-1))
    return torch.stack(rows, dim=-2)
