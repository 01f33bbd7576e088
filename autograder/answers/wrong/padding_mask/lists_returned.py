# mistake: Python lists are returned instead of a tensor
# hint: return a boolean tensor of shape (B, 1, max_len); comparing tensors gives one
import torch

def padding_mask(lengths, max_len):
    return [[[position < length for position in range(max_len)]] for length in lengths.tolist()]
