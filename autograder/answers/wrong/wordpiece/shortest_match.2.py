# mistake: the shortest piece that fits comes first
# hint: try the longest piece first, then one letter less, and so on
def wordpiece(word, vocab, unk="[UNK]"):
    def rest(tail, mark):
        if not tail:
            return []
        for n in range(1, len(tail) + 1):
            if mark + tail[:n] in vocab:
                after = rest(tail[n:], "##")
                return None if after is None else [mark + tail[:n]] + after
        return None

    pieces = rest(word, "")
    return [unk] if pieces is None else pieces
