# mistake: columns run over all of d_model, and each is doubled on top
# hint: in the pair (2i, 2i+1), the exponent is 2i/d_model for both columns
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    rows = []
    for pos in range(T):
        row = []
        for i in range(d_model):
            angle = pos / base ** (2 * i / d_model)
            row.append(math.sin(angle) if i % 2 == 0 else math.cos(angle))
        rows.append(row)
    return torch.tensor(rows).reshape(T, d_model)
