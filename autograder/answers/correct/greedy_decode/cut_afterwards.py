import torch


@torch.no_grad()
def greedy_decode(model, src, bos_id, eos_id, max_len, temperature=1.0):
    training, pad = model.training, model.pad_id
    model.eval()
    ids = src.new_full((src.shape[0], 1), bos_id)
    memory = model.encode(src)
    for step in range(max_len):
        log_p = (model.decode(ids, memory, src)[:, -1] / temperature).log_softmax(-1)
        ids = torch.cat([ids, log_p.argmax(-1, keepdim=True)], dim=1)
        if (ids[:, 1:] == eos_id).any(1).all():
            break
    model.train(training)
    ids = ids[:, 1:]
    after = (ids == eos_id).cumsum(1) - (ids == eos_id).long() > 0
    return ids.masked_fill(after, pad)
