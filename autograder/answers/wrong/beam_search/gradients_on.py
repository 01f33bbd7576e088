# mistake: the model is asked with gradients on
# hint: with torch.no_grad(): around the search
import torch


def beam_search(model, src, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6):
    was_training = model.training
    model.eval()
    answers = []
    if True:
        for row in range(src.shape[0]):
            source = src[row : row + 1]
            memory = model.encode(source)
            beams = [([bos_id], 0.0)]
            finished = []
            for _ in range(max_len):
                n = len(beams)
                prefix = torch.tensor([tokens for tokens, _ in beams])
                logits = model.decode(prefix, memory.expand(n, -1, -1), source.expand(n, -1))[:, -1]
                log_p = torch.log_softmax(logits, dim=-1)
                candidates = []
                for (tokens, total), line in zip(beams, log_p):
                    values, ids = line.topk(min(beam_size, len(line)))
                    for value, token in zip(values.tolist(), ids.tolist()):
                        candidates.append((tokens + [token], total + value))
                candidates.sort(key=lambda pair: pair[1], reverse=True)
                beams = []
                for tokens, total in candidates[:beam_size]:
                    if tokens[-1] == eos_id:
                        finished.append((tokens, total))
                    else:
                        beams.append((tokens, total))
                if not beams or len(finished) >= beam_size:
                    break
            pool = finished if finished else beams
            best = max(pool, key=lambda pair: pair[1] / (len(pair[0]) - 1) ** length_penalty)
            answers.append(best[0][1:])
    model.train(was_training)
    width = max(len(answer) for answer in answers)
    return torch.tensor([answer + [model.pad_id] * (width - len(answer)) for answer in answers])
