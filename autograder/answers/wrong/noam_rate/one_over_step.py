# mistake: falls as 1 / step, not as 1 / √step
# hint: step ** -0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(1 / step * warmup**0.5, step * warmup**-1.5)
