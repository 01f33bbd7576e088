import torch


def split_heads(x, n_heads, check=True):
    d_model = x.shape[-1]
    if check and d_model % n_heads:
        raise ValueError(d_model, n_heads)
    eye = torch.eye(d_model, dtype=x.dtype, device=x.device).reshape(d_model, n_heads, d_model // n_heads)
    return torch.einsum("btd,dhk->bhtk", x, eye)
