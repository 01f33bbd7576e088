# mistake: the caller's lengths are changed
# hint: `lengths -= 1` writes into the tensor that was given: compute with a new one, or compare with `<`
import torch

def padding_mask(lengths, max_len):
    lengths -= 1
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] <= lengths[:, None]).unsqueeze(1)
