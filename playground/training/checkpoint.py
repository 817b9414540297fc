"""Files of a training: the model folder that the app loads, and the state from which training goes on exactly.

Everything is written beside its place and then renamed, so a full disk or a crash leaves the last whole file.
Only safetensors and JSON: nothing is ever unpickled.
"""

import hashlib
import json
import os
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

STATE = "training.safetensors"


class TrainingError(RuntimeError):
    """Training that cannot start or go on, said in one sentence."""


MODEL_FILES = ("model.safetensors", "config.json", "tokenizer.json")


def replace(path: Path, write) -> None:
    """`write(temporary path)`, then rename. Raises OSError with nothing changed."""
    temporary = path.with_name(path.name + ".part")
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        temporary.unlink(missing_ok=True)
        raise OSError(f"{path} could not be written ({error})") from error


def claim(folder: Path) -> None:
    """Make the folder and prove that it can be written to. Raises TrainingError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace(folder / ".writable", lambda path: path.write_text(""))
        (folder / ".writable").unlink()
    except OSError as error:
        raise TrainingError(
            f"output is {str(folder)!r}, which cannot be written to ({error.strerror or error})."
        ) from None


def save_model(folder: Path, denoiser: nn.Module, config: dict, tokenizer_file: Path) -> None:
    """The folder that the app loads: fp16 weights, config.json, tokenizer.json."""
    weights = {name: w.detach().cpu().half().contiguous() for name, w in denoiser.state_dict().items()}
    replace(folder / "model.safetensors", lambda path: save_file(weights, path))
    replace(folder / "config.json", lambda path: path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8"))
    if tokenizer_file.resolve() != (folder / "tokenizer.json").resolve():
        replace(folder / "tokenizer.json", lambda path: shutil.copyfile(tokenizer_file, path))


def save_state(folder: Path, tensors: dict[str, Tensor], facts: dict) -> None:
    """One file with all tensors and, in its header, the rest as JSON."""
    replace(folder / STATE, lambda path: save_file(tensors, path, metadata={"facts": json.dumps(facts)}))


def load_state(folder: Path) -> tuple[dict[str, Tensor], dict]:
    """What `save_state` wrote. Raises TrainingError."""
    path = folder / STATE
    if not path.is_file():
        raise TrainingError(f"There is nothing to resume: {folder} holds no {STATE}.")
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads(file.metadata()["facts"])
        return load_file(path), facts
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{path} is not a whole checkpoint ({error}).") from None


def fingerprint(tokenizer_file: Path) -> str:
    return hashlib.sha256(tokenizer_file.read_bytes()).hexdigest()[:16]


def flatten(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": w.detach().contiguous().clone() for name, w in tensors.items()}


def unflatten(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = prefix + "/"
    return {name.removeprefix(start): w for name, w in tensors.items() if name.startswith(start)}


def optimizer_tensors(optimizer: torch.optim.Optimizer, denoiser: nn.Module) -> dict[str, Tensor]:
    """An optimizer's state, `parameter name/quantity` -> tensor."""
    state = {name: optimizer.state[p] for name, p in denoiser.named_parameters() if p in optimizer.state}
    return {f"{name}/{quantity}": w for name, values in state.items() for quantity, w in values.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, denoiser: nn.Module, tensors: dict[str, Tensor]) -> None:
    """The inverse. Raises TrainingError where other parameters were trained."""
    found: dict[str, dict] = {}
    for key, w in tensors.items():
        name, quantity = key.rsplit("/", 1)
        found.setdefault(name, {})[quantity] = w
    trained = {name: p for name, p in denoiser.named_parameters() if p.requires_grad}
    if found and found.keys() != trained.keys():
        differing = ", ".join(sorted(found.keys() ^ trained.keys())[:3])
        raise TrainingError(f"The checkpoint trained other parameters ({differing}); is --freeze-embeddings as before?")
    for name, values in found.items():
        optimizer.state[trained[name]] = values
