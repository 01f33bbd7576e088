# mistake: the head's queries or keys are set to 0: then it looks at everything alike, and still adds something
# hint: silence what the head brings: its values with their bias, or its columns of out_proj
import copy

import torch


def without_head(mha, head):
    silent = copy.deepcopy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.k_proj.weight[part] = 0
    return silent
