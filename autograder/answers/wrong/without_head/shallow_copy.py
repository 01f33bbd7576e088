# mistake: the copy shares its weights with the original, which loses its head too
# hint: copy.copy copies the shell only: copy.deepcopy
import copy

import torch


def without_head(mha, head):
    silent = copy.copy(mha)
    d_k = silent.out_proj.weight.shape[1] // silent.n_heads
    part = slice(head * d_k, (head + 1) * d_k)
    with torch.no_grad():
        silent.out_proj.weight[:, part] = 0
    return silent
