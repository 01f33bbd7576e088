import torch


def greedy_decode(model, src, bos_id, eos_id, max_len):
    training = model.training
    model.eval()
    with torch.inference_mode():
        tgt = torch.tensor([[bos_id]] * len(src))
        ended = torch.zeros(len(src)).bool()
        while tgt.size(1) - 1 < max_len:
            next_ids = model(src, tgt)[:, -1, :].topk(1).indices[:, 0]
            next_ids[ended] = model.pad_id
            tgt = torch.cat((tgt, next_ids[:, None]), dim=-1)
            ended |= next_ids.eq(eos_id)
            if bool(ended.all()):
                break
    model.train(training)
    return tgt[:, 1:].clone()
