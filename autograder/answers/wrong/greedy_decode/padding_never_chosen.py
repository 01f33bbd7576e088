# mistake: the token with the id 0 can't be chosen
# hint: take the most likely of all tokens
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
        token = logits[:, 1:].argmax(dim=-1) + 1
        token = torch.where(done, model.pad_id, token)
        ids = torch.cat([ids, token.unsqueeze(1)], dim=1)
        done = done | (token == eos_id)
        if done.all():
            break
    model.train(was_training)
    return ids[:, 1:]
