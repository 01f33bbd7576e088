# mistake: a lower triangle is returned, which hides the future instead of the padding
# hint: what is hidden depends on `lengths`, not on the query's position
import torch

def padding_mask(lengths, max_len):
    triangle = torch.ones(max_len, max_len, dtype=torch.bool).tril()
    return triangle.expand(len(lengths), max_len, max_len)
