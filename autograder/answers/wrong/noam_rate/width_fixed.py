# mistake: d_model is always 512
# hint: use the argument d_model
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return 512**-0.5 * min(step**-0.5, step * warmup**-1.5)
