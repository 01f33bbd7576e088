def wordpiece(word: str, vocab, unk: str = "[UNK]") -> list[str]:
    pieces = []
    rest = word
    while rest:
        for size in range(len(rest), 0, -1):
            candidate = rest[:size] if not pieces else "##" + rest[:size]
            if candidate in vocab:
                pieces.append(candidate)
                rest = rest[size:]
                break
        else:
            return [unk]
    return pieces
