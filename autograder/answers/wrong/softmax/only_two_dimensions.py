# mistake: takes x apart row by row and works for matrices only
# hint: `amax` and `sum` take `dim` and work for any number of dimensions; no loop over rows is needed
import torch

def softmax(x, dim=-1):
    if dim not in (1, -1):
        return softmax(x.T, 1).T
    n_rows, n_columns = x.shape
    rows = []
    for i in range(n_rows):
        m = x[i].max()
        e = torch.exp(x[i] - (m if m > float("-inf") else 0))
        rows.append(e / e.sum() if e.sum() > 0 else e)
    return torch.stack(rows)
