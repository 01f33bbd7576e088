import torch


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6):
    training = model.training
    model.eval()
    B, K, inf = src.shape[0], beam_size, float("inf")
    with torch.inference_mode():
        memory = model.encode(src).repeat_interleave(K, dim=0)
        sources = src.repeat_interleave(K, dim=0)
        ids = torch.full((B, K, 1), bos_id)
        score = torch.full((B, K), -inf)
        score[:, 0] = 0.0
        best = [(-inf, None)] * B
        ended = [0] * B
        for length in range(1, max_len + 1):
            logits = model.decode(ids.flatten(0, 1), memory, sources)[:, -1]
            total = score[..., None] + logits.log_softmax(-1).view(B, K, -1)
            V = total.shape[-1]
            score, where = total.flatten(1).topk(K, dim=1)
            parent, token = where // V, where % V
            ids = torch.cat([ids.gather(1, parent[..., None].expand(-1, -1, length)), token[..., None]], dim=-1)
            for b in range(B):
                for k in range(K):
                    if token[b, k] == eos_id and score[b, k] > -inf:
                        ended[b] += 1
                        value = score[b, k].item() / length**length_penalty
                        if value > best[b][0]:
                            best[b] = (value, ids[b, k, 1:].tolist())
            score = score.masked_fill(token == eos_id, -inf)
            if all(ended[b] >= K or bool((score[b] == -inf).all()) for b in range(B)):
                break
    rows = []
    for b in range(B):
        rows.append(best[b][1] if best[b][1] is not None else ids[b, score[b].argmax(), 1:].tolist())
    model.train(training)
    width = max(map(len, rows))
    return torch.tensor([row + [model.pad_id] * (width - len(row)) for row in rows])
