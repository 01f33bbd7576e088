import numpy as np
import torch

def padding_mask(lengths, max_len):
    mask = np.arange(max_len)[np.newaxis, :] < lengths.cpu().numpy()[:, np.newaxis]
    return torch.from_numpy(mask).unsqueeze(1).to(lengths.device)
