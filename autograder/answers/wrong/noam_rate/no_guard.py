# mistake: step 0 divides by zero
# hint: for step 0 return 0.0 before anything is divided
def noam_rate(step, d_model, warmup):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
