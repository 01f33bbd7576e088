# mistake: d_model and warmup are exchanged
# hint: the warm-up has the exponent −1.5, the width −0.5
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return warmup**-0.5 * min(step**-0.5, step * d_model**-1.5)
