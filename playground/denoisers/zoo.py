"""The models folder: a name -> a loaded denoiser and its tokenizer. Adding a family is one line in FAMILIES."""

import json
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from playground import environment, memory
from playground.denoisers.autoregressive import AutoregressiveDenoiser
from playground.denoisers.continuous import ContinuousDenoiser
from playground.denoisers.masked import MaskedDenoiser
from playground.denoisers.uniform import UniformDenoiser
from playground.text import Tokenizer

FAMILIES = {
    denoiser.family: denoiser
    for denoiser in (ContinuousDenoiser, MaskedDenoiser, UniformDenoiser, AutoregressiveDenoiser)
}
KEPT_FLOAT32 = {
    "embeddings",
    "prior",
    "schedule_loc",
    "schedule_log_scale",
    "schedule_plateau",
}  # the noise itself lives in these
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class ModelError(ValueError):
    """A model folder that cannot be used, said in one sentence."""


@dataclass(frozen=True, eq=False)
class Model:
    """A denoiser ready to run, with its tokenizer. `card` is config.json."""

    name: str
    denoiser: torch.nn.Module
    tokenizer: Tokenizer
    card: dict

    @property
    def family(self) -> str:
        return self.denoiser.family

    @property
    def parameters(self) -> int:
        return sum(p.numel() for p in self.denoiser.parameters())

    @property
    def device(self) -> torch.device:
        return self.denoiser.tokens.device

    @property
    def dtype(self) -> str:
        return str(self.denoiser.tokens.dtype).removeprefix("torch.")


def models_folder() -> Path:
    """PLAYGROUND_MODELS, or the models that come with the app."""
    default = Path(__file__).resolve().parents[2] / "assets" / "models"
    return Path(environment.text("PLAYGROUND_MODELS") or default)


def catalogue() -> dict[str, str]:
    """Name -> family of every model that may be used, in the order of FAMILIES. Raises ModelError."""
    found, allowed = models(), environment.text("PLAYGROUND_ALLOWED_MODELS")
    if not allowed:
        return found
    names = [name.strip() for name in allowed.split(",")]
    unknown = next((name for name in names if name not in found), None)
    if unknown is not None:
        raise ModelError(f"PLAYGROUND_ALLOWED_MODELS names {unknown[:40]!r}; there are {', '.join(found) or 'none'}.")
    return {name: family for name, family in found.items() if name in names}


def models() -> dict[str, str]:
    """As `catalogue`, of every model folder: also those that only judge and refine."""
    return _found(models_folder())


@cache
def _found(folder: Path) -> dict[str, str]:
    found = {}
    for config in sorted(folder.glob("*/config.json")):
        found[config.parent.name] = _read_config(config)["family"]
    return dict(sorted(found.items(), key=lambda item: list(FAMILIES).index(item[1])))


def load(name: str) -> Model:
    """The named model, loaded once per process. Raises ModelError."""
    if name not in models():
        raise ModelError(f"There is no model {name!r}; there are {', '.join(models())}.")
    with _loading:  # two visitors who arrive together wait for one load
        return _load_cached(models_folder() / name)


def reader(model: Model) -> Model:
    """The autoregressive model with the same tokens as `model`: the second opinion of `refine` and the quick judge.
    Raises ModelError."""
    for name, family in models().items():
        if family == "autoregressive" and (found := load(name)).tokenizer.same_tokens(model.tokenizer):
            return found
    raise ModelError(f"There is no autoregressive model with the tokens of {model.name}, which refine needs.")


_loading = threading.Lock()


@cache
def _load_cached(folder: Path) -> Model:
    return load_folder(folder)


def load_folder(folder: Path, device: str | None = None, dtype: str | None = None) -> Model:
    """Load config.json, tokenizer.json and model.safetensors; never a pickle. Raises ModelError with a sentence."""
    config = _read_config(folder / "config.json")
    device = device or chosen_device()
    if device == "meta":
        raise ModelError("PLAYGROUND_DEVICE is 'meta', which cannot compute.")
    dtype = checked_dtype(dtype, device)
    if device == "cpu":
        memory.keep_freed()
    weights = _read_weights(folder / "model.safetensors")
    try:
        tokenizer = Tokenizer(folder / "tokenizer.json")
    except Exception as error:  # the tokenizers library raises bare Exception
        raise ModelError(f"{folder.name}: tokenizer.json cannot be read ({error}).") from None
    if tokenizer.vocab_size != config["shape"]["vocab_size"]:
        raise ModelError(
            f"{folder.name}: tokenizer.json has {tokenizer.vocab_size} tokens, "
            f"config.json says {config['shape']['vocab_size']}."
        )
    try:
        with torch.device("meta"):
            denoiser = FAMILIES[config["family"]](**config["shape"])
    except (TypeError, ValueError) as error:
        raise ModelError(f"{folder.name}: config.json's shape does not fit the family ({error}).") from None
    _check_shapes(folder.name, denoiser.state_dict(), weights)
    cast = {k: w.to(torch.float32 if k in KEPT_FLOAT32 else DTYPES[dtype]) for k, w in weights.items()}
    denoiser.load_state_dict(cast, assign=True)
    try:
        denoiser = denoiser.to(device).eval().requires_grad_(False)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"PLAYGROUND_DEVICE is {device!r}, which cannot be used here ({error}).") from None
    return Model(folder.name, denoiser, tokenizer, config)


def checked_dtype(dtype: str | None, device: str) -> str:
    """`dtype`, PLAYGROUND_DTYPE or what suits the device; raises ModelError."""
    dtype = dtype or environment.text("PLAYGROUND_DTYPE") or best_dtype(device)
    if dtype not in DTYPES:
        raise ModelError(f"PLAYGROUND_DTYPE is {dtype!r}; allowed: {', '.join(DTYPES)}.")
    return dtype


def chosen_device() -> str:
    """PLAYGROUND_DEVICE, or the best one."""
    return environment.text("PLAYGROUND_DEVICE") or best_device()


def best_device() -> str:
    """cuda, npu (where torch_npu is installed), mps or cpu: the first that works here."""
    if torch.cuda.is_available():
        return "cuda"
    try:
        import torch_npu  # noqa: F401  (registers torch.npu)

        if torch.npu.is_available():
            return "npu"
    except ImportError:
        pass
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str) -> str:
    """bfloat16 where the device multiplies it natively (CPUs: AVX512-BF16 or AMX), else float32."""
    if device == "cpu":
        native = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
        return "bfloat16" if native else "float32"
    return "bfloat16" if device != "cuda" or torch.cuda.is_bf16_supported() else "float32"


def _read_config(path: Path) -> dict:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path.parent.name}: config.json cannot be read ({error}).") from None
    family, shape = (config.get(key) for key in ("family", "shape")) if isinstance(config, dict) else (None, None)
    if not (isinstance(family, str) and family in FAMILIES and isinstance(shape, dict)):
        raise ModelError(
            f"{path.parent.name}: config.json needs a family ({', '.join(FAMILIES)}) and a shape; "
            f"its family is {family!r}."
        )
    if "vocab_size" not in shape or not all(type(size) is int and size > 0 for size in shape.values()):
        raise ModelError(f"{path.parent.name}: config.json's shape needs whole numbers above 0, vocab_size among them.")
    return config


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path.parent.name}: model.safetensors is missing, cut short or not a safetensors file ({error})."
        ) from None


def _check_shapes(name: str, wanted: dict, found: dict) -> None:
    """Strict: every tensor there, no other, each of its shape."""
    missing, extra = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    if missing or extra:
        said = [f"lacks {len(missing)} tensors such as {missing[0]}"] if missing else []
        said += [f"has {len(extra)} unknown ones such as {extra[0]}"] if extra else []
        raise ModelError(f"{name}: model.safetensors {' and '.join(said)}; it belongs to another model.")
    for key, tensor in wanted.items():
        if tensor.shape != found[key].shape:
            raise ModelError(
                f"{name}: {key} has shape {list(found[key].shape)}, config.json asks for {list(tensor.shape)}."
            )
