# mistake: d_model is forgotten
# hint: multiply by d_model ** -0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return min(step**-0.5, step * warmup**-1.5)
