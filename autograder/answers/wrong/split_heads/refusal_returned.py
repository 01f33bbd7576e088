# mistake: the ValueError is returned, not raised
# hint: write `raise ValueError(...)`
def split_heads(x, n_heads):
    B, T, d_model = x.shape
    if d_model % n_heads:
        return ValueError("uneven")
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
