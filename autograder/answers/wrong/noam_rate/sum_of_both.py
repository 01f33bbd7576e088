# mistake: the two pieces are added
# hint: take the smaller of both: min
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * (step**-0.5 + step * warmup**-1.5)
