# mistake: the word is cut from its end
# hint: begin at the front: the longest prefix first
def wordpiece(word, vocab, unk="[UNK]"):
    pieces, end = [], len(word)
    while end > 0:
        for start in range(end):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocab:
                break
        else:
            return [unk]
        pieces.insert(0, piece)
        end = start
    return pieces
