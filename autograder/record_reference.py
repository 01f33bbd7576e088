"""Record what the published encoder gives in its reference implementation, stage by stage, for `utils.parity`.

The reference implementation, `transformers`, isn't a dependency of the course: it is needed only to make the file anew.

    python3 -m venv /tmp/reference
    /tmp/reference/bin/pip install torch safetensors matplotlib transformers==4.57.1
    /tmp/reference/bin/python -m autograder.record_reference FOLDER

FOLDER holds the published model: config.json, model.safetensors and vocab.txt of all-MiniLM-L6-v2.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from utils.parity import REFERENCE, SENTENCES, stage_names


def modules_of(model: nn.Module) -> dict[str, nn.Module]:
    """Give the reference's modules by the name of the stage whose output they make."""
    modules = [model.embeddings.LayerNorm]
    for layer in model.encoder.layer:
        output = layer.attention.output
        modules += [output.dense, output.LayerNorm, layer.output.dense, layer.output.LayerNorm]
    return dict(zip(stage_names(len(model.encoder.layer)), modules, strict=True))


@torch.no_grad()
def record(folder: Path) -> dict[str, Tensor]:
    """Run the published model on the sentences; give ids, padding and every stage's output, all (B, T, …)."""
    from transformers import BertModel, BertTokenizer

    tokenizer = BertTokenizer(str(folder / "vocab.txt"), do_lower_case=True)
    model = BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    batch = tokenizer(list(SENTENCES), padding=True, return_tensors="pt")
    recorded = {"ids": batch["input_ids"], "padding": batch["attention_mask"].bool().unsqueeze(1)}
    for name, module in modules_of(model).items():
        module.register_forward_hook(lambda _module, _inputs, output, name=name: recorded.update({name: output}))
    final = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    assert torch.equal(final, list(recorded.values())[-1])  # nothing comes after the last norm
    return {name: value.contiguous() for name, value in recorded.items()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    REFERENCE.parent.mkdir(exist_ok=True)
    save_file(
        record(Path(sys.argv[1])), REFERENCE, metadata={"model": "all-MiniLM-L6-v2", "made by": Path(__file__).name}
    )
    print(f"{REFERENCE.name}: {REFERENCE.stat().st_size / 1e6:.2f} MB")
