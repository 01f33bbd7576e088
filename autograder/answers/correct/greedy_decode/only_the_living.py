import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    """Rows that have ended aren't asked any more."""
    flag = model.training
    model.eval()
    rows = [[] for _ in src]
    with torch.no_grad():
        memory = model.encode(src)
        living = list(range(len(src)))
        for _ in range(max_len):
            prefix = torch.tensor([[bos_id] + rows[i] for i in living])
            scores = model.decode(prefix, memory[living], src[living])[:, -1]
            for i, token in zip(list(living), scores.softmax(-1).argmax(-1).tolist()):
                rows[i].append(token)
                if token == eos_id:
                    living.remove(i)
            if not living:
                break
    model.train(flag)
    width = max(len(row) for row in rows)
    return torch.tensor([row + [model.pad_id] * (width - len(row)) for row in rows])
