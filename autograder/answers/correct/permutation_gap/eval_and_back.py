import torch


@torch.no_grad()
def permutation_gap(module: torch.nn.Module, x: torch.Tensor, perm: torch.Tensor) -> float:
    was_training = module.training
    module.eval()
    try:
        results = [module(x), module(x.index_select(1, perm))]
    finally:
        module.train(was_training)
    results = [r if torch.is_tensor(r) else r[0] for r in results]
    return torch.linalg.vector_norm(results[1] - results[0].index_select(1, perm), ord=float("inf")).item()
