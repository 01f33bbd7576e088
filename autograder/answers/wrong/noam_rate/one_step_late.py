# mistake: the rate is that of the step before
# hint: use step itself, not step − 1
def noam_rate(step, d_model, warmup):
    if step <= 1:
        return 0.0
    step = step - 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
