# mistake: after the first piece the rest is looked up as a whole
# hint: the rest is cut as the beginning was: again the longest that fits
def wordpiece(word, vocab, unk="[UNK]"):
    for end in range(len(word), 0, -1):
        if word[:end] in vocab:
            rest = word[end:]
            if not rest:
                return [word]
            return [word[:end], "##" + rest] if "##" + rest in vocab else [unk]
    return [unk] if word else []
