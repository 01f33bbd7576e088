"""A student is the same wherever their code runs: in this process, or in a sandboxed worker."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import notebooks
from autograder import hidden
from autograder.hidden.randomness import Randomness
from autograder.sandbox.client import RemoteStudent, WarmClient
from notebooks import NAMES
from utils.execution import KEPT_GRAPHS, Executor, LearnerError
from utils.student import HeldObject, LocalStudent, Student

IMPORTS = "import math\nimport torch\nfrom torch import Tensor, nn\n\n"
LINES_ABOVE = IMPORTS.count("\n")
MakeStudent = Callable[..., Student]


def local_student(source: str, *shortcuts: str) -> LocalStudent:
    namespace = {"__name__": "__main__"}
    exec(compile(IMPORTS + source, "<cell 1>", "exec"), namespace)
    return LocalStudent(namespace, shortcuts=shortcuts)


@pytest.fixture
def remote_student(warm: WarmClient) -> Iterator[MakeStudent]:
    workers = []

    def make(source: str, *shortcuts: str) -> RemoteStudent:
        workers.append(warm.worker())
        workers[-1].request("cell", {"name": "<cell 1>", "source": IMPORTS + source})
        return RemoteStudent(workers[-1], shortcuts)

    yield make
    for worker in workers:
        worker.close()


@pytest.fixture(params=["here", "in a worker"])
def student(request: pytest.FixtureRequest, remote_student: MakeStudent) -> MakeStudent:
    """Make a student of a source, whose code runs in this process or in a worker."""
    return local_student if request.param == "here" else remote_student


X = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


# Values


VALUES = [
    None,
    True,
    7,
    -0.5,
    "text",
    [1, [2.0, "x"], ()],
    (1, 2),
    {"a": 1, 2: [3]},
    math.inf,
    torch.float32,
    2**80,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_go_in_and_come_out(student: MakeStudent, value: object) -> None:
    returned = student("def same(x, *, y=None):\n    return x, y").same(value, y=value)
    assert returned == (value, value)
    assert type(returned[0]) is type(value)


def test_tensors_come_out_with_their_dtype_shape_and_numbers(student: MakeStudent) -> None:
    double = student("def double(x):\n    return 2 * x").double
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.int64):
        x = (10 * X).to(dtype)
        assert torch.equal(double(x), 2 * x)
        assert double(x).dtype == dtype


def test_named_tuples_come_out_as_plain_ones(student: MakeStudent) -> None:
    returned = student("def best(x):\n    return x.max(-1)").best(X)
    assert type(returned) is tuple
    assert all(torch.equal(a, b) for a, b in zip(returned, X.max(-1), strict=True))


def test_a_view_of_the_input_comes_out_as_a_tensor_of_its_own(student: MakeStudent) -> None:
    x = X.clone()
    returned = student("def first(x):\n    return x[0]").first(x)
    returned.add_(1)
    assert torch.equal(x, X)


def test_tensors_that_are_not_contiguous_go_in_as_they_are(student: MakeStudent) -> None:
    source = "def told(x):\n    return x.is_contiguous(), x.transpose(0, 2).is_contiguous()"
    assert student(source).told(X.transpose(0, 2)) == (False, True)


def test_a_student_knows_what_is_defined(student: MakeStudent) -> None:
    made = student("def f(): pass\nx = 1")
    assert made.has("f")
    assert made.has("x")
    assert not made.has("softmax")


def test_random_numbers_come_from_the_seed(student: MakeStudent) -> None:
    made = student("def draw():\n    return torch.randn(3)")
    drawn = []
    for seed in (1, 1, 2):
        made.seed(seed)
        drawn.append(made.draw())
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert torch.equal(drawn[0], torch.randn(3, generator=torch.Generator().manual_seed(1)))


# Changes in place


def test_a_change_of_an_input_is_told_and_does_not_reach_the_caller(student: MakeStudent) -> None:
    made = student("def f(a, b):\n    b += 1\n    return a")
    a, b = X.clone(), X.clone()
    made.f(a, b)
    assert made.changed == [1]
    assert torch.equal(b, X)
    made.f(a, b=b)
    assert made.changed == [1]


@pytest.mark.parametrize(
    "line",
    [
        "x.masked_fill_(x > 0, 0)",
        "x[0] = 7",
        "x.data.zero_()",
        "x.transpose_(0, 1)",
        "x.resize_(3)",
        "x.numpy()[:] = 1",
    ],
)
def test_every_way_to_change_an_input_is_noticed(student: MakeStudent, line: str) -> None:
    made = student(f"def f(x):\n    {line}\n    return 1")
    made.f(X)
    assert made.changed == [0]


def test_a_change_of_an_input_in_a_list_is_noticed(student: MakeStudent) -> None:
    made = student("def f(parts, named):\n    named['b'].add_(1)")
    made.f([X, X], {"a": X, "b": X})
    assert made.changed == [3]


@pytest.mark.parametrize(
    "line",
    [
        "named.pop('a')",
        "named.clear()",
        "named['c'] = 1",
        "named['a'] = named['a'].T",
        "parts.append(1)",
        "parts.reverse()",
    ],
)
def test_a_dict_or_list_that_changes_is_noticed(student: MakeStudent, line: str) -> None:
    made = student(f"def f(parts, named):\n    {line}\n    return 1")
    named = {"a": X, "b": X}
    made.f([X, 2.5], named)
    assert made.changed == [3] and list(named) == ["a", "b"]  # behind the three tensors
    made.f(parts=[X, 2.5], named=named)
    assert made.changed == [3]


def test_a_dict_or_list_that_is_only_read_is_no_change(student: MakeStudent) -> None:
    made = student("def f(parts, named):\n    return [*parts, *dict(named).values()]")
    made.f([X, 1000, "word"], {"a": X, "n": 2.5, "none": None})
    assert made.changed == []


def test_a_copy_may_be_changed(student: MakeStudent) -> None:
    made = student("def f(x):\n    x = x.clone()\n    x += 1\n    y = 2 * x\n    y[0] = 0\n    return y")
    made.f(X)
    assert made.changed == []


def test_a_nan_in_an_input_is_no_change(student: MakeStudent) -> None:
    made = student("def f(x):\n    return x")
    made.f(torch.tensor([1.0, math.nan]))
    assert made.changed == []


def test_the_last_call_counts(student: MakeStudent) -> None:
    made = student("def f(x):\n    x += 1\n\ndef g(x):\n    return x")
    made.f(X)
    made.g(X)
    assert made.changed == []


# Gradients


def gradients(output: Tensor, inputs: list[Tensor]) -> list[Tensor | None]:
    cotangent = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).reshape(output.shape)
    return list(torch.autograd.grad(output, inputs, cotangent, allow_unused=True))


def test_gradients_flow_through_a_student_to_all_inputs(student: MakeStudent) -> None:
    made = student("def f(a, b):\n    return (a @ b.mT).tanh()")
    a, b = X.clone().requires_grad_(), (2 * X).requires_grad_()
    found, expected = gradients(made.f(a, b), [a, b]), gradients((a @ b.mT).tanh(), [a, b])
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-12)


def test_gradients_flow_through_what_comes_before_and_after(student: MakeStudent) -> None:
    made = student("def f(x):\n    return x.exp()")
    x = X.clone().requires_grad_()
    (found,) = torch.autograd.grad((made.f(x.sin()) ** 2).sum(), x)
    (expected,) = torch.autograd.grad((x.sin().exp() ** 2).sum(), x)
    assert torch.allclose(found, expected, rtol=1e-12)


def test_several_results_have_gradients_of_their_own(student: MakeStudent) -> None:
    made = student("def f(x):\n    return {'double': 2 * x, 'rest': [x.detach(), x ** 2]}")
    x = X.clone().requires_grad_()
    returned = made.f(x)
    assert returned["double"].requires_grad
    assert not returned["rest"][0].requires_grad
    assert torch.allclose(gradients(returned["double"], [x])[0], gradients(2 * x, [x])[0])
    assert torch.allclose(gradients(returned["rest"][1], [x])[0], gradients(x**2, [x])[0])
    both = torch.autograd.grad((returned["double"] + returned["rest"][1]).sum(), x)[0]
    assert torch.allclose(both, 2 + 2 * x)


def test_an_input_without_influence_gets_none(student: MakeStudent) -> None:
    made = student("def f(a, b):\n    return 2 * a")
    a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
    found = gradients(made.f(a, b), [a, b])
    assert found[0] is not None
    assert found[1] is None


def test_a_cut_graph_is_seen(student: MakeStudent) -> None:
    made = student("def f(x):\n    return torch.from_numpy(x.detach().numpy() * 2)")
    assert not made.f(X.clone().requires_grad_()).requires_grad


def test_no_gradient_is_asked_where_no_input_asks(student: MakeStudent) -> None:
    assert not student("def f(x):\n    return 2 * x").f(X).requires_grad


def test_what_a_call_leaves_on_its_inputs_is_told(student: MakeStudent) -> None:
    made = student("def f(x):\n    x.requires_grad_()\n    x.sum().backward()\n    return x.detach()")
    made.f(X)
    assert made.left == ["requires_grad", "grad"]


def test_a_pass_may_be_repeated_and_graphs_of_earlier_calls_kept(student: MakeStudent) -> None:
    made = student("def f(x, n):\n    return n * x")
    x = X.clone().requires_grad_()
    results = [made.f(x, n) for n in range(KEPT_GRAPHS)]
    for _ in range(2):
        for n, result in enumerate(results):
            assert torch.equal(gradients(result, [x])[0], gradients(n * x, [x])[0])


def test_an_error_in_a_backward_pass_is_the_learners(student: MakeStudent) -> None:
    source = """class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("backwards")

def f(x):
    return Odd.apply(x)
"""
    x = X.clone().requires_grad_()
    result = student(source).f(x)
    with pytest.raises(LearnerError, match="backwards") as raised:
        gradients(result, [x])
    assert raised.value.line == LINES_ABOVE + 8


@pytest.mark.parametrize("name", NAMES)
def test_both_students_give_the_same_numbers_and_gradients(name: str, remote_student: MakeStudent) -> None:
    source = "\n\n".join(notebooks.right(name) for name in NAMES)
    inputs = {
        "attention_scores": [X, X.flip(-1)],
        "softmax": [X],
        "softmax_jacobian": [F.softmax(X, -1)],
        "padding_mask": [torch.tensor([1, 4, 0]), 4],
        "scaled_dot_product_attention": [X, X.flip(-1), 3 * X],
    }[name]
    seen = []
    for made in (local_student(source), remote_student(source)):
        given = [x.clone().requires_grad_() if isinstance(x, Tensor) and x.is_floating_point() else x for x in inputs]
        result = getattr(made, name)(*given)
        output = result[0] if isinstance(result, tuple) else result
        asking = [x for x in given if isinstance(x, Tensor) and x.requires_grad]
        seen.append([output.detach(), *(gradients(output, asking) if asking else [])])
    assert len(seen[0]) > 1 or name == "padding_mask"
    assert all(torch.equal(here, there) for here, there in zip(*seen, strict=True))


@pytest.mark.parametrize("test", [test for name in NAMES for test in hidden.tests_of(name)], ids=lambda test: test.name)
def test_right_answers_pass_every_hidden_test_in_this_process_too(test: object) -> None:
    made = local_student("\n\n".join(notebooks.right(name) for name in NAMES))
    test.run(made, Randomness("some secret", test.name))


# Errors


def error_of(call: Callable[[], object]) -> LearnerError:
    with pytest.raises(LearnerError) as raised:
        call()
    return raised.value


def test_an_error_is_told_with_its_type_message_and_line(student: MakeStudent) -> None:
    made = student("def f(x):\n    y = 2 * x\n    raise IndexError(f'no row {y}')")
    error = error_of(lambda: made.f(3))
    assert (error.type_name, error.message) == ("IndexError", "no row 6")
    assert (error.line, error.cell) == (LINES_ABOVE + 3, "<cell 1>")
    assert error.bases[:3] == ["IndexError", "LookupError", "Exception"]


def test_an_error_deep_in_pytorch_points_at_the_learners_line(student: MakeStudent) -> None:
    made = student("def f(x):\n    return nn.functional.layer_norm(x, (77,))")
    error = error_of(lambda: made.f(X))
    assert error.type_name == "RuntimeError"
    assert error.line == LINES_ABOVE + 2


def test_of_several_lines_the_innermost_is_told(student: MakeStudent) -> None:
    made = student("def helper(x):\n    return x[9]\n\ndef f(x):\n    return helper(x)")
    assert error_of(lambda: made.f(X)).line == LINES_ABOVE + 2


def test_errors_of_the_learners_own_making_are_told(student: MakeStudent) -> None:
    source = """class Odd(ValueError):
    def __str__(self):
        raise RuntimeError

def f():
    raise Odd()"""
    error = error_of(lambda: student(source).f())
    assert (error.type_name, error.message) == ("Odd", "")
    assert "ValueError" in error.bases


@pytest.mark.parametrize(
    ("line", "kind"), [("import sys; sys.exit(3)", "SystemExit"), ("raise KeyboardInterrupt", "KeyboardInterrupt")]
)
def test_leaving_is_an_error(student: MakeStudent, line: str, kind: str) -> None:
    assert error_of(lambda: student(f"def f():\n    {line}").f()).type_name == kind


def test_a_missing_name_is_an_error(student: MakeStudent) -> None:
    error = error_of(lambda: student("").softmax(X))
    assert (error.type_name, error.line) == ("NameError", None)


def test_a_wrong_number_of_arguments_is_an_error(student: MakeStudent) -> None:
    assert error_of(lambda: student("def f(): pass").f(1)).type_name == "TypeError"


def test_an_error_leaves_the_student_usable(student: MakeStudent) -> None:
    made = student("def f(x):\n    return 1 / x")
    error_of(lambda: made.f(0))
    assert made.f(2) == 0.5


# Shortcuts


def test_shortcuts_are_told_over_all_calls(student: MakeStudent) -> None:
    made = student("def f(x):\n    return x.softmax(-1)\n\ndef g(x):\n    return x.exp()", "softmax", "norm")
    made.g(X)
    assert made.shortcuts_used == []
    made.f(X)
    made.g(X)
    assert made.shortcuts_used == ["softmax"]


def test_without_a_watch_none_is_told(student: MakeStudent) -> None:
    made = student("def f(x):\n    return x.softmax(-1)")
    made.f(X)
    assert made.shortcuts_used == []


def test_a_shortcut_under_an_error_is_an_error(student: MakeStudent) -> None:
    made = student("def f(x):\n    x.softmax(-1)\n    raise ValueError", "softmax")
    assert error_of(lambda: made.f(X)).type_name == "ValueError"


# Objects that stay where the code runs

LAYER = """class Layer(nn.Module):
    def __init__(self, d_in, d_out, *, bias=True):
        super().__init__()
        self.linear = nn.Linear(d_in, d_out, bias=bias)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        return self.linear(x).tanh()

    def rows(self, x):
        return len(x)

def apply(layer, x):
    return layer(x)
"""


@pytest.fixture
def layer(student: MakeStudent) -> HeldObject:
    return student(LAYER).Layer(4, 3)


def test_an_object_is_called_and_so_are_its_methods(layer: HeldObject) -> None:
    assert layer.type_name == "Layer"
    assert layer(X.float()).shape == (2, 3, 3)
    assert layer.method("rows", X) == 2


def test_parameters_are_read_and_written_by_name(layer: HeldObject) -> None:
    assert set(layer.parameters()) == {"linear.weight", "linear.bias"}
    assert set(layer.state()) == {"linear.weight", "linear.bias", "steps"}
    weight, bias = torch.ones(3, 4), torch.arange(3.0)
    layer.load({"linear.weight": weight, "linear.bias": bias})
    assert torch.equal(layer.parameters()["linear.weight"], weight)
    assert torch.equal(layer.attribute("linear.bias"), bias)
    assert torch.allclose(layer(X.float()), (X.float() @ weight.T + bias).tanh())


def test_what_does_not_fit_is_refused(layer: HeldObject) -> None:
    assert "no parameter named scale" in error_of(lambda: layer.load({"scale": torch.ones(1)})).message
    assert "has shape (3,), not (4,)" in error_of(lambda: layer.load({"linear.bias": torch.ones(4)})).message
    assert error_of(lambda: layer.attribute("linear.nothing")).type_name == "AttributeError"


def test_gradients_of_parameters_are_read_after_a_pass(layer: HeldObject) -> None:
    x = X.float().requires_grad_()
    layer(x).sum().backward()
    assert {name: grad.shape for name, grad in layer.gradients().items()} == {
        "linear.weight": (3, 4),
        "linear.bias": (3,),
    }
    assert x.grad is not None
    layer.zero_grad()
    assert layer.gradients() == {}


def test_a_pass_reaches_parameters_where_no_input_asks_for_gradients(layer: HeldObject) -> None:
    layer(X.float()).sum().backward()
    assert set(layer.gradients()) == {"linear.weight", "linear.bias"}


def test_mode_and_dtype_are_set(layer: HeldObject) -> None:
    assert layer.training
    assert not layer.eval().training
    assert layer.train().training
    assert layer.to("float64")(X).dtype == torch.float64
    assert set(layer.trainable().values()) == {True}


def test_an_object_is_handed_back_to_the_code_beside_it(student: MakeStudent) -> None:
    made = student(LAYER)
    layer = made.Layer(4, 3, bias=False)
    assert torch.equal(made.apply(layer, X.float()), layer(X.float()))


def test_objects_in_lists_are_held_too(student: MakeStudent) -> None:
    made = student(f"{LAYER}\ndef two():\n    return [Layer(4, 2), {{'b': Layer(4, 5)}}]")
    first, named = made.two()
    assert (first(X.float()).shape[-1], named["b"](X.float()).shape[-1]) == (2, 5)


def test_what_is_no_plain_value_is_held(student: MakeStudent) -> None:
    made = student(
        "import numpy\n\ndef f(kind):\n    return {'a': numpy.ones(3), 's': {1, 2}, 'g': (i for i in 'ab')}[kind]"
    )
    assert [made.f(kind).type_name for kind in "asg"] == ["ndarray", "set", "generator"]


# Requests that no student makes


def test_an_executor_carries_out_its_operations_only() -> None:
    for operation in ("__init__", "request", "_function", "exec", ""):
        with pytest.raises(ValueError, match="unknown operation"):
            Executor({}).request(operation, {})


def test_private_names_are_no_functions_of_a_student() -> None:
    with pytest.raises(AttributeError):
        local_student("def _helper(): pass")._helper()
