"""`python -m playground.training.real --corpus DIR`: the figures of held-out real texts, which the page's comparisons
draw as a line. Prints JSON for assets/examples/real.json; run it again when the autoregressive model changes."""

import argparse
import hashlib
import json
from dataclasses import asdict

from playground import judges
from playground.denoisers import zoo
from playground.studies.figures import Figures, Spread
from playground.studies.summary import METRICS, QUALITY
from playground.training.data import Corpus

LENGTHS = (16, 32, 64, 128, 256, 512)


def measured(corpus: Corpus, count: int, judge: judges.Judge, lengths: tuple[int, ...] = LENGTHS) -> dict:
    """For each length in tokens, the spread of each of QUALITY over the openings of `count` held-out documents."""
    found = {}
    for length in lengths:
        rows = corpus.validation_rows(count, length).tolist()
        figures = [asdict(Figures.of(corpus.tokenizer.decode(row), "", judge)) for row in rows]
        found[str(length)] = {
            name: asdict(Spread.of((each[name] for each in figures), METRICS[name].geometric)) for name in QUALITY
        }
    return found


def fingerprint(model: str) -> str:
    """Which weights these are: the beginning of their SHA-256."""
    return hashlib.sha256((zoo.models_folder() / model / "model.safetensors").read_bytes()).hexdigest()[:16]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--file", default="tinystories_en.txt")
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    judge = judges.bundled()
    corpus = Corpus.read(options.corpus, judge.model.tokenizer, {options.file: 1.0})
    about = {"judge": judge.name, "weights": fingerprint(judge.name), "texts": f"held-out openings of {options.file}"}
    print(json.dumps(about | {"lengths": measured(corpus, options.count, judge)}, indent=1))


if __name__ == "__main__":
    main()
