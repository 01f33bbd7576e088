# mistake: a whole-number division makes most rates 0
# hint: / divides, // rounds down
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, (step // warmup) * warmup**-0.5)
