def _pieces(word, vocab):
    start = 0
    while start < len(word):
        prefix = "" if start == 0 else "##"
        end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in vocab), None)
        if end is None:
            yield None
            return
        yield prefix + word[start:end]
        start = end


def wordpiece(word, vocab, unk="[UNK]"):
    pieces = list(_pieces(word, vocab))
    return [unk] if None in pieces else pieces
