# mistake: the warm-up is always 4,000 steps
# hint: use the argument warmup
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)
