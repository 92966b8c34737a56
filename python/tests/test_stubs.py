"""The stubs that are made from the table of ops."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_stubs_are_those_of_the_functions():
    spec = importlib.util.spec_from_file_location("python_stubs", ROOT / "tools" / "python_stubs.py")
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    for name, text in generator.stubs().items():
        written = (ROOT / "python" / "workalike" / name).read_text()
        assert written == text, f"{name}: run tools/python_stubs.py"
