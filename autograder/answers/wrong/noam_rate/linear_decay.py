# mistake: falls in a straight line
# hint: it falls as step ** -0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    peak = (d_model * warmup) ** -0.5
    if step <= warmup:
        return peak * step / warmup
    return peak * max(0.0, 1 - (step - warmup) / (10 * warmup))
