import torch
from torch.nn.utils.rnn import pad_sequence


def _one(model, source, bos_id, eos_id, max_len):
    memory = model.encode(source)
    written = [bos_id]
    while len(written) <= max_len:
        logits = model.decode(torch.tensor([written]), memory, source)
        written.append(logits[0, -1].argmax().item())
        if written[-1] == eos_id:
            break
    return torch.tensor(written[1:])


def greedy_decode(model, src, bos_id, eos_id, max_len):
    mode = model.training
    try:
        model.eval()
        with torch.no_grad():
            rows = [_one(model, row[None], bos_id, eos_id, max_len) for row in src]
    finally:
        model.train(mode)
    return pad_sequence(rows, batch_first=True, padding_value=model.pad_id)
