# mistake: the rate is rounded
# hint: rates are small numbers: return them as they are
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return round(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5), 6)
