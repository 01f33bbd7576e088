# mistake: step 0 gets the rate of step 1
# hint: step 0 has the rate 0.0
def noam_rate(step, d_model, warmup):
    step = max(step, 1)
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
