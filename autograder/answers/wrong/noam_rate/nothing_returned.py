# mistake: nothing is returned
# hint: end with return
def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    rate = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    print(rate)
