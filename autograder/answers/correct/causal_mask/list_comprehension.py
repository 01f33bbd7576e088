import torch


def causal_mask(T: int, device: torch.device | str | None = None, *, dtype=torch.bool) -> torch.Tensor:
    return torch.tensor([[key <= query for key in range(T)] for query in range(T)], dtype=dtype, device=device)
