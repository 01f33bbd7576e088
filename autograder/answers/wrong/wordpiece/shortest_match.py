# mistake: the shortest piece that fits comes first
# hint: try the longest piece first, then one letter less, and so on
def wordpiece(word, vocab, unk="[UNK]"):
    pieces, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(start + 1, len(word) + 1):
            if mark + word[start:end] in vocab:
                break
        else:
            return [unk]
        pieces.append(mark + word[start:end])
        start = end
    return pieces
