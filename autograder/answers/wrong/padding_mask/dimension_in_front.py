# mistake: the shape is (1, B, max_len): the batch stands where the queries belong
# hint: the batch comes first and the new dimension second: `unsqueeze(1)`, not `unsqueeze(0)`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] < lengths[:, None]).unsqueeze(0)
