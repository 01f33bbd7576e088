import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    print("building a table", T, "by", d_model)
    position = torch.arange(T).double().unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(base) / d_model))
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term[: d_model // 2])
    return pe.to(torch.float32)
