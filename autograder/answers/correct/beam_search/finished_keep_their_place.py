import torch
from torch.nn.utils.rnn import pad_sequence


@torch.no_grad()
def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6):
    """Drafts that have ended stay in the beam, with the log p that they have, and aren't continued."""
    mode = model.training
    model.train(False)
    rows = []
    for source in src:
        source = source[None]
        memory = model.encode(source)
        beam = [(0.0, (bos_id,))]
        for _ in range(max_len):
            open_ones = [draft for draft in beam if draft[1][-1] != eos_id or len(draft[1]) == 1]
            if not open_ones:
                break
            pool = [draft for draft in beam if draft not in open_ones]
            for total, tokens in open_ones:
                step = model.decode(torch.tensor([tokens]), memory, source)[0, -1].log_softmax(0)
                pool += [(total + p, (*tokens, i)) for i, p in enumerate(step.tolist())]
            beam = sorted(pool, reverse=True)[:beam_size]
        ended = [draft for draft in beam if draft[1][-1] == eos_id] or beam
        rows.append(torch.tensor(max(ended, key=lambda d: d[0] / (len(d[1]) - 1) ** length_penalty)[1][1:]))
    model.train(mode)
    return pad_sequence(rows, batch_first=True, padding_value=model.pad_id)
