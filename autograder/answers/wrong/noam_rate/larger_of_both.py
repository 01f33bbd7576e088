# mistake: the larger of the two pieces is taken
# hint: take the smaller: min
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * max(step**-0.5, step * warmup**-1.5)
