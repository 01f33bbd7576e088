# mistake: features that don't fit are cut off instead of refused
# hint: raise ValueError where d_model % n_heads isn't 0
def split_heads(x, n_heads):
    B, T, d_model = x.shape
    d_k = d_model // n_heads
    return x[:, :, : n_heads * d_k].reshape(B, T, n_heads, d_k).transpose(1, 2)
