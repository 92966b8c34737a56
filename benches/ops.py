"""Times each op and the same op of NumPy (SciPy for special functions), in turn, in one run, on the same data; the best time of each is reported.

python3 benches/ops.py [--sizes 1000,1000000] [--dtypes float32,int8] [--only REGEX] [--rounds 3] [--worst 40] [--out FILE.json]

Build ours first: cargo build --release -p workalike-ops. Ours reads shared variables and lends its result, NumPy reads arrays and
writes with `out=` where it can. Results are compared too, loosely: a row that is far off says so.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import timeit

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMBERS = INTEGERS + FLOATS
ALL = ["bool"] + NUMBERS


def data(kind, dtype, shape, rng):
    """Random elements: normal, or small integers. `kind` is what the op requires."""
    dtype = np.dtype(dtype)
    if kind == "mask":
        return rng.random(shape) < 0.5
    if kind.startswith("index"):
        return rng.integers(0, int(kind[5:]), shape)
    if kind == "permutation":
        return rng.permutation(int(np.prod(shape))).reshape(shape)
    if dtype == bool:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low, high = {"any": (-100 if dtype.kind == "i" else 0, 100), "positive": (1, 100), "shift": (0, dtype.itemsize * 8), "power": (0, 6),
                     "wide": (np.iinfo(dtype).min, np.iinfo(dtype).max), "near1": (1, 3), "unit": (0, 2), "above1": (1, 100)}[kind]
        return rng.integers(low, high, shape, dtype=dtype)
    x = rng.standard_normal(shape)
    x = {"any": lambda: x, "wide": lambda: x, "positive": lambda: np.abs(x) + 0.1, "unit": lambda: np.tanh(x) * 0.999,
         "open": lambda: 0.5 + 0.499 * np.tanh(x), "above1": lambda: 1 + np.abs(x), "power": lambda: x, "negative": lambda: -np.abs(x) - 0.01,
         "near1": lambda: 1 + x * 1e-4, "shift": lambda: x}[kind]()
    x = x.astype(dtype)
    if kind == "positive":
        x = np.maximum(x, dtype.type(0.05))
    return x


class Case:
    """An op of ours, NumPy's expression of the arguments a, b, c and the result o, the kinds and shapes of the arguments."""

    def __init__(self, op, theirs, kinds, dtypes, shapes=None, loose=False, sizes=None, args=None):
        self.op, self.theirs, self.kinds, self.dtypes = op, theirs, kinds, dtypes
        self.shapes = shapes or (lambda n: [(n,)] * len(kinds))
        self.loose, self.sizes, self.args = loose, sizes, args


def square(n):
    rows = {1000: 25, 1000000: 1000}.get(n, max(1, int(math.isqrt(n))))
    return (rows, n // rows)


def cases():
    one = lambda names, kind, dtypes, where="np": [Case(n, f"{where}.{n}(a, out=o)", [kind], dtypes) for n in names.split()]
    two = lambda names, kinds, dtypes, where="np": [Case(n, f"{where}.{n}(a, b, out=o)", kinds, dtypes) for n in names.split()]
    signed = [d for d in NUMBERS if d[0] != "u"]
    rows = []
    rows += two("add multiply", ["any", "any"], ALL) + two("subtract", ["any", "any"], NUMBERS)
    rows += two("true_divide", ["any", "positive"], NUMBERS) + two("floor_divide remainder fmod", ["any", "positive"], NUMBERS)
    rows += two("power", ["positive", "power"], NUMBERS)
    rows += one("negative", "any", signed) + one("absolute", "any", NUMBERS) + one("sign", "any", NUMBERS) + one("reciprocal", "positive", FLOATS)
    rows += [Case("sqr", "np.square(a, out=o)", ["any"], NUMBERS), Case("clip", "np.clip(a, b, c, out=o)", ["any", "any", "any"], NUMBERS)]
    rows += one("sqrt", "positive", FLOATS) + one("floor ceil trunc rint", "any", FLOATS) + two("hypot", ["any", "any"], FLOATS)
    rows += one("exp exp2 expm1 cbrt sin cos tan arctan sinh cosh tanh arcsinh deg2rad rad2deg", "any", FLOATS)
    rows += one("log log2 log10 log1p", "positive", FLOATS) + one("arcsin arccos arctanh", "unit", FLOATS) + one("arccosh", "above1", FLOATS)
    rows += two("arctan2 logaddexp copysign", ["any", "any"], FLOATS) + two("nextafter", ["any", "any"], ["float32", "float64"])
    rows += two("maximum minimum fmax fmin", ["any", "any"], NUMBERS)
    rows += two("equal not_equal less less_equal greater greater_equal", ["any", "any"], ALL)
    rows += one("isnan isinf isfinite signbit", "any", FLOATS)
    rows += two("logical_and logical_or logical_xor", ["any", "any"], ALL) + one("logical_not", "any", ALL)
    rows += two("bitwise_and bitwise_or bitwise_xor", ["any", "any"], ["bool"] + INTEGERS) + one("invert", "any", ["bool"] + INTEGERS)
    rows += two("left_shift right_shift", ["any", "shift"], INTEGERS)
    rows += [Case("where", "np.where(a, b, c)", ["mask", "any", "any"], ALL)]
    rows += one("erf erfc erfcx gammaln digamma i0 i1 j0 j1", "any", ["float32", "float64"], "sp") + one("gamma", "positive", ["float32", "float64"], "sp")
    rows += one("erfinv", "unit", ["float32", "float64"], "sp") + one("erfcinv ndtri", "open", ["float32", "float64"], "sp")
    rows += two("xlogy xlog1py", ["any", "positive"], ["float32", "float64"], "sp")
    rows += [Case("sigmoid", "sp.expit(a, out=o)", ["any"], FLOATS)]
    for to in ["float32", "float64", "int32", "bool", "float16", "int8"]:
        rows += [Case(f"cast:{to}", "np.copyto(o, a, casting='unsafe')", ["any"], [d for d in ALL if d != to])]

    both = lambda n: [square(n)]
    for axis in ["", ":0", ":1"]:
        spec = f"axis={axis[1:] or None}"
        rows += [Case(f"{f}{axis}", f"np.{f}(a, {spec}, out=o)", ["any"], ALL, both) for f in ("sum", "any", "all", "argmax", "argmin")]
        rows += [Case(f"{f}{axis}", f"np.{f}(a, {spec}, out=o)", ["any"], NUMBERS, both) for f in ("max", "min", "ptp")]
        rows += [Case(f"prod{axis}", f"np.prod(a, {spec}, out=o)", ["near1"], NUMBERS, both)]
        rows += [Case(f"{f}{axis}", f"np.{f}(a, {spec}, out=o)", ["any"], NUMBERS, both) for f in ("mean", "var", "std")]
        rows += [Case(f"count_nonzero{axis}", f"np.count_nonzero(a, {spec})", ["any"], ALL, both)]
        rows += [Case(f"{f}{axis}", f"np.{f}(a, {spec}, out=o)", ["any"], FLOATS, both) for f in ("nansum", "nanmax", "nanmean")]
        rows += [Case(f"logsumexp{axis}", f"sp.logsumexp(a, {spec})", ["any"], ["float32", "float64"], both)]
        rows += [Case(f"norm{axis}", f"np.linalg.norm(a, {spec})", ["any"], ["float32", "float64"], both)]
        rows += [Case(f"median{axis}", f"np.median(a, {spec})", ["wide"], NUMBERS, both)]
    for axis in ["", ":0"]:
        rows += [Case(f"quantile{axis}", f"np.quantile(a, 0.3, axis={axis[1:] or None})", ["wide"], ["float32", "float64"], both)]
    flat = lambda n: [(n,)]
    for shape, axis in [(flat, -1), (both, 0), (both, 1)]:
        s = f":{axis}"
        rows += [Case(f"cumsum{s}", f"np.cumsum(a, {axis}, out=o)", ["any"], ALL, shape)]
        rows += [Case(f"cumprod{s}", f"np.cumprod(a, {axis}, out=o)", ["near1"], NUMBERS, shape, loose=True)]
        rows += [Case(f"cummax{s}", f"np.maximum.accumulate(a, {axis}, out=o)", ["any"], NUMBERS, shape)]
        rows += [Case(f"sort{s}", f"np.sort(a, {axis})", ["wide"], ALL, shape)]
        rows += [Case(f"argsort{s}", f"np.argsort(a, {axis})", ["wide"], NUMBERS, shape, loose=True)]
        rows += [Case(f"diff{s}", f"np.diff(a, 1, {axis})", ["any"], NUMBERS, shape)]
    rows += [Case("topk:10", "np.sort(np.partition(a, a.size - 10)[-10:])[::-1]", ["wide"], NUMBERS)]
    rows += [Case("argtopk:10", "np.argpartition(a, a.size - 10)[-10:]", ["wide"], NUMBERS, loose=True)]
    some = ["bool", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
    index = lambda kind: (lambda n: [(n,), (n,), (n,)][: 2 if kind == "take" else 3])
    for n in (1000, 1000000):
        rows += [Case("take", "np.take(a, b, out=o, mode='clip')", ["any", f"index{n}"], some, index("take"), sizes=[n], args=[None, "int64"])]
        rows += [Case("take:0", "np.take(a, b, axis=0)", ["any", f"index{square(n)[0]}"], some, lambda n: [square(n), (square(n)[0],)], sizes=[n],
                      args=[None, "int64"])]
        rows += [Case("take:1", "np.take(a, b, axis=1)", ["any", f"index{square(n)[1]}"], some, lambda n: [square(n), (square(n)[1],)], sizes=[n],
                      args=[None, "int64"])]
        rows += [Case("put", "o = a.copy(); o[b] = c", ["any", f"index{n}", "any"], some, index("put"), sizes=[n], args=[None, "int64", None], loose=True)]
        rows += [Case("add_at", "o = a.copy(); np.add.at(o, b, c)", ["any", f"index{n}", "any"], some[1:], index("put"), sizes=[n],
                      args=[None, "int64", None], loose=True)]
        rows += [Case("take_along_axis:1", "np.take_along_axis(a, b, 1)", ["any", f"index{square(n)[1]}"], some, lambda n: [square(n)] * 2, sizes=[n],
                      args=[None, "int64"])]
    rows += [Case("mask", "a[b]", ["any", "mask"], some, args=[None, "bool"]), Case("nonzero", "np.flatnonzero(a)", ["any"], some)]
    rows += [Case("searchsorted", "np.searchsorted(a, b)", ["sorted", "wide"], ["int32", "int64", "float32", "float64"])]
    rows += [Case("slice", "np.copyto(o, a[::2])", ["any"], some), Case("copy_transposed", "np.copyto(o, a.T)", ["any"], ALL, both)]
    pair = lambda n: [square(n // 2)] * 2
    for axis in (0, 1):
        rows += [Case(f"concatenate:{axis}", f"np.concatenate((a, b), {axis}, out=o)", ["any", "any"], some, pair)]
        rows += [Case(f"stack:{axis}", f"np.stack((a, b), {axis}, out=o)", ["any", "any"], some, pair)]
        rows += [Case(f"repeat:{axis}", f"np.repeat(a, 2, {axis})", ["any"], some, both)]
        rows += [Case(f"flip:{axis}", f"np.copyto(o, np.flip(a, {axis}))", ["any"], some, both)]
    rows += [Case("roll:7", "np.roll(a, 7, a.ndim - 1)", ["any"], some, both), Case("roll:7", "np.roll(a, 7)", ["any"], some)]
    rows += [Case("tile", "np.tile(a, (2, 2))", ["any"], some, both)]
    rows += [Case(f, f"np.{f}(a)", ["any"], some, both) for f in ("tril", "triu")] + [Case("trace", "np.trace(a)", ["any"], some[1:], both)]
    for mode in ("constant", "edge", "reflect", "wrap", "symmetric"):
        rows += [Case(f"pad:{mode}", f"np.pad(a, (3, 4), '{mode}')", ["any"], some[1:], both)]
    wide = ["float32", "float64"]
    products = NUMBERS
    matrices = lambda n: [(10, 10)] * 2 if n == 1000 else [(100, 100)] * 2
    rows += [Case("dot", "np.dot(a, b, out=o)", ["any", "any"], products, matrices), Case("matmul", "np.matmul(a, b, out=o)", ["any", "any"], products, matrices)]
    rows += [Case("dot", "np.dot(a, b)", ["any", "any"], products)]
    rows += [Case("dot", "np.dot(a, b, out=o)", ["any", "any"], products, lambda n: [square(n), (square(n)[1],)])]
    rows += [Case("dot", "np.dot(a, b, out=o)", ["any", "any"], wide, lambda n: [(square(n)[0],), square(n)])]
    rows += [Case("matmul", "np.matmul(a, b, out=o)", ["any", "any"], products, lambda n: [(1000, 8, 8)] * 2, sizes=[1000000])]
    rows += [Case("matmul", "np.matmul(a, b, out=o)", ["any", "any"], wide, lambda n: [(32, 64, 64)] * 2, sizes=[1000000])]
    rows += [Case("matmul", "np.matmul(a, b, out=o)", ["any", "any"], wide, lambda n: [(10, 4, 4)] * 2, sizes=[1000])]
    rows += [Case("outer", "np.outer(a, b, out=o)", ["any", "any"], NUMBERS, lambda n: [(square(n)[0],), (square(n)[1],)])]
    rows += [Case("inner", "np.inner(a, b)", ["any", "any"], wide, matrices), Case("vecdot", "np.vecdot(a, b, out=o)", ["any", "any"], wide, lambda n: [square(n)] * 2)]
    rows += [Case("kron", "np.kron(a, b)", ["any", "any"], wide, lambda n: [(5, 5)] * 2 if n == 1000 else [(31, 32)] * 2)]
    rows += [Case("einsum:ij,ij->i", "np.einsum('ij,ij->i', a, b, out=o)", ["any", "any"], wide, lambda n: [square(n)] * 2)]
    rows += [Case("einsum:bij,bjk->bik", "np.einsum('bij,bjk->bik', a, b, out=o, optimize=True)", ["any", "any"], wide,
                  lambda n: [(10, 5, 5)] * 2 if n == 1000 else [(100, 20, 20)] * 2)]
    rows += [Case("softmax", "sp.softmax(a, axis=-1)", ["any"], wide, both)]
    return rows


class Ours:
    """The process that times our ops."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit("the process that times our ops has ended")
        answer = json.loads(answer)
        if "error" in answer:
            raise ValueError(answer["error"].splitlines()[0][:200])
        return answer


def theirs(statement, names, seconds):
    """Microseconds per call."""
    timer = timeit.Timer(statement, globals=names)
    once = timer.timeit(1)
    if once >= seconds:
        return once * 1e6
    few = int(max(1, seconds / 8 / max(once, 1e-8)))
    each = timer.timeit(few) / few
    calls = int(max(1, seconds / each))
    return min(each, timer.timeit(calls) / calls) * 1e6


def measure(ours, folder, case, dtype, n, rounds, seconds):
    """A row: microseconds of both, or the error."""
    import scipy.special

    rng = np.random.default_rng(22)
    shapes = case.shapes(n)
    row = {"op": case.op, "dtype": dtype, "n": n, "shape": "x".join(map(str, shapes[0])) + (f"*{len(shapes)}" if len(shapes) > 1 else "")}
    names = {"np": np, "sp": scipy.special}
    inputs = []
    for at, (kind, shape) in enumerate(zip(case.kinds, shapes)):
        x = np.sort(data("wide", dtype, shape, rng)) if kind == "sorted" else data(kind, dtype, shape, rng)
        x = np.ascontiguousarray(x)
        names["abc"[at]] = x
        file = folder / f"{at}.bin"
        x.tofile(file)
        inputs.append({"dtype": x.dtype.name, "shape": list(shape), "file": str(file)})
    result = folder / "result.bin"
    try:
        answer = ours.ask(op=case.op, inputs=inputs, result=str(result))
    except ValueError as error:
        return dict(row, error=str(error))
    mine = np.fromfile(result, answer["dtype"]).reshape(answer["shape"])
    statement = case.theirs
    np.seterr(all="ignore")
    plain = re.sub(r", out=o", "", statement).replace("np.copyto(o, a, casting='unsafe')", f"a.astype('{mine.dtype}')")
    plain = re.sub(r"np.copyto\(o, (.*)\)$", r"(\1).copy()", plain)
    try:
        if plain.startswith("o = "):
            exec(plain, names)
            want = names["o"]
        else:
            want = eval(plain, names)
    except TypeError as error:
        return dict(row, missing=str(error)[:100])
    want = np.asarray(want)
    names["o"] = np.empty_like(want) if "out=o" in statement or "copyto" in statement else want
    if not case.loose:
        row.update(check(mine, want))
    # If NumPy's result has another dtype, the work differs.
    row.update(ours_dtype=mine.dtype.name, their_dtype=want.dtype.name)
    row["ours"], row["theirs"] = math.inf, math.inf
    for _ in range(rounds):
        row["ours"] = min(row["ours"], ours.ask(seconds=seconds)["us"])
        row["theirs"] = min(row["theirs"], theirs(statement, names, seconds))
    row["ratio"] = row["ours"] / row["theirs"]
    return row


def check(mine, want):
    if mine.shape != want.shape:
        return {"differs": f"shape {mine.shape}, not {want.shape}"}
    if mine.size == 0:
        return {}
    a, b = mine.astype("f8"), want.astype("f8")
    narrow = min((np.finfo(d).eps for d in (mine.dtype, want.dtype) if d.kind == "f"), default=0, key=lambda e: -e)
    off = np.where(np.isclose(a, b, rtol=max(64 * narrow, 1e-12), atol=256 * narrow, equal_nan=True), 0, np.abs(a - b))
    worst = np.nanmax(off) if off.size else 0
    return {"differs": f"by {worst:.2g}"} if worst > 0 else {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,1000000", help="elements")
    parser.add_argument("--dtypes", default="", help="dtypes, separated by commas")
    parser.add_argument("--only", default="", help="ops that match this regular expression")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.004, help="of one timing")
    parser.add_argument("--ours", default=str(HERE.parent / "target/release/workalike-ops"))
    parser.add_argument("--worst", type=int, default=40, help="rows to print")
    parser.add_argument("--again", type=float, default=1.0, help="rows above this ratio are measured twice more, and the best of each counts")
    parser.add_argument("--out", default="", help="a file for all rows")
    arguments = parser.parse_args()
    dtypes = set(filter(None, arguments.dtypes.split(",")))
    ours, rows = Ours(arguments.ours), []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for n in map(int, arguments.sizes.split(",")):
            for case in cases():
                if not re.search(arguments.only, case.op) or (case.sizes and n not in case.sizes):
                    continue
                for dtype in case.dtypes:
                    if dtypes and dtype not in dtypes:
                        continue
                    row = measure(ours, folder, case, dtype, n, arguments.rounds, arguments.seconds)
                    for _ in range(2):
                        if row.get("ratio", 0) > arguments.again:
                            more = measure(ours, folder, case, dtype, n, arguments.rounds, arguments.seconds)
                            row.update(ours=min(row["ours"], more["ours"]), theirs=min(row["theirs"], more["theirs"]))
                            row["ratio"] = row["ours"] / row["theirs"]
                    rows.append(row)
    if arguments.out:
        pathlib.Path(arguments.out).write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    report(rows, arguments.worst)


def report(rows, worst):
    timed = sorted((r for r in rows if "ratio" in r), key=lambda r: -r["ratio"])
    print("| op | dtype | shape | ours, us | NumPy, us | ratio | |\n|---|---|---|---:|---:|---:|---|")
    for r in timed[:worst]:
        note = "" if r["ours_dtype"] == r["their_dtype"] else f"{r['ours_dtype']}, NumPy {r['their_dtype']}"
        print(f"| {r['op']} | {r['dtype']} | {r['shape']} | {r['ours']:.3g} | {r['theirs']:.3g} | {r['ratio']:.2f} | {note} {r.get('differs', '')} |")
    slow = [r for r in timed if r["ratio"] > 1]
    print(f"\n{len(timed)} rows; {len(slow)} slower than NumPy, {sum(r['ratio'] > 1.1 for r in timed)} by more than a tenth, "
          f"{sum(r['ratio'] > 2 for r in timed)} by more than 2.")
    for r in rows:
        if "error" in r or "missing" in r:
            print(f"not measured: {r['op']} {r['dtype']} {r['shape']}: {r.get('error') or r.get('missing')}")
    for r in timed:
        if "differs" in r:
            print(f"differs: {r['op']} {r['dtype']} {r['shape']}: {r['differs']} ({r['ours_dtype']}, NumPy {r['their_dtype']})")


if __name__ == "__main__":
    main()
