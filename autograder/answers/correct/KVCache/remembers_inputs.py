import torch


class KVCache:
    def __init__(self, mha):
        self.mha = mha
        self.seen = []

    def step(self, x):
        self.seen.append(x)
        past = torch.cat(self.seen, dim=1)
        output, _weights = self.mha(x, past, past)
        return output
