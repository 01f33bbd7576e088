# mistake: the rate stays at its peak after the warm-up
# hint: it falls as step ** -0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(warmup**-0.5, step * warmup**-1.5)
