"""The samples of the documentation run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SAMPLES = [
    (page, at, sample)
    for page in ("docs/python.md", "README.md")
    for at, sample in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
]


@pytest.mark.parametrize("page, at, sample", SAMPLES, ids=[f"{page}-{at}" for page, at, _ in SAMPLES])
def test_samples(page, at, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(sample, page, "exec"), {"__name__": "__main__"})


def test_there_are_samples():
    assert len(SAMPLES) >= 3
