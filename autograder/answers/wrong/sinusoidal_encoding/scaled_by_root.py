# mistake: the waves are scaled by √d_model
# hint: sines and cosines go in as they are, from −1 to 1; √d_model belongs to the word vectors
import math
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    position = torch.arange(T, dtype=torch.float64).unsqueeze(1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angle = position / base ** exponent
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return (pe * math.sqrt(d_model)).float()
