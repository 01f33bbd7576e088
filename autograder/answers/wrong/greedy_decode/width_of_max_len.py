# mistake: rows are padded to max_len
# hint: the result is only as wide as its longest row
import torch


@torch.no_grad()
def greedy_decode(model, src, bos_id, eos_id, max_len):
    was_training = model.training
    model.eval()
    batch = src.shape[0]
    memory = model.encode(src)
    ids = torch.full((batch, 1), bos_id, dtype=torch.long)
    done = torch.zeros(batch, dtype=torch.bool)
    for _ in range(max_len):
        logits = model.decode(ids, memory, src)[:, -1]
        token = logits.argmax(dim=-1)
        token = torch.where(done, model.pad_id, token)
        ids = torch.cat([ids, token.unsqueeze(1)], dim=1)
        done = done | (token == eos_id)
        if done.all():
            break
    model.train(was_training)
    ids = ids[:, 1:]
    return torch.nn.functional.pad(ids, (0, max_len - ids.shape[1]), value=model.pad_id)
