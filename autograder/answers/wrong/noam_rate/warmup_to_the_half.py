# mistake: warmup has the exponent −0.5
# hint: warmup ** -1.5, so that both pieces are equal at step = warmup
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * warmup**-0.5)
