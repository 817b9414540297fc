"""Noise schedules: how the noise level falls as a run goes from u = 1 (noise) to u = 0 (text).

Each is written as its signal variance alpha^2 at time t (variance preserving: alpha^2 + sigma^2 = 1) and
the inverse. Continuous samplers read alpha, sigma and the log-SNR; masked ones read the mask rate 1 - alpha^2.

A continuous denoiser is trained only where tokens are undecided: above the noise level
`clean_log_nsr` each token is already settled, past `NOISE_LOG_NSR` nothing is left to see. `at(u)`
therefore spends u in [0, 1] on that part of the schedule alone.
"""

import math
from abc import ABC, abstractmethod

NOISE_LOG_NSR = 12.0  # log noise-to-signal ratio at u = 1 for the schedules that would go on to infinity


def clean_log_nsr(vocab_size: int, width: int, error: float = 0.1) -> float:
    """g* = -2 ln(C / sqrt(De)), C = sqrt(2 ln(2 (V - 1) / error)): below it the nearest embedding is the right
    one but for `error` (union bound over V embeddings of norm sqrt(De); LangFlow, S-FLM). 1.73 for V 4096, De 128."""
    return -2 * math.log(math.sqrt(2 * math.log(2 * (vocab_size - 1) / error)) / math.sqrt(width))


class Schedule(ABC):
    """Signal variance over time. `clean`, `noise`: the range of log noise-to-signal ratios a run covers."""

    name: str

    def __init__(self, clean: float = 1.73, noise: float = NOISE_LOG_NSR):
        self.clean, self.noise = clean, noise
        self._first, self._last = (self.time(_sigmoid(-g)) for g in (clean, noise))

    @abstractmethod
    def signal(self, t: float) -> float:
        """alpha^2 at time t in [0, 1]; falls from 1 to 0."""

    @abstractmethod
    def time(self, signal: float) -> float:
        """The t at which alpha^2 is `signal`."""

    def mask_rate(self, u: float) -> float:
        """Share of cells masked at u in [0, 1], exactly 0 and 1 at the ends."""
        return 1 - self.signal(u)

    def log_nsr(self, u: float) -> float:
        """g = ln(sigma^2 / alpha^2) at u in [0, 1]; from `clean` at 0 to `noise` at 1."""
        signal = self.signal(self._first + u * (self._last - self._first))
        return min(max(_logit(1 - signal), self.clean), self.noise)

    def log_snr(self, u: float) -> float:
        return -self.log_nsr(u)

    def alpha(self, u: float) -> float:
        return math.sqrt(_sigmoid(-self.log_nsr(u)))

    def sigma(self, u: float) -> float:
        return math.sqrt(_sigmoid(self.log_nsr(u)))


class Linear(Schedule):
    """alpha^2 = 1 - t. For masks: a cell is masked with probability t (LLaDA, MDLM's log-linear)."""

    name = "linear"

    def signal(self, t):
        return 1 - t

    def time(self, signal):
        return 1 - signal


class Cosine(Schedule):
    """alpha = cos(pi t / 2) (Nichol & Dhariwal, arXiv 2102.09672)."""

    name = "cosine"

    def signal(self, t):
        return 1 - math.sin(math.pi * t / 2) ** 2

    def time(self, signal):
        return 2 / math.pi * math.acos(math.sqrt(signal))


class Sigmoid(Schedule):
    """alpha^2 falls as a logistic curve from -3 to 3 (Jabri et al., arXiv 2212.11972)."""

    name = "sigmoid"
    _edge = 3.0

    def signal(self, t):
        low, high = _sigmoid(-self._edge), _sigmoid(self._edge)
        return (high - _sigmoid(self._edge * (2 * t - 1))) / (high - low)

    def time(self, signal):
        low, high = _sigmoid(-self._edge), _sigmoid(self._edge)
        return (_logit(high - signal * (high - low)) / self._edge + 1) / 2


class Sqrt(Schedule):
    """alpha^2 = 1 - sqrt(t): noise comes early (Diffusion-LM, arXiv 2205.14217, without its offset)."""

    name = "sqrt"

    def signal(self, t):
        return 1 - math.sqrt(t)

    def time(self, signal):
        return (1 - signal) ** 2


class Learned(Schedule):
    """g is the u-quantile of a Gumbel(loc, scale), fitted in training so that the loss is linear in u (LangFlow).

    A masked denoiser is trained with the linear schedule; for it, this is that one.
    """

    name = "learned"
    _tail = 1e-4  # the quantile left out at the noise end

    def __init__(self, clean: float = 1.73, loc: float = 3.0, scale: float = 1.0):
        self.clean, self.loc, self.scale = clean, loc, scale
        self._least = max(math.exp(-math.exp(-(clean - loc) / scale)), 1e-6)
        self.noise = self.log_nsr(1.0)

    def signal(self, t):
        return 1 - t

    def time(self, signal):
        return 1 - signal

    def log_nsr(self, u):
        q = self._least + (1 - self._tail - self._least) * u
        return max(self.loc - self.scale * math.log(-math.log(q)), self.clean)


SCHEDULES = {cls.name: cls for cls in (Learned, Linear, Cosine, Sigmoid, Sqrt)}


def schedule_for(name: str, denoiser) -> Schedule:
    """The named schedule over the range of noise levels `denoiser` was trained on."""
    if denoiser.family != "continuous":
        return SCHEDULES[name]()
    clean = clean_log_nsr(denoiser.vocab_size, denoiser.embedding_width)
    learned = Learned(clean, float(denoiser.schedule_loc), float(denoiser.schedule_log_scale.exp()))
    return learned if name == "learned" else SCHEDULES[name](clean, learned.noise)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _logit(p: float) -> float:
    return math.log(p / (1 - p)) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)
