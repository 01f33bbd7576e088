from torch import Tensor


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    B, T, d_model = x.shape
    if d_model % n_heads != 0:
        raise ValueError("d_model must be divisible by n_heads")
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
