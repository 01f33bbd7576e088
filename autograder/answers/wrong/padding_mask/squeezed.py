# mistake: `squeeze()` drops every dimension of size 1
# hint: don't squeeze: the 1 for the queries stays, and so does a batch of one
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, None, :] < lengths[:, None, None]).squeeze()
