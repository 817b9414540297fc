"""Whatever the app is installed with may be used and passed on by anyone."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
ALLOWED = re.compile(
    r"(Apache|BSD|0BSD|BSL-1\.0|CC0-1\.0|CNRI-Python|ISC|MIT|MPL|Mozilla Public|PSF|Python Software Foundation|Zlib)\b"
)
NVIDIA = re.compile(r"nvidia-|cuda-|triton$")  # what a build of torch with CUDA brings; docs/dependencies.md says so


def required(file: str) -> list[Requirement]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def name_of(requirement: Requirement) -> str:
    return re.sub(r"[-_.]+", "-", requirement.name).lower()


def installed(waiting: list[Requirement]) -> dict[str, Distribution]:
    """Every package that these need here, theirs in turn too, by name."""
    found, seen = {}, set()
    while waiting:
        requirement = waiting.pop()
        name, extras = name_of(requirement), {"", *requirement.extras}
        if (name, *sorted(extras)) in seen or NVIDIA.match(name):
            continue
        seen.add((name, *sorted(extras)))
        found[name] = distribution(name)
        needed = map(Requirement, found[name].requires or ())
        waiting += [r for r in needed if not r.marker or any(r.marker.evaluate({"extra": e}) for e in extras)]
    return found


def licence(package: Distribution) -> str:
    """As the package states it: an SPDX expression, else its classifiers, else its text's first line."""
    told = package.metadata
    classes = [c.split(" :: ")[-1] for c in told.get_all("Classifier") or () if c.startswith("License ::")]
    return told.get("License-Expression") or " AND ".join(classes) or (told.get("License") or "unknown").split("\n")[0]


def is_allowed(stated: str) -> bool:
    """Whether every part that has to be kept is allowed, and one part of a choice."""
    parts = re.split(r" AND |;", stated)
    return all(any(ALLOWED.match(choice.strip(" ()")) for choice in part.split(" OR ")) for part in parts)


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-mcp.txt"])
def test_every_package_has_a_licence_that_lets_it_be_passed_on(file):
    packages = installed(required(file))
    assert len(packages) > len(required(file))
    refused = {name: licence(package) for name, package in packages.items() if not is_allowed(licence(package))}
    assert not refused


@pytest.mark.parametrize(
    ("stated", "allowed"),
    [
        ("MIT", True), ("Apache-2.0 OR GPL-3.0", True), ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("Mozilla Public License 2.0 (MPL 2.0)", True), ("Apache-2.0 WITH LLVM-exception AND MIT", True),
        ("GPL-3.0", False), ("MIT AND GPL-3.0", False), ("unknown", False), ("Proprietary", False),
    ],
)  # fmt: skip
def test_a_licence_is_read_part_by_part(stated, allowed):
    assert is_allowed(stated) is allowed


def test_a_package_that_is_not_there_is_an_error():
    with pytest.raises(PackageNotFoundError):
        installed([Requirement("no-such-package")])


def test_every_requirement_is_listed_with_what_it_is_for():
    listed = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    names = {name_of(r) for path in ROOT.glob("requirements*.txt") for r in required(path.name)}
    rows = " ".join(line.split("|")[1] for line in listed.splitlines() if line.startswith("| "))
    missing = {name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", rows)}
    assert not missing
