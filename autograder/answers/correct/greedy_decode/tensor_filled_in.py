import torch


@torch.no_grad()
def greedy_decode(model, src, bos_id, eos_id, max_len):
    before = model.training
    model.train(False)
    n = src.size(0)
    out = torch.full((n, max_len + 1), model.pad_id, dtype=torch.int64, device=src.device)
    out[:, 0] = bos_id
    alive = torch.ones(n, dtype=torch.bool, device=src.device)
    width = 0
    memory = model.encode(src)
    for t in range(max_len):
        if not alive.any():
            break
        width = t + 1
        best = model.decode(out[:, : t + 1], memory, src)[:, t].max(-1).indices
        out[alive, t + 1] = best[alive]
        alive &= best != eos_id
    if before:
        model.train()
    return out[:, 1 : width + 1]
