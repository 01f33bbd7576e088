# mistake: the rate is scaled so that its peak is 1
# hint: leave out the division by the peak
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return min((step / warmup) ** -0.5, step / warmup)
