# mistake: the first padding position counts as a real token
# hint: positions count from 0, so a sequence of length 3 has the positions 0, 1, 2: use `<`, not `<=`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] <= lengths[:, None]).unsqueeze(1)
