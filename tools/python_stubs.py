"""Writes the stubs of the Python package's modules whose functions are made from the table of ops.

    python3 tools/python_stubs.py          (with the package installed, or python/ on PYTHONPATH)
"""

import inspect
import re
from pathlib import Path
from typing import Any

import workalike

SEVERAL = {"clip_norm", "hessian", "hvp", "jacobian", "meshgrid", "nonzero", "slogdet", "split", "unravel_index", "vjp"}
GRAD = '''def grad(
    cost: Variable,
    wrt: Variable | list[Variable] | tuple[Variable, ...],
    *,
    consider_constant: list[Variable] | None = None,
    disconnected_inputs: str = "raise",
) -> Any: ...
'''


def parameters(function):
    """The parameters of a function, as a stub has them."""
    made = inspect.signature(function)
    annotated = [parameter.replace(annotation=Any) for parameter in made.parameters.values()]
    return str(made.replace(parameters=annotated))[1:-1].replace("typing.Any", "Any").replace("'", '"')


def methods(text):
    """The stub of the native module, with the parameters of methods that Python adds to its classes."""

    def signed(match):
        name = match[1]
        owner = workalike.RandomStreams if hasattr(workalike.RandomStreams, name) else workalike.Variable
        given = re.sub(r"^self: Any(, /)?", "self", parameters(getattr(owner, name)))
        return f"    def {name}({given}) -> Variable: ..."

    return re.sub(r"    def (\w+)\(self, \*args: Any, \*\*kwargs: Any\) -> Variable: \.\.\.", signed, text)


def stub(module):
    """The text of a module's stub."""
    lines = [f'"""{module.__doc__.strip()}"""', "", "from typing import Any", "", "from ._workalike import Variable"]
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in module.__all__), "]", ""]
    for name in sorted(module.__all__):
        if name == "grad":
            lines += GRAD.rstrip().split("\n")
            continue
        result = "tuple[Variable, ...]" if name in SEVERAL else "Variable"
        lines.append(f"def {name}({parameters(getattr(module, name))}) -> {result}: ...")
    return "\n".join(lines) + "\n"


def stubs():
    """The stubs by the names of their files."""
    modules = ("fft", "linalg", "losses", "ops", "schedules")
    return {f"{name}.pyi": stub(getattr(workalike, name)) for name in modules}


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "python" / "workalike"
    for name, text in stubs().items():
        (folder / name).write_text(text)
    native = folder / "_workalike.pyi"
    native.write_text(methods(native.read_text()))
