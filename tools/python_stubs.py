"""Writes the stubs of the Python package's modules whose functions are made from the table of ops.

    python3 tools/python_stubs.py          (with the package installed, or python/ on PYTHONPATH)
"""

from pathlib import Path

import workalike

SEVERAL = {"clip_norm", "hessian", "hvp", "jacobian", "meshgrid", "slogdet", "split", "vjp"}
GRAD = '''def grad(
    cost: Variable,
    wrt: Variable | list[Variable] | tuple[Variable, ...],
    *,
    consider_constant: list[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any: ...
'''


def stub(module):
    """The text of a module's stub."""
    lines = [f'"""{module.__doc__.strip()}"""', "", "from typing import Any", "", "from ._workalike import Variable"]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in module.__all__), "]", ""]
    for name in sorted(module.__all__):
        if name == "grad":
            lines += GRAD.rstrip().split("\n")
            continue
        result = "tuple[Variable, ...]" if name in SEVERAL else "Variable"
        lines.append(f"def {name}(*args: Any, **kwargs: Any) -> {result}: ...")
    return "\n".join(lines) + "\n"


def stubs():
    """The stubs by the names of their files."""
    modules = ("fft", "linalg", "losses", "ops", "schedules")
    return {f"{name}.pyi": stub(getattr(workalike, name)) for name in modules}


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "python" / "workalike"
    for name, text in stubs().items():
        (folder / name).write_text(text)
