import torch

def attention_scores(q, k):
    *front, t_q, d_k = q.shape
    t_k = k.shape[-2]
    flat = torch.bmm(q.reshape(-1, t_q, d_k), k.reshape(-1, t_k, d_k).transpose(1, 2))
    return flat.reshape(*front, t_q, t_k)
