def wordpiece(word, vocab, unk="[UNK]"):
    def cut(rest, mark):
        if rest == "":
            return []
        for size in reversed(range(1, len(rest) + 1)):
            if mark + rest[:size] in vocab:
                behind = cut(rest[size:], "##")
                return behind if behind is None else [mark + rest[:size], *behind]
        return None

    found = cut(word, "")
    return [unk] if found is None else found
