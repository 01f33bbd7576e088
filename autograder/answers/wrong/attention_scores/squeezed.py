# mistake: `squeeze()` drops dimensions of size 1, so one sequence or one query loses its place
# hint: don't squeeze: the shape (..., T_q, T_k) holds for sizes of 1 as well
import torch

def attention_scores(q, k):
    return torch.matmul(q, k.transpose(-2, -1)).squeeze()
