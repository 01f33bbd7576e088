"""What the visible checks of chapter 06 look at: writing one token after another.

The translator is a host whose every next token stands in a table, so that the right answer is known. Tokens that don't
belong into an answer (padding, BOS) are unlikely in all tables.
"""

import itertools

import torch
from torch import Tensor

from utils.probes import Numbers, probe
from utils.student import HeldObject, Student

PAD, BOS, EOS = 0, 1, 2
UNLIKELY = 12.0


def lengths_script(normal: Tensor, lengths: list[int], ids: tuple[int, int, int] = (PAD, BOS, EOS)) -> Tensor:
    """Turn normal numbers (sources, steps, histories, V) into logits by which source s ends after lengths[s] tokens."""
    pad, bos, eos = ids
    table = 1.5 * normal
    table[..., [pad, bos, eos]] -= UNLIKELY
    for source, length in enumerate(lengths):
        if length <= table.shape[1]:
            table[source, length - 1, :, eos] += 3 * UNLIKELY
    return table


def _script(*shape: int, lengths: list[int], ids: tuple[int, int, int] = (PAD, BOS, EOS)) -> object:
    return lambda n: lengths_script(n.normal(*shape), lengths, ids)


# Where the rule of scoring is looked at, every draft that matters has to stay in the beam, whichever way drafts are pruned, and
# beams mustn't be larger than the vocabulary, nor twice as large. So: two words, and many other tokens that are next to
# impossible and never lead to EOS.
WORDS, MANY, WIDE = (3, 4), 67, 32


def open_script(normal: Tensor) -> Tensor:
    """Turn normal numbers (steps, 3, 3) into logits (steps, MANY, MANY) by which an answer of two words may end anywhere."""
    table = torch.full((normal.shape[0], MANY, MANY), -30.0)
    table[..., [EOS, *WORDS]] = -120.0  # after anything but words
    table[:, EOS, EOS] = 60.0  # after EOS nothing but EOS: whoever writes on gets length for nothing
    for row, history in enumerate((BOS, *WORDS)):
        for column, token in enumerate((EOS, *WORDS)):
            steps = slice(0, 1) if history == BOS else slice(1, None)
            table[steps, history, token] = normal[steps, row, column] * (1.0 if token == EOS else 0.5)
    return table


def scored_answers(table: Tensor) -> list[tuple[list[int], float]]:
    """List all that one open script (steps, MANY, MANY) can write, words and EOS, with its log-probability."""
    log_p = table.double().log_softmax(-1)[:, [BOS, *WORDS]][..., [EOS, *WORDS]].tolist()
    answers = []
    for length in range(1, table.shape[0] + 1):
        for choice in itertools.product((1, 2), repeat=length - 1):
            places = (0, *choice, 0)  # in (BOS or EOS, *WORDS)
            total = sum(log_p[step][places[step]][places[step + 1]] for step in range(length))
            answers.append(([*(WORDS[place - 1] for place in choice), EOS], total))
    return answers


RULES = {  # how a draft may be scored: rightly, and in ways that aren't asked for; length with EOS and without BOS
    "right": lambda log_p, length, penalty: log_p / length**penalty,
    "BOS counted": lambda log_p, length, penalty: log_p / (length + 1) ** penalty,
    "EOS not counted": lambda log_p, length, penalty: log_p / max(length - 1, 1) ** penalty,
    "multiplied": lambda log_p, length, penalty: log_p * length**penalty,
    "no penalty": lambda log_p, length, penalty: log_p,
    "linear": lambda log_p, length, penalty: log_p / length,
    "offset of 5": lambda log_p, length, penalty: log_p / ((5 + length) / 6) ** penalty,
    "first to end": lambda log_p, length, penalty: -length,
}


def best_by(rule: str, answers: list[tuple[list[int], float]], penalty: float) -> list[int]:
    """Give the best answer by a rule."""
    return max(answers, key=lambda answer: RULES[rule](answer[1], len(answer[0]), penalty))[0]


def telling(table: Tensor, penalty: float) -> bool:
    """Say whether every other rule would choose another answer, and the best is clearly the best."""
    answers = scored_answers(table)
    scores = sorted((RULES["right"](log_p, len(tokens), penalty) for tokens, log_p in answers), reverse=True)
    right = best_by("right", answers, penalty)
    same = sum(best_by(rule, answers, penalty) == right for rule in RULES)
    return same == 1 and scores[0] - scores[1] > 1e-3 * abs(scores[0])


# greedy_decode

SOURCES = torch.tensor([[2, 5, 1, 6], [0, 3, 3, 0], [1, 4, 0, 0]])  # the first id says which script it is


def _greedy(student: Student, model: HeldObject, src: Tensor, max_len: int, bos: int = BOS, eos: int = EOS) -> object:
    student.seed(5)  # who draws tokens by chance is recognised by what is drawn
    return student.greedy_decode(model, src, bos, eos, max_len)


def _model(student: Student, table: Tensor, **options: object) -> HeldObject:
    return student.host("scripted_translator", table, **options).eval()


@probe("greedy_decode", "always the most likely token next, up to EOS, without BOS", table=_script(3, 8, 7, 7, lengths=[5, 5, 5]))  # fmt: skip
def most_likely(student: Student, table: Tensor) -> object:
    return _greedy(student, _model(student, table), SOURCES[:1], 8)


@probe("greedy_decode", "every token that is there already counts, not only the last", table=_script(3, 8, 11, 7, lengths=[6, 6, 6]))  # fmt: skip
def whole_history(student: Student, table: Tensor) -> object:
    return _greedy(student, _model(student, table, whole_history=True), SOURCES[:1], 8)


@probe(
    "greedy_decode",
    "a row that has ended gets padding, and the result is as wide as the longest row",
    axes=("row", "token"),
    table=_script(3, 9, 7, 7, lengths=[3, 6, 2]),
)
def rows_end(student: Student, table: Tensor) -> object:
    return _greedy(student, _model(student, table), SOURCES, 9)


@probe(
    "greedy_decode",
    "max_len is the largest number of tokens, EOS included and BOS not",
    labels=("answers of 5, 7 and 4, max_len 5", "max_len 1"),
    table=_script(3, 9, 7, 7, lengths=[5, 7, 4]),
)
def cut_off(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    return _greedy(student, model, SOURCES, 5), _greedy(student, model, SOURCES, 1)


@probe(
    "greedy_decode",
    "the ids of BOS, EOS and padding are those that are given",
    table=_script(3, 8, 7, 7, lengths=[4, 6, 2], ids=(3, 6, 4)),
)
def other_ids(student: Student, table: Tensor) -> object:
    return _greedy(student, _model(student, table, pad_id=3), SOURCES, 8, bos=6, eos=4)


@probe("greedy_decode", "works for one source, and for a source of one token", labels=("one source", "one token"), table=_script(3, 8, 7, 7, lengths=[3, 6, 2]))  # fmt: skip
def one_source(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    return _greedy(student, model, SOURCES[2:], 8), _greedy(student, model, torch.tensor([[1], [2]]), 8)


@probe("greedy_decode", "stops when all rows have ended", table=_script(3, 30, 7, 7, lengths=[3, 6, 2]))
def stops(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    result = _greedy(student, model, SOURCES, 30)
    return {"result": result, "goes on for many steps after that": model.attribute("longest") > 7}


def _conduct(model: HeldObject, result: object) -> dict[str, object]:
    return {
        "result": result,
        "the model was asked in train mode": model.attribute("in_train_mode"),
        "the model was asked with gradients on": model.attribute("with_gradients"),
        "the model is in train mode afterwards": model.training,
    }


@probe("greedy_decode", "a model in train mode is asked in eval mode, without gradients, and is in train mode again afterwards", table=_script(3, 8, 7, 7, lengths=[3, 6, 2]))  # fmt: skip
def from_train_mode(student: Student, table: Tensor) -> object:
    model = _model(student, table).train()
    return _conduct(model, _greedy(student, model, SOURCES, 8))


@probe("greedy_decode", "a model in eval mode stays in eval mode", table=_script(3, 8, 7, 7, lengths=[4, 2, 6]))
def from_eval_mode(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    return _conduct(model, _greedy(student, model, SOURCES, 8))


# beam_search


def _searched(penalty: float) -> object:
    """Search for scripts that tell all rules of scoring apart; only done when fixtures are made."""

    def draw(n: Numbers) -> Tensor:
        tables: list[Tensor] = []
        apart: set[tuple[str, str]] = set()
        for _ in range(3000):
            table = open_script(n.normal(4, 3, 3))
            if not telling(table, penalty):
                continue
            answers = scored_answers(table)
            chosen = {rule: best_by(rule, answers, penalty) for rule in RULES}
            pairs = {(a, b) for a, b in itertools.combinations(RULES, 2) if chosen[a] != chosen[b]}
            if not pairs <= apart:
                tables.append(table)
                apart |= pairs
        return torch.stack(tables)

    return draw


def _sources_of(table: Tensor) -> Tensor:
    """Write one source for every script of a table, in turned order."""
    scripts = torch.arange(len(table)).flip(0)
    return torch.stack([scripts, torch.full_like(scripts, 3)], dim=1)


def _beam(student: Student, model: HeldObject, src: Tensor, max_len: int, bos: int = BOS, eos: int = EOS, **options: object) -> object:  # fmt: skip
    return student.beam_search(model, src, bos, eos, max_len, **options)


@probe(
    "beam_search",
    "the better of two drafts wins, also where it starts with the less likely token",
    table=lambda n: detour_script(),
)
def detour(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table), SOURCES[1:2], 4, beam_size=2)


def detour_script() -> Tensor:
    """Write a script by hand: A (3) is likelier than B (4) at first; but after A all words are alike, after B one is sure."""
    chances = torch.full((1, 3, 7, 7), 1e-6)
    chances[0, 0, BOS, 3], chances[0, 0, BOS, 4] = 0.6, 0.4
    chances[0, 1, 3, 3:] = torch.tensor([0.26, 0.25, 0.25, 0.24])
    chances[0, 1, 4, 5] = 1.0
    chances[0, 2, :, EOS] = 1.0
    return chances.log()


def patient_script(ends: float) -> Tensor:
    """Write a script by hand: two drafts end early, and the best ends last; `ends` is the chance of an early end."""
    chances = torch.full((1, 4, 7, 7), 1e-9)
    chances[..., EOS] = 1e-30
    for step, (before, after) in enumerate(((BOS, 3), (3, 4))):
        chances[0, step, before, EOS], chances[0, step, before, after] = ends, 1 - ends
    chances[0, 2, 4, 5] = chances[0, 3, 5, EOS] = 1.0
    return chances.log()


@probe("beam_search", "the search goes on after the first drafts have ended", table=lambda n: patient_script(0.1))
def patience(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table), SOURCES[1:2], 6, beam_size=4)


@probe(
    "beam_search",
    "each step keeps the beam_size drafts with the largest log p of all tokens so far",
    labels=("beam_size 2", "beam_size 3", "4 where none is given"),
    table=lambda n: crowded_script(),
)
def narrow_beams(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    return (
        _beam(student, model, SOURCES[1:2], 8, beam_size=2),
        _beam(student, model, SOURCES[1:2], 8, beam_size=3),
        _beam(student, model, SOURCES[1:2], 8),
    )


def crowded_script() -> Tensor:
    """Draw a script for which beams of 1, 2, 3, 4 and 5 drafts find five different answers: the seed was searched for."""
    return lengths_script(torch.randn(1, 7, 9, 9, generator=torch.Generator().manual_seed(1660)), [7])


@probe(
    "beam_search",
    "beam_size=1 gives what greedy_decode gives: EOS at the end, then padding",
    axes=("row", "token"),
    table=_script(3, 9, 7, 7, lengths=[3, 6, 2]),
)
def beam_of_one(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table), SOURCES, 9, beam_size=1)


@probe(
    "beam_search",
    "every source has a beam of its own; shorter answers are padded",
    axes=("row", "token"),
    table=_script(3, 9, 8, 8, lengths=[4, 7, 2]),
)
def separate_beams(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table), SOURCES, 9, beam_size=3)


@probe(
    "beam_search",
    "the best log p / length ** 0.6 wins, whichever draft ended first; length counts EOS and not BOS",
    table=_searched(0.6),
)
def score(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table), _sources_of(table), 4, beam_size=WIDE)


@probe(
    "beam_search",
    "length_penalty says how much length is forgiven; 0 compares log p itself",
    labels=("length_penalty 1.3", "length_penalty 0", "length_penalty 3"),
    table=_searched(1.3),
)
def other_penalties(student: Student, table: Tensor) -> object:
    model, src = _model(student, table), _sources_of(table)
    return tuple(_beam(student, model, src, 4, beam_size=WIDE, length_penalty=penalty) for penalty in (1.3, 0.0, 3.0))


@probe(
    "beam_search",
    "logits are turned into log-probabilities: adding the same to all logits of a step changes nothing",
    table=_searched(0.6),
    offsets=lambda n: 4 * n.normal(2, 4, MANY, 1),
)
def shifted_logits(student: Student, table: Tensor, offsets: Tensor) -> object:
    return _beam(student, _model(student, table + offsets), _sources_of(table), 4, beam_size=WIDE)


def _patchy_script() -> Tensor:
    """Write a script by which an answer ends at once or not at all."""
    chances = torch.full((1, 6, 7, 7), 1e-12)
    chances[0, 0, BOS, 3], chances[0, 0, BOS, EOS] = 0.8, 0.2
    chances[0, 1:, :, 3], chances[0, 1:, :, 4] = 0.9, 0.1
    return chances.log()


@probe("beam_search", "a draft that hasn't ended counts only where none has", labels=("one has ended", "none has ended"), table=_patchy_script(), other=_script(3, 8, 7, 7, lengths=[20, 20, 20]))  # fmt: skip
def unfinished(student: Student, table: Tensor, other: Tensor) -> object:
    return (
        _beam(student, _model(student, table), SOURCES[1:2], 5, beam_size=2),
        _beam(student, _model(student, other), SOURCES[:2], 5, beam_size=3),
    )


@probe("beam_search", "max_len is the largest number of tokens, EOS included", labels=("max_len 6", "max_len 7", "max_len 1"), table=_script(3, 9, 7, 7, lengths=[6, 7, 6]))  # fmt: skip
def beam_cut_off(student: Student, table: Tensor) -> object:
    model = _model(student, table)
    return tuple(_beam(student, model, SOURCES, max_len, beam_size=2) for max_len in (6, 7, 1))


@probe(
    "beam_search",
    "the ids of BOS, EOS and padding are those that are given",
    table=_script(3, 8, 7, 7, lengths=[4, 6, 2], ids=(3, 6, 4)),
)
def beam_other_ids(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table, pad_id=3), SOURCES, 8, bos=6, eos=4, beam_size=3)


@probe("beam_search", "every token that is there already counts, not only the last", table=_script(3, 8, 11, 7, lengths=[6, 6, 6]))  # fmt: skip
def beam_whole_history(student: Student, table: Tensor) -> object:
    return _beam(student, _model(student, table, whole_history=True), SOURCES[:2], 8, beam_size=3)


@probe("beam_search", "asks in eval mode and without gradients, and leaves the mode as it was", labels=("from train mode", "from eval mode"), table=_script(3, 8, 7, 7, lengths=[3, 6, 2]))  # fmt: skip
def beam_conduct(student: Student, table: Tensor) -> object:
    seen = {}
    for name, model in (("train", _model(student, table).train()), ("eval", _model(student, table))):
        conduct = _conduct(model, _beam(student, model, SOURCES, 8, beam_size=2))
        seen |= {f"{label} (from {name} mode)": value for label, value in conduct.items()}
    return seen
