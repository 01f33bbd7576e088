# mistake: the result is float32 whatever came in
# hint: keep the dtype of x: new tensors with x.new_zeros, no .float()
import torch


def merge_heads(x):
    B, H, T, d_k = x.shape
    out = torch.zeros(B, T, H * d_k)
    for h in range(H):
        out[:, :, h * d_k : (h + 1) * d_k] = x[:, h]
    return out
