# mistake: falls along a cosine
# hint: it falls as step ** -0.5
import math


def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    peak = (d_model * warmup) ** -0.5
    if step <= warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min((step - warmup) / (10 * warmup), 1)))
