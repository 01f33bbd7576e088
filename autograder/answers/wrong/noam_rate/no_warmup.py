# mistake: there is no warm-up: the rate only falls
# hint: take the smaller of step ** -0.5 and step * warmup ** -1.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * step**-0.5
