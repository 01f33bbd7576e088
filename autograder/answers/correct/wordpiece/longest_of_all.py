def wordpiece(word, vocab, unk="[UNK]", max_chars=None):
    pieces, start = [], 0
    limit = max_chars or max(map(len, vocab), default=0)
    while start < len(word):
        mark = "##" if start > 0 else ""
        fitting = [word[start:end] for end in range(start + 1, min(len(word), start + limit) + 1) if mark + word[start:end] in vocab]
        if not fitting:
            return [unk]
        pieces.append(mark + max(fitting, key=len))
        start += len(fitting[-1])
    return pieces
