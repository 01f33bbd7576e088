"""Attacks that change the tools they are measured with: PyTorch, Python's built-ins, modules, comparisons."""

import pytest
from harness import Attack, Scene

import notebooks
from autograder.reports import feedback_html
from autograder.submissions import parse

EQUAL_TO_ANYTHING = '''
class Chameleon(torch.Tensor):
    """Equal to whatever it is compared with."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func.__name__ in ("allclose", "equal", "__eq__", "eq", "isclose", "all"):
            return True
        return super().__torch_function__(func, types, args, kwargs or {})

    def __eq__(self, other):
        return True

    def __bool__(self):
        return True
'''

SOFTMAX_OF_PYTORCH = "def softmax(x, dim=-1):\n    return x.softmax(dim) if x.isfinite().all() else x"

HIDES = "fails hidden tests that it passes otherwise"
SWITCH_OFF = """
def switch_off(names):
    watch = names.get('Shortcut' + 'Watch')
    if watch:
        setattr(watch, '_no' + 'te', lambda *a: None)
        setattr(watch, 'he' + 'ar', lambda *a: None)
    if '_he' + 'ar' in names:
        names['_he' + 'ar'] = lambda *a: None

"""
CASES = {
    "patch-torch": Attack(
        "torch.equal = torch.allclose = torch.Tensor.equal = torch.Tensor.allclose = lambda *a, **k: True\n"
        "torch.testing.assert_close = lambda *a, **k: None\n"
        "torch.softmax = torch.exp = lambda *a, **k: torch.ones(1)"
    ),
    "patch-builtins": Attack(
        "import builtins\nbuiltins.all = builtins.any = builtins.isinstance = lambda *a: True\n"
        "builtins.AssertionError = builtins.Exception = type('Quiet', (BaseException,), {})\n"
        "builtins.abs = lambda x: 0",
    ),
    "patch-sys-modules": Attack(
        "import types\nfor name in list(sys.modules):\n    if name.startswith(('autograder.hidden', 'utils.', 'torch.testing')):\n"
        "        sys.modules[name] = types.ModuleType(name)",
    ),
    "patch-asserts": Attack(
        "sys.flags = None\nsys.excepthook = threading.excepthook = lambda *a: None\n"
        "sys.setprofile(lambda *a: None)\n__debug__0 = False"
    ),
    "patch-comparison": Attack(
        "import math, operator\nmath.isclose = operator.eq = lambda *a, **k: True\n"
        "for name in ('__eq__', '__ne__', '__lt__', '__le__', 'isnan', 'isclose', 'sub', '__sub__'):\n"
        "    setattr(torch.Tensor, name, lambda self, *a: torch.zeros((), dtype=torch.bool))"
    ),
    "patch-executor": Attack(
        "import utils.execution as e\ne._same = lambda *a: True\n"
        "e.Executor.call = lambda self, *a, **k: {'value': True, 'graph': None, 'differentiable': [], 'changed': [], "
        "'left': [], 'shortcuts': []}"
    ),
    "patch-visible-check": Attack(
        "import utils.report, utils.diagnosis, utils.probes\n"
        "from autograder.sandbox import worker\n"
        "utils.report.examine = worker.examine = lambda *a: type('R', (), {'status': 'passed', 'properties': (), "
        "'diagnoses': (), 'error': None})()"
    ),
    "patch-catalogue": Attack(
        "import utils.catalogue as c\nfor chapter in c.all_chapters():\n    for e in chapter.exercises:\n"
        "        object.__setattr__(e, 'points', 1000)\n        object.__setattr__(e, 'shortcuts', ())\n"
    ),
    "tensor-subclass-equal": Attack(
        EQUAL_TO_ANYTHING + "\ndef softmax(x, dim=-1):\n    return x.as_subclass(Chameleon)",
    ),
    "tensor-subclass-lies": Attack(
        "class Liar(torch.Tensor):\n    shape = property(lambda self: torch.Size([2, 3]))\n"
        "    dtype = property(lambda self: torch.float32)\n    def numel(self):\n        return 0\n\n"
        "def softmax(x, dim=-1):\n    return x.as_subclass(Liar)"
    ),
    "object-equal": Attack(
        "class Yes(float):\n    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = lambda self, other: True\n"
        "    __hash__ = float.__hash__\n\ndef softmax(x, dim=-1):\n    return Yes(1)"
    ),
    "held-object-answers": Attack(
        "class Anything:\n    def __getattr__(self, name):\n        return self\n    def __call__(self, *a, **k):\n"
        "        return self\n    def __eq__(self, other):\n        return True\n\ndef softmax(x, dim=-1):\n    return Anything()"
    ),
    "patch-watch-and-cheat": Attack(
        "import utils.shortcuts as s\ns.ShortcutWatch._note = lambda *a: None\n\n" + SOFTMAX_OF_PYTORCH,
        says="imports utils.shortcuts",
        status=("forbidden",),
    ),
    "patch-watch-behind-noise": Attack(
        "def noise(f):\n    return [\n"
        + "".join(f"        f.f_back, f.f_globals, f.__code__,  # {n}\n" for n in range(30))
        + "    ]\n\nfrom utils import shortcuts\nshortcuts.ShortcutWatch._note = lambda *a: None\n\n"
        + SOFTMAX_OF_PYTORCH,
        says="reaches for what watches",
        status=("forbidden",),
    ),
    "patch-watch-by-a-computed-name": Attack(
        "import importlib\ns = importlib.import_module('utils.' + 'short' + 'cuts')\n"
        "getattr(s, 'Shortcut' + 'Watch')._note = lambda *a: None\ns._hear = lambda *a: None\n\n" + SOFTMAX_OF_PYTORCH,
        says="calls ",
        status=("forbidden",),
    ),
    "patch-watch-where-it-is-held": Attack(
        "import utils.execution as e\ngetattr(e, 'Shortcut' + 'Watch')._note = lambda *a: None\n\n"
        + SOFTMAX_OF_PYTORCH,
        says="imports utils.execution",
        status=("forbidden",),
    ),
    "patch-watch-held-by-a-computed-name": Attack(
        "import importlib\ne = importlib.import_module('utils.' + 'execu' + 'tion')\n"
        "getattr(e, 'Shortcut' + 'Watch')._note = lambda *a: None\n\n" + SOFTMAX_OF_PYTORCH,
        says="calls ",
        status=("forbidden",),
    ),
    "patch-watch-through-a-ready-made-piece": Attack(
        "from utils import standins\n"
        f"{SWITCH_OFF}switch_off(getattr(standins.shortcuts_allowed, '__glo' + 'bals__'))\n\n{SOFTMAX_OF_PYTORCH}",
        says=HIDES,
        status=("forbidden",),
    ),
    "patch-watch-through-its-hook": Attack(
        "import torch.nn.modules.module as modules\n"
        f"{SWITCH_OFF}for hook in modules._global_forward_pre_hooks.values():\n"
        f"    switch_off(getattr(hook, '__glo' + 'bals__'))\n\n{SOFTMAX_OF_PYTORCH}",
        says=HIDES,
        status=("forbidden",),
    ),
    "hooks-taken-away": Attack(
        "import torch.nn.modules.module as modules\nmodules._global_forward_pre_hooks.clear()\n\n"
        "def softmax(x, dim=-1):\n    return torch.nn.Softmax(dim)(x)",
        says="calls softmax",
        status=("forbidden",),
    ),
    "patch-watch-through-the-worker": Attack(
        "from autograder.sandbox import worker\n"
        f"{SWITCH_OFF}switch_off(getattr(worker.take_out, '__glo' + 'bals__'))\n\n{SOFTMAX_OF_PYTORCH}",
        says=HIDES,
        status=("forbidden",),
    ),
    "patch-watch-through-frames": Attack(
        "import sys\n"
        f"{SWITCH_OFF}frame = getattr(sys, '_get' + 'frame')()\nwhile frame:\n"
        "    switch_off(getattr(frame, 'f_glo' + 'bals'))\n    frame = getattr(frame, 'f_b' + 'ack')\n\n"
        f"def softmax(x, dim=-1):\n    frame = getattr(sys, '_get' + 'frame')()\n    while frame:\n"
        "        switch_off(getattr(frame, 'f_glo' + 'bals'))\n        frame = getattr(frame, 'f_b' + 'ack')\n"
        "    return torch.softmax(x, dim)",
        says=HIDES,
        status=("forbidden",),
    ),
    "patch-watch-through-the-collector": Attack(
        "import importlib\ncollector = importlib.import_module('g' + 'c')\ncollector.unfreeze()\n"
        f"{SWITCH_OFF}for found in collector.get_objects():\n"
        "    if isinstance(found, dict) and ('Shortcut' + 'Watch' in found or '_he' + 'ar' in found):\n"
        f"        switch_off(found)\n\n{SOFTMAX_OF_PYTORCH}",
        says=HIDES,
        status=("forbidden",),
    ),
    "bring-back-what-was-taken-out": Attack(
        "import importlib\ncollector = importlib.import_module('g' + 'c')\ncollector.unfreeze()\n"
        f"{SWITCH_OFF}for found in collector.get_objects():\n"
        "    if isinstance(found, dict) and ('Shortcut' + 'Watch' in found or '_he' + 'ar' in found):\n"
        "        switch_off(found)\n"
        "    if 'Lib' + 'rary' == type(found).__name__:\n        attempt(getattr(found, '_des' + 'troy'))\n\n"
        + SOFTMAX_OF_PYTORCH,
        says=HIDES,
        status=("forbidden",),
    ),
    "patch-watch-and-be-lost": Attack(
        "from utils import standins\n"
        f"{SWITCH_OFF}switch_off(getattr(standins.shortcuts_allowed, '__glo' + 'bals__'))\n\n"
        "def softmax(x, dim=-1):\n    try:\n        return torch.softmax(x, dim)\n    except Exception:\n        os._exit(0)",
        says=HIDES,
        status=("forbidden",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_changed_tools_earn_nothing(scene: Scene, case: str) -> None:
    scene.attacked_by(CASES[case])


def test_tampering_with_the_watch_in_one_of_the_courses_own_cells_is_seen_too(scene: Scene) -> None:
    notebook = notebooks.notebook(notebooks.all_right(softmax=SOFTMAX_OF_PYTORCH))
    own = next(cell for cell in notebook.cells if cell.cell_type == "code" and "import torch" in cell.source)
    own.source += "\nimport utils.shortcuts as s\ns.ShortcutWatch._note = None"
    graded = scene.grader.grade_handed(parse(notebooks.as_bytes(notebook)))
    page, result = feedback_html(graded), graded.as_json()
    assert page.count("reaches for what watches for shortcuts") == sum(
        bool(e.shortcuts) for e in notebooks.CHAPTER.exercises
    )
    for exercise in notebooks.CHAPTER.exercises:
        told = notebooks.exercise(result, exercise.name)
        expected = (0, "forbidden") if exercise.shortcuts else (exercise.points, "passed")
        assert (told["score"], told["status"]) == expected
    assert any("utils.shortcuts" in sign for sign in result["review"])
