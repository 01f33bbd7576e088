# mistake: pieces inside a word are looked up without ##
# hint: put "##" in front of every piece but the first
def wordpiece(word, vocab, unk="[UNK]"):
    pieces = []
    start = 0
    while start < len(word):
        end = len(word)
        found = None
        while end > start:
            piece = word[start:end]
            if start > 0:
                pass
            if piece in vocab:
                found = piece
                break
            end -= 1
        if found is None:
            return [unk]
        pieces.append(found)
        start = end
    return pieces
