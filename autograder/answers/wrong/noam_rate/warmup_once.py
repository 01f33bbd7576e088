# mistake: the rising piece is step / warmup
# hint: step * warmup ** -1.5: divide by √warmup once more
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step / warmup)
