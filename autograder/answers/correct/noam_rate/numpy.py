import numpy as np


def noam_rate(step, d_model, warmup):
    if not step:
        return 0.0
    return float(np.minimum(1 / np.sqrt(step), step / np.power(float(warmup), 1.5)) / np.sqrt(d_model))
