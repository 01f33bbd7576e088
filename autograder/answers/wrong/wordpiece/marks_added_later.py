# mistake: pieces are looked up without ##, and get it afterwards
# hint: look up "##" + piece: in the vocabulary the two are different entries
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            piece = word[start:end]
            if piece in vocab:
                found = piece if start == 0 else "##" + piece
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
