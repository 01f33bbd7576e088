# mistake: an uneven width raises AssertionError
# hint: `assert` raises an AssertionError, and can be switched off: write `raise ValueError(...)`
def split_heads(x, n_heads):
    B, T, d_model = x.shape
    assert d_model % n_heads == 0
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
