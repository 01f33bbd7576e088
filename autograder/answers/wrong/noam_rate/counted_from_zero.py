# mistake: steps are counted from 0
# hint: step counts from 1 already: nothing is added
def noam_rate(step, d_model, warmup):
    step = step + 1
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
