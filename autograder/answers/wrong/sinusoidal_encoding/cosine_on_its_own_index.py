# mistake: the cosine has a rate of its own: it should share that of the sine beside it
# hint: use the even column number 2i for both columns of the pair
import torch

def sinusoidal_encoding(T, d_model, base=10_000.0):
    pe = torch.zeros(T, d_model, dtype=torch.float64)
    position = torch.arange(T, dtype=torch.float64)
    for i in range(d_model):
        angle = position / base ** (i / d_model)
        pe[:, i] = angle.sin() if i % 2 == 0 else angle.cos()
    return pe.float()
