"""Hidden tests of chapter 02 as other graders take them: plain asserts against PyTorch, fewer than the course's own."""

HIDDEN_ASSERTS = {
    "attention_scores": """\
q, k = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
assert torch.allclose(attention_scores(q, k), torch.einsum("bid,bjd->bij", q, k), atol=1e-5)
""",
    "softmax": """\
x = torch.randn(3, 7)
assert torch.allclose(softmax(x), torch.softmax(x, -1), atol=1e-6)
assert torch.allclose(softmax(x + 1e4, 0), torch.softmax(x + 1e4, 0), atol=1e-3)
assert softmax(torch.full((2, 3), -float("inf"))).eq(0).all()
""",
    "softmax_jacobian": """\
x = torch.randn(5)
truth = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), x)
assert torch.allclose(softmax_jacobian(torch.softmax(x, -1)), truth, atol=1e-6)
""",
    "padding_mask": """\
mask = padding_mask(torch.tensor([2, 4]), 5)
assert mask.dtype == torch.bool and mask.shape == (2, 1, 5)
assert mask.tolist() == [[[True, True, False, False, False]], [[True, True, True, True, False]]]
""",
    "scaled_dot_product_attention": """\
q, k, v = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.randn(2, 5, 4)
output, weights = scaled_dot_product_attention(q, k, v)
assert torch.allclose(output, torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-5)
output, weights = scaled_dot_product_attention(q, k, v, torch.zeros(3, 5, dtype=torch.bool))
assert output.eq(0).all() and weights.eq(0).all()
""",
}
