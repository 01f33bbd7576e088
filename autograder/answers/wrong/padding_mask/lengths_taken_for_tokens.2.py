# mistake: the lengths are treated as token ids that are compared with a padding id
# hint: there are no tokens here: compare the positions 0 … max_len − 1 with each length
import torch

def padding_mask(lengths, max_len):
    return (lengths != 0)[:, None, None].expand(-1, 1, max_len)
