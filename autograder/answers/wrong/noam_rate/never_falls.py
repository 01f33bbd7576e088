# mistake: the rate only rises
# hint: after the warm-up, step ** -0.5 is the smaller piece: min of both
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * step * warmup**-1.5
