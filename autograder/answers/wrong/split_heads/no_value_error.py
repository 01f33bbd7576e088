# mistake: an uneven width isn't refused with a ValueError: the reshape stumbles over it, with an error of its own
# hint: check d_model % n_heads first, and raise ValueError with a sentence that helps
def split_heads(x, n_heads):
    B, T, d_model = x.shape
    return x.reshape(B, T, n_heads, d_model // n_heads).transpose(1, 2)
