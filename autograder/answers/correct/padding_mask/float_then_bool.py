import torch

def padding_mask(lengths, max_len):
    mask = torch.ones(len(lengths), max_len)
    for row, n in zip(mask, lengths.tolist()):
        row[n:] = 0
    print(int(mask.sum()), "real tokens")
    return mask.bool()[:, None]
