def noam_rate(step, d_model, warmup):
    try:
        falling = pow(step, -0.5)
    except ZeroDivisionError:
        return 0.0
    rising = step * pow(warmup, -1.5)
    return (falling if falling < rising else rising) * pow(d_model, -0.5)
