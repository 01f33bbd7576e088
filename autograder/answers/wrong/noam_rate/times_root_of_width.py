# mistake: multiplied by √d_model where it should be divided
# hint: d_model ** -0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**0.5 * min(step**-0.5, step * warmup**-1.5)
