"""What the column "Python" of docs/theano.md has can be written."""

import re
from pathlib import Path

import numpy as np

import workalike as wa

PAGE = Path(__file__).parent.parent.parent / "docs" / "theano.md"


def spellings():
    """Code of the column; where it says "the same", that of the first one too."""
    found, column = [], None
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            column = None
        elif column is None:
            column = cells.index("Python")
        else:
            texts = [cells[0], cells[column]] if cells[column].startswith("the same") else [cells[column]]
            found += [code for text in texts for code in re.findall(r"`([^`]+)`", text)]
    # A word alone is a name that the text speaks of; variables of the environment are not Python.
    return [code for code in found if re.search(r"\W", code) and not code.startswith("WORKALIKE_")]


def worlds(path):
    """What the names in the code stand for: matrices, vectors and so on, or the arrays of a call."""
    x, z, w, b = wa.matrix("x"), wa.vector("z"), wa.shared(np.ones((4, 3), "f"), "w"), wa.shared(np.ones(3, "f"), "b")
    i, n = wa.scalar("i", "int64"), wa.scalar("n", "int64")
    s, lr, h0 = wa.scalar("s"), wa.scalar("lr"), wa.scalar("h0")
    cost, streams = ((x @ w + b) ** 2).sum(), wa.RandomStreams(1)
    modules = {"np": np, "wa": wa, "path": path}
    numbers = {"seed": 1, "key": 7, "m": 3, "k": 1, "low": 0, "high": 3, "avg": 0, "std": 1, "scale": 2.0, "df": 1}
    numbers |= {"lam": 3.0, "classes": 3, "dtype": "float64", "strides": (2, 2), "size": (4,), "shape": 2.0, "d": 2}
    arrays = {"value": np.ones((4, 3), "f"), "mean": np.zeros(2, "f"), "cov": np.eye(2, dtype="f"), "alpha": z}
    bodies = {"fn": lambda *values: values[0], "cond": lambda v: v < 3, "body": lambda v: v + 1, "function": np.sin}
    bodies |= {"branches": [lambda: s, lambda: lr]}
    labels = modules | numbers | arrays | bodies
    labels |= {"x": x, "y": wa.vector("y", "int64"), "z": x, "w": w, "b": b, "a": s, "i": i, "n": n, "c": x.sum() > 0}
    labels |= {"cost": cost, "streams": streams, "p": x, "lp": x, "h": z, "h0": h0, "xs": z, "s": s, "lr": lr}
    labels |= {"e": streams.exponential(1, (4,)), "mask": x > 0, "order": wa.arange(3), "weights": z, "logits": z}
    labels |= {"gradients": [x, z], "gamma": z, "beta": z, "w2": w + 1, "g": x}
    matrices = labels | {"a": x, "b": wa.matrix("b"), "y": wa.matrix("y"), "c": x > 0, "d": wa.matrix("d")}
    vectors = labels | {"x": z, "y": z, "z": z, "p": 0.3, "a": 2.0, "b": n, "n": 5, "k": 2, "c": s}
    scalars = labels | {"x": s, "y": lr, "z": h0, "a": 0.2, "b": 0.4, "xs": x, "p": 0.3, "shape": (2, 3)}
    images = labels | {"x": wa.tensor("x", "float32", (None, 2, 9, 9)), "w": np.ones((2, 2, 3, 3), "f")}
    compiled = [matrices | {"y": y} for y in (b.sum(), cost, cost * lr)]
    f = wa.function([x, wa.In(lr, value=1.0)], x * lr, updates=[(w, w + 1)])
    ones, several = np.ones((2, 3), "f"), np.ones((2, 2, 3), "f")
    calls = modules | {"f": f.fork(), "g": f, "sim": f.optimize("host"), "bundle": wa.Bundle(train=f), "w": w}
    calls |= {"x": ones, "a": ones, "xs": several, "y": 0.5, "n": 2, "name": "host", "v": np.ones((4, 3), "f")}
    calls |= {"data": f.to_bytes(), "array": wa.DeviceArray(ones, "host")}
    return [labels, matrices, vectors, scalars, images, *compiled, calls, {"f": wa.function([s], s)}]


def refused(code, worlds):
    """Why no world has the code; nothing if one has it."""
    text = re.sub(r'"(cuda:\d|opencl)"', '"host"', code)
    text = f"wa.function([z], x, {text})" if re.match(r"\w+=", text) else text
    errors = []
    for names in worlds:
        try:
            eval(text, dict(names))
        except Exception as error:
            errors.append(f"    {type(error).__name__}: {error}")
        else:
            return []
    return [code, *errors]


def test_the_spellings_can_be_written(tmp_path):
    known, codes = worlds(tmp_path / "file"), spellings()
    assert len(codes) > 150 and refused("wa.no_such_name(x)", known) and refused("x.sum(no_such_option=1)", known)
    wrong = [line for code in codes for line in refused(code, known)]
    assert not wrong, "\n".join(["not Python:", *wrong])
