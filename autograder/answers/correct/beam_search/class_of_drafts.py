import heapq
from dataclasses import dataclass

import torch


@dataclass
class Draft:
    ids: list
    log_p: float

    def score(self, penalty):
        return self.log_p / len(self.ids) ** penalty


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6, verbose=False):
    flag = model.training
    model.eval()
    found = []
    try:
        with torch.no_grad():
            for b in range(len(src)):
                live, done = [Draft([], 0.0)], []
                while live and len(live[0].ids) < max_len:
                    prefix = torch.tensor([[bos_id] + d.ids for d in live])
                    logits = model(src[b : b + 1].repeat(len(live), 1), prefix)[:, -1].double()
                    log_p = logits - logits.logsumexp(-1, keepdim=True)
                    options = [
                        Draft(d.ids + [v], d.log_p + log_p[i, v].item())
                        for i, d in enumerate(live)
                        for v in log_p[i].topk(min(beam_size, log_p.shape[1])).indices.tolist()
                    ]
                    kept = heapq.nlargest(beam_size, options, key=lambda d: d.log_p)
                    done += [d for d in kept if d.ids[-1] == eos_id]
                    live = [d for d in kept if d.ids[-1] != eos_id]
                found.append(max(done or live, key=lambda d: d.score(length_penalty)).ids)
    finally:
        model.train(flag)
    out = torch.full((len(src), max(map(len, found))), model.pad_id)
    for b, ids in enumerate(found):
        out[b, : len(ids)] = torch.tensor(ids)
    return out
