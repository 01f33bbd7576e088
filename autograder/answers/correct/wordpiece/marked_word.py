def wordpiece(word, vocab, unk="[UNK]"):
    out = []
    while word not in ("", "##"):
        head = word
        while head and head not in vocab:
            head = head[:-1]
            if head in ("", "##", "#"):
                return [unk]
        if not head:
            return [unk]
        out.append(head)
        word = "##" + word[len(head):]
    return out
