# mistake: a piece counts with ## or without
# hint: inside a word only entries with ## count, at the beginning only those without
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            piece = word[start:end]
            marked = "##" + piece
            if start > 0 and marked in vocab:
                found = marked
                break
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
