"""Training, from a folder of text to a folder that the app loads.

    python -m playground train --corpus DIR --family masked --init minilm --minutes 60 --output runs/my-masked

The same command under `torchrun` shares each batch among processes.
"""

import copy
import json
import math
import os
import random
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.func import functional_call
from tqdm import tqdm

from playground import memory
from playground.denoisers import minilm, zoo
from playground.engine import complete
from playground.recipe import Recipe
from playground.samplers import SAMPLERS
from playground.text import BOS, PAD, Tokenizer
from playground.training import checkpoint, initial
from playground.training.checkpoint import TrainingError
from playground.training.data import LENGTHS, Corpus, train_tokenizer
from playground.training.objectives import OBJECTIVES, Noise

VALIDATION_ROWS, VALIDATION_LENGTH = 160, 64
WARM_UP, DECAY = 200, 0.35  # steps up; the last share of the budget, down
DROPOUT = {"autoregressive": 0.1}  # it alone learns a row by heart: every row looks the same each time


@dataclass(frozen=True)
class Plan:
    """Every knob of a training. Budgets count from the first step, over all resumes; with both, the first to run out
    ends it."""

    corpus: str
    output: str
    family: str
    init: str = "minilm"  # minilm, random, a model's name or its folder
    minutes: float = math.inf
    tokens: float = math.inf
    shares: dict[str, float] = field(default_factory=dict)  # file -> share of the rows; empty: by size
    tokenizer: str = ""  # a tokenizer.json; empty: the init model's, else one trained on the corpus
    vocabulary: int = 4096
    batch: int = 4096  # cells in a batch
    lr: float = 5e-4
    ema: float = 0.999
    seed: int = 0
    save_minutes: float = 5
    freeze_embeddings: bool = False  # of the continuous family
    shape: dict[str, int] = field(default_factory=dict)  # for init random: layers, width, heads, hidden, max_length

    def checked(self) -> "Plan":
        """This plan, or TrainingError."""
        if self.family not in OBJECTIVES:
            raise TrainingError(f"family is {self.family!r}; allowed: {', '.join(OBJECTIVES)}.")
        if self.minutes == self.tokens == math.inf:
            raise TrainingError("A budget is needed: minutes, tokens, or both.")
        for name in ("minutes", "tokens", "batch", "lr", "save_minutes", *self.shape):
            value = self.shape.get(name, getattr(self, name, None))
            if not value > 0:
                raise TrainingError(f"{name} is {value}; it must be above 0.")
        for name, value, low, high in (
            ("lr", self.lr, 0, 1), ("ema", self.ema, 0, 0.999999), ("seed", self.seed, 0, 2**31 - 1),
            ("vocabulary", self.vocabulary, 259, 65536), ("max_length", self.shape.get("max_length", 25), 25, 65536),
        ):  # fmt: skip
            if not low <= value <= high:
                raise TrainingError(f"{name} is {value}; allowed: {low} to {high}.")
        if self.shape and self.init != "random":
            raise TrainingError(f"{next(iter(self.shape))} is given, but init {self.init} brings its own shape.")
        if self.batch < min(LENGTHS):
            raise TrainingError(f"batch is {self.batch} cells; the shortest rows have {min(LENGTHS)}.")
        return self


class Loss(nn.Module):
    """An objective as a module, so that its denoiser can be called with other weights: those in the precision of
    the forward pass, which is also the one the model will run in."""

    def __init__(self, denoiser: nn.Module):
        super().__init__()
        self.denoiser, self.objective = denoiser, OBJECTIVES[denoiser.family]

    def forward(self, rows: Tensor, noise: Noise, part: slice) -> Tensor:
        return self.objective(self.denoiser, rows, noise, part)

    def at(self, dtype: torch.dtype, *arguments) -> Tensor:
        cast = {
            f"denoiser.{name}": p if name in zoo.KEPT_FLOAT32 else p.to(dtype)
            for name, p in self.denoiser.named_parameters()
        }
        return functional_call(self, cast, arguments)


class Training:
    """One denoiser, its average, its optimizer, and where it stands."""

    def __init__(self, plan: Plan, resume: bool = False):
        self.plan, self.output = plan.checked(), Path(plan.output)
        self.rank, self.world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        self.device = zoo.chosen_device()
        self.dtype = zoo.DTYPES[zoo.checked_dtype(None, self.device)]
        if self.rank == 0:
            checkpoint.claim(self.output)
        state = checkpoint.load_state(self.output) if resume else self._nothing_there()
        torch.manual_seed(plan.seed)
        self.tokenizer_file, source = self._start(resume)
        self.tokenizer = _tokenizer(self.tokenizer_file)
        self.corpus = Corpus.read(plan.corpus, self.tokenizer, plan.shares or None)
        self.noise = Noise.seeded(plan.seed, self.device)
        try:
            if source is None:
                source = initial.fresh(plan.family, self._shape())
            self.denoiser = initial.from_denoiser(source, plan.family, self._prior()).to(self.device)
        except (ValueError, RuntimeError, AssertionError) as error:  # a shape or a device that cannot be
            raise TrainingError(f"The denoiser cannot be built ({error}).") from None
        self.history = list(getattr(source, "history", []))
        self.denoiser.trunk.dropout = DROPOUT.get(plan.family, 0.0)
        if plan.freeze_embeddings and plan.family == "continuous":
            self.denoiser.embeddings.requires_grad_(False)
        self.average = copy.deepcopy(self.denoiser).requires_grad_(False).eval()
        self.loss, self.optimizer = Loss(self.denoiser), optimizer(self.denoiser, plan.lr)
        self.base_lrs = [group["lr"] for group in self.optimizer.param_groups]
        self.step, self.seen, self.seconds = 0, 0, 0.0
        if state:
            self._restore(*state)

    def _nothing_there(self) -> None:
        found = [name for name in (checkpoint.STATE, *checkpoint.MODEL_FILES) if (self.output / name).exists()]
        if found and self.rank == 0:
            raise TrainingError(
                f"output {self.output} already holds {found[0]}; add --resume to go on with a training, "
                "or name another folder."
            )

    def _start(self, resume: bool) -> tuple[Path, nn.Module | None]:
        """The tokenizer's file, and the denoiser to start from (None: random weights)."""
        plan, own = self.plan, self.output / "tokenizer.json"
        if resume and own.is_file():
            if plan.tokenizer and checkpoint.fingerprint(_file(plan.tokenizer)) != checkpoint.fingerprint(own):
                raise TrainingError(f"tokenizer {plan.tokenizer} is another tokenizer than that of {self.output}.")
            return own, None if plan.init in ("minilm", "random") else _load(plan.init)[1]
        if plan.init not in ("minilm", "random"):
            folder, denoiser = _load(plan.init)
            given = Path(plan.tokenizer) if plan.tokenizer else folder / "tokenizer.json"
            _tokenizer(given)
            if checkpoint.fingerprint(given) != checkpoint.fingerprint(folder / "tokenizer.json"):
                raise TrainingError(f"tokenizer {given} is not the one that {folder.name} was trained with.")
            return given, denoiser
        if plan.init == "minilm":
            minilm.folder()  # said before anything is computed
        if plan.tokenizer:
            given = Path(plan.tokenizer)
        else:
            given = own
            if self.rank == 0:
                texts = (plan.corpus, plan.vocabulary)
                checkpoint.replace(own, lambda path: train_tokenizer(*texts, path, plan.shares or None))
            if self.world > 1:
                dist.barrier()
        return given, initial.from_minilm(_tokenizer(given), given) if plan.init == "minilm" else None

    def _shape(self) -> dict:
        shape = {"vocab_size": self.tokenizer.vocab_size} | initial.SHAPE | self.plan.shape
        if self.plan.family == "continuous":
            shape["embedding_width"] = min(initial.EMBEDDING_WIDTH, shape["width"])
        return shape

    def _prior(self) -> Tensor:
        """Log unigram frequencies of the rows [V]."""
        rows = self.corpus.rows(2000, 64, random.Random(self.plan.seed))
        counts = torch.bincount(rows.flatten(), minlength=self.tokenizer.vocab_size).float() + 0.5
        return (counts / counts.sum()).log()

    @property
    def cut(self) -> bool:
        return self.plan.family == "autoregressive"

    @property
    def progress(self) -> float:
        """The share of the budget that is spent, 0 to 1."""
        return min(1.0, max(self.seconds / 60 / self.plan.minutes, self.seen / self.plan.tokens))

    def advance(self) -> float:
        """One step of the optimizer; returns the loss of the batch."""
        started = time.perf_counter()
        factor = learning_rate(self.step, self.progress)
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * factor
        limit = len(self.denoiser.trunk.positions) - 1
        lengths = {length: share for length, share in LENGTHS.items() if length <= min(limit, self.plan.batch)}
        length = self.noise.choices.choices(list(lengths), list(lengths.values()))[0]
        rows = self.corpus.rows(self.plan.batch // length, length, self.noise.choices, self.cut).to(self.device)
        self.denoiser.train()
        loss = self.loss.at(self.dtype, rows, self.noise, slice(self.rank, None, self.world))
        loss.backward()
        total = self._share_gradients(loss.detach())
        nn.utils.clip_grad_norm_([p for n, p in self.denoiser.named_parameters() if not n.startswith("schedule_")], 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        decay = min(self.plan.ema, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            torch._foreach_lerp_(list(self.average.parameters()), list(self.denoiser.parameters()), 1 - decay)
        self.step, self.seen = self.step + 1, self.seen + rows.numel()
        self.seconds += time.perf_counter() - started
        return total.item()

    def _share_gradients(self, loss: Tensor) -> Tensor:
        """Add up the parts of all processes: gradients in place, the loss as the value."""
        if self.world == 1:
            return loss
        held = [p for p in self.denoiser.parameters() if p.grad is not None]
        flat = torch.cat([loss.view(1).float(), *(p.grad.flatten().float() for p in held)])
        dist.all_reduce(flat)
        for p, part in zip(held, flat[1:].split([p.numel() for p in held]), strict=True):
            p.grad.copy_(part.view_as(p))
        return flat[0]

    @torch.no_grad()
    def validate(self) -> float:
        """The averaged weights' loss on held-out openings, with the same noise every time, nats a token."""
        noise = Noise.seeded(7, self.device)
        length = min(VALIDATION_LENGTH, len(self.denoiser.trunk.positions) - 1)
        rows = self.corpus.validation_rows(VALIDATION_ROWS, length, self.cut).to(self.device)
        loss = Loss(self.average)
        parts = [loss.at(self.dtype, part, noise, slice(None)).item() for part in rows.split(32)]
        return sum(parts) / len(parts)

    def save(self) -> None:
        """Model folder and checkpoint. Raises OSError with the last ones kept."""
        if self.rank:
            return
        tensors = (
            checkpoint.flatten("denoiser", self.denoiser.state_dict())
            | checkpoint.flatten("average", self.average.state_dict())
            | checkpoint.flatten("optimizer", checkpoint.optimizer_tensors(self.optimizer, self.denoiser))
            | checkpoint.flatten("noise", {"cells": self.noise.cells.get_state(), "torch": torch.get_rng_state()})
        )
        facts = {
            "family": self.plan.family, "tokenizer": checkpoint.fingerprint(self.tokenizer_file),
            "step": self.step, "seen": self.seen, "seconds": self.seconds,
            "choices": self.noise.choices.getstate(), "history": self.history, "shape": initial.shape_of(self.denoiser),
        }  # fmt: skip
        checkpoint.save_state(self.output, tensors, facts)
        checkpoint.save_model(self.output, self.average, self._config(), self.tokenizer_file)

    def _config(self) -> dict:
        shape = initial.shape_of(self.denoiser)
        files = {source.name: round(source.share, 4) for source in self.corpus.sources}
        stage = {"family": self.plan.family, "from": Path(self.plan.init).name, "tokens": self.seen, "text": files}
        return {"family": self.plan.family, "shape": shape, "training": [*self.history, stage]}

    def _restore(self, tensors: dict[str, Tensor], facts: dict) -> None:
        if facts["family"] != self.plan.family:
            raise TrainingError(
                f"The checkpoint in {self.output} is of the family {facts['family']}, not {self.plan.family}."
            )
        if facts["tokenizer"] != checkpoint.fingerprint(self.tokenizer_file):
            raise TrainingError(
                f"The checkpoint in {self.output} belongs to another tokenizer than its tokenizer.json."
            )
        if facts["shape"] != (shape := initial.shape_of(self.denoiser)):
            said = ", ".join(f"{name} {facts['shape'].get(name)} not {shape[name]}" for name in shape
                             if facts["shape"].get(name) != shape[name])  # fmt: skip
            raise TrainingError(f"The checkpoint in {self.output} has another shape: {said}.")
        try:
            self.denoiser.load_state_dict(checkpoint.unflatten("denoiser", tensors))
        except RuntimeError as error:
            raise TrainingError(
                f"The checkpoint in {self.output} has another shape ({str(error).splitlines()[-1].strip()})."
            ) from None
        self.average.load_state_dict(checkpoint.unflatten("average", tensors))
        checkpoint.restore_optimizer(self.optimizer, self.denoiser, checkpoint.unflatten("optimizer", tensors))
        self.noise.cells.set_state(tensors["noise/cells"])
        torch.set_rng_state(tensors["noise/torch"])
        version, state, rest = facts["choices"]
        self.noise.choices.setstate((version, tuple(state), rest))
        self.step, self.seen, self.seconds, self.history = (facts[k] for k in ("step", "seen", "seconds", "history"))

    def samples(self, count: int = 2) -> list[str]:
        """What the averaged weights write now, from the start mark on, always with the same seeds."""
        length = min(VALIDATION_LENGTH, len(self.denoiser.trunk.positions) - 1)
        recipe = Recipe(sampler=next(iter(SAMPLERS[self.plan.family])), length=length, seed=0)
        ids = torch.full((count, length), PAD)
        fixed = torch.zeros_like(ids, dtype=torch.bool)
        ids[:, 0], fixed[:, 0] = BOS, True
        (rows,) = complete(recipe, self.model(), ids, fixed)
        return [self.tokenizer.decode(row) for row in rows.tolist()]

    def model(self) -> zoo.Model:
        """The averaged weights as the app would load them."""
        denoiser = copy.deepcopy(self.average)
        for name, p in denoiser.named_parameters():
            p.data = p.data if name in zoo.KEPT_FLOAT32 else p.data.to(self.dtype)
        return zoo.Model(self.output.name, denoiser, self.tokenizer, self._config())


def optimizer(denoiser: nn.Module, lr: float) -> torch.optim.Optimizer:
    """AdamW; twice the rate and no decay for the token tables, a rate of its own for the noise schedule's scalars."""
    groups = {"weights": [], "small": [], "tables": [], "schedule": []}
    for name, p in denoiser.named_parameters():
        if not p.requires_grad:
            continue
        table = name in ("tokens", "embeddings")
        kind = (
            "schedule" if name.startswith("schedule_") else "tables" if table else "weights" if p.dim() > 1 else "small"
        )
        groups[kind].append(p)
    rates = {"weights": (lr, 0.01), "small": (lr, 0.0), "tables": (2 * lr, 0.0), "schedule": (2e-3, 0.0)}
    settings = [
        {"params": params, "lr": rates[kind][0], "weight_decay": rates[kind][1]}
        for kind, params in groups.items() if params
    ]  # fmt: skip
    return torch.optim.AdamW(settings, betas=(0.9, 0.98), fused=True)


def learning_rate(step: int, progress: float) -> float:
    """The factor on the learning rate: linear warm-up, level, linear decay over the end of the budget."""
    return min(1.0, (step + 1) / WARM_UP) * min(1.0, max(0.02, (1 - progress) / DECAY))


def _file(name: str) -> Path:
    if not Path(name).is_file():
        raise TrainingError(f"tokenizer {name} cannot be read (there is no such file).")
    return Path(name)


def _tokenizer(path: Path) -> Tokenizer:
    try:
        return Tokenizer(path)
    except Exception as error:  # the tokenizers library raises bare Exception
        raise TrainingError(f"tokenizer {path} cannot be read ({error}).") from None


def _load(init: str) -> tuple[Path, nn.Module]:
    """A model's folder and denoiser, in float32 on the CPU."""
    folder = Path(init) if Path(init).is_dir() else zoo.models_folder() / init
    if not folder.is_dir():
        raise TrainingError(
            f"init is {init!r}; allowed: minilm, random, a model's folder or one of {', '.join(zoo.catalogue())}."
        )
    model = zoo.load_folder(folder, device="cpu", dtype="float32")
    model.denoiser.history = model.card.get("training", [])
    return folder, model.denoiser


def train(plan: Plan, resume: bool = False, quiet: bool = False) -> Training:
    """Run a plan to the end of its budget, or to Ctrl-C, which saves."""
    memory.keep_freed()
    with processes():
        training = Training(plan, resume)
        with (training.output / "log.jsonl").open("a", encoding="utf-8") as log, interruptible() as stopped:
            _loop(training, log, stopped, quiet or training.rank > 0)
        return training


def _loop(training: Training, log, stopped: list, quiet: bool) -> None:
    losses, saved, budget = [], time.monotonic(), training.plan.tokens
    bar = tqdm(
        total=None if budget == math.inf else int(budget), initial=training.seen, unit="tok", unit_scale=True,
        disable=quiet, desc=training.plan.family,
    )  # fmt: skip
    while training.progress < 1 and not stopped:
        before = training.seen
        losses.append(training.advance())
        bar.update(training.seen - before)
        bar.set_postfix(loss=f"{losses[-1]:.3f}", spent=f"{training.progress:.0%}")
        if not math.isfinite(losses[-1]):
            raise TrainingError(f"The loss is {losses[-1]} at step {training.step}; what was saved before is kept.")
        if time.monotonic() - saved > 60 * training.plan.save_minutes:
            _report(training, log, losses, last=False)
            losses, saved = [], time.monotonic()
    bar.close()
    if losses:
        _report(training, log, losses, last=True)
    elif training.step:
        training.save()  # a training that was stopped while it wrote its model
    if stopped and training.rank == 0:
        print(
            f"Stopped at step {training.step}, saved in {training.output}; --resume goes on from here.", file=sys.stderr
        )


def _report(training: Training, log, losses: list[float], last: bool) -> None:
    """Log line with sample texts, then save; a save that fails is tried again, unless it is the last."""
    line = {
        "step": training.step, "tokens": training.seen, "seconds": round(training.seconds, 1),
        "tokens_per_second": round(training.seen / training.seconds), "loss": round(sum(losses) / len(losses), 4),
        "validation": round(training.validate(), 4),
    }  # fmt: skip
    if not math.isfinite(line["validation"]):
        raise TrainingError(f"The validation loss is {line['validation']}; what was saved before is kept.")
    try:
        if training.rank == 0:
            log.write(json.dumps(line | {"samples": training.samples()}, ensure_ascii=False) + "\n")
            log.flush()
            tqdm.write(json.dumps(line), file=sys.stderr)
        training.save()
    except OSError as error:
        if last:
            raise TrainingError(f"{error}; what was saved before is kept.") from None
        tqdm.write(f"{error}; training goes on, and what was saved before is kept.", file=sys.stderr)


@contextmanager
def processes():
    """The process group that torchrun asks for, if it does."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def interruptible():
    """A list that stays empty until Ctrl-C or a request to end: the step in hand is finished first."""
    stopped: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        before = [signal.signal(number, lambda number, frame: stopped.append(number)) for number in numbers]
    except ValueError:  # not the main thread
        yield stopped
        return
    try:
        yield stopped
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
