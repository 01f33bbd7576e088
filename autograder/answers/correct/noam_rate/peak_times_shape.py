def noam_rate(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    progress = step / warmup
    shape = min(progress, max(progress, 1e-300) ** -0.5)
    return factor * shape / (d_model * warmup) ** 0.5
