#!/usr/bin/env python3
"""Writes the golden files of the suite: values computed by NumPy and SciPy.

    pip install numpy scipy ml_dtypes
    python3 tests/suite/golden/make.py

One line is one array: name, dtype, extents ("3x4", "-" for none), little-endian bytes in hexadecimal. The same versions
give the same bytes; the first line of each file names them. Elementwise functions are computed in long double (64 binary
digits on x86-64) and rounded once. bfloat16 comes from ml_dtypes.
"""

import pathlib
import warnings

import ml_dtypes
import numpy as np
import scipy
import scipy.special

HERE = pathlib.Path(__file__).parent
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(d) for d in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16".split()]
DTYPES += [BF16, np.dtype("float32"), np.dtype("float64")]


def line(name, array):
    array = np.asarray(array)
    shape = "x".join(map(str, array.shape)) or "-"
    little = array.tobytes().hex()  # x86-64 and aarch64 are little-endian
    return f"{name} {array.dtype.name} {shape} {little}"


def write(name, lines):
    head = f"# by make.py: NumPy {np.__version__}, SciPy {scipy.__version__}, ml_dtypes {ml_dtypes.__version__}"
    (HERE / f"{name}.txt").write_text("\n".join([head, *lines]) + "\n")


def narrow(wide, dtype):
    """Long doubles rounded once: through float64 rounded to odd, if the target is narrower."""
    if dtype == np.float64:
        return wide.astype(np.float64)
    near = wide.astype(np.float64)
    inexact = np.isfinite(near) & (near.astype(np.longdouble) != wide)
    toward_zero = np.where(np.abs(near) > np.abs(wide), np.nextafter(near, 0.0), near)
    odd = (toward_zero.view(np.uint64) | np.uint64(1)).view(np.float64)
    odd = np.where(inexact, odd, near)
    if dtype == BF16:
        # ml_dtypes goes through float32, which would round twice, so that step rounds to odd too.
        single = odd.astype(np.float32)
        inexact = np.isfinite(single) & (single.astype(np.float64) != odd)
        toward_zero = np.where(np.abs(single.astype(np.float64)) > np.abs(odd), np.nextafter(single, np.float32(0)), single)
        odd_single = (toward_zero.view(np.uint32) | np.uint32(1)).view(np.float32)
        return np.where(inexact, odd_single, single).astype(BF16)
    return odd.astype(dtype)


def unary():
    rng = np.random.default_rng(1)
    functions = {
        "exp": np.exp,
        "log": np.log,
        "tanh": np.tanh,
        "sin": np.sin,
        "cos": np.cos,
        "sqrt": np.sqrt,
        "sqr": np.square,
        "negative": np.negative,
        "sigmoid": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)), 1) / (1 + np.exp(-np.abs(x))),
    }
    for dtype in [np.dtype("float16"), BF16, np.dtype("float32"), np.dtype("float64")]:
        info = ml_dtypes.finfo(dtype)
        top, least, tiny = (float(getattr(info, a)) for a in ("max", "smallest_normal", "smallest_subnormal"))
        special = [0.0, tiny, 2 * tiny, least - tiny, least, 1e-5, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 9.5, 20.0, 80.0, 88.7, 103.9]
        special += [708.0, 744.0, 1e4, top / 2, top, np.inf]
        values = np.array(special + [-v for v in special] + [np.nan])
        values = np.concatenate([values, rng.normal(size=60), rng.normal(size=30) * 20, rng.normal(size=20) * 1e-3])
        with np.errstate(all="ignore"):
            x = values.astype(dtype)
            yield line(f"x.{dtype.name}", x)
            for name, function in functions.items():
                yield line(f"{name}.{dtype.name}", narrow(function(x.astype(np.longdouble)), dtype))


def subsets():
    return [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


def reduce():
    rng = np.random.default_rng(2)
    for name in "float16 float32 float64 int8 uint16 int64 bool".split():
        dtype = np.dtype(name)
        numbers = rng.normal(size=(3, 5, 4)) * 40
        x = numbers > 0 if name == "bool" else np.abs(numbers).astype(dtype) if dtype.kind == "u" else numbers.astype(dtype)
        yield line(f"x.{name}", x)
        exact = x.astype(np.longdouble) if dtype.kind == "f" else x
        for axes in subsets():
            at = "".join(map(str, axes))
            moved = np.moveaxis(x, axes, range(-len(axes), 0)).reshape([x.shape[a] for a in range(3) if a not in axes] + [-1])
            total, mean = exact.sum(axis=axes), x.astype(np.longdouble).mean(axis=axes)
            if dtype.kind == "f":
                total = narrow(np.asarray(total), dtype)
            yield line(f"sum.{name}.{at}", total)
            yield line(f"mean.{name}.{at}", narrow(np.asarray(mean), dtype if dtype.kind == "f" else np.dtype("float64")))
            yield line(f"max.{name}.{at}", x.max(axis=axes))
            yield line(f"min.{name}.{at}", x.min(axis=axes))
            yield line(f"argmax.{name}.{at}", moved.argmax(axis=-1).astype(np.int64))
            yield line(f"argmin.{name}.{at}", moved.argmin(axis=-1).astype(np.int64))


def statistics():
    """Ops composed of folds: over axes, of numbers of either sign, some of them NaN."""
    rng = np.random.default_rng(6)
    for name in "float16 float32 float64 int8 uint32 bool".split():
        dtype = np.dtype(name)
        numbers = rng.normal(size=(3, 5, 4)) * 3
        x = numbers > 0 if name == "bool" else np.abs(numbers).astype(dtype) if dtype.kind == "u" else numbers.astype(dtype)
        x[0, 0, 0] = x[1, 2, 3] = x[1, 1, 3] = 0
        yield line(f"x.{name}", x)
        float_ = dtype.kind == "f"
        mean_type = dtype if float_ else np.dtype("float64")
        wide = x.astype(np.longdouble)
        for axes in [(1,), (0, 2), (0, 1, 2)]:
            at = "".join(map(str, axes))
            back = lambda y: narrow(np.asarray(y), mean_type)
            product = wide.prod(axis=axes) if float_ else x.prod(axis=axes)
            yield line(f"prod.{name}.{at}", narrow(np.asarray(product), dtype) if float_ else product)
            yield line(f"var.{name}.{at}", back(wide.var(axis=axes)))
            yield line(f"std1.{name}.{at}", back(wide.std(axis=axes, ddof=1, keepdims=True)))
            yield line(f"all.{name}.{at}", x.all(axis=axes))
            yield line(f"any.{name}.{at}", x.any(axis=axes))
            yield line(f"count_nonzero.{name}.{at}", np.asarray(np.count_nonzero(x, axis=axes)).astype(np.int64))
            if name != "bool":
                yield line(f"ptp.{name}.{at}", np.ptp(x, axis=axes))
                yield line(f"norm2.{name}.{at}", back(np.sqrt((wide**2).sum(axis=axes))))
                yield line(f"norm1.{name}.{at}", back(np.abs(wide).sum(axis=axes)))
                yield line(f"norm3.{name}.{at}", back(np.cbrt((np.abs(wide) ** 3).sum(axis=axes))))
            if not float_:
                continue
            yield line(f"logsumexp.{name}.{at}", back(np.log(np.exp(wide).sum(axis=axes))))
            holes = wide.copy()
            holes[rng.random(x.shape) < 0.3] = np.nan
            holes[:, 1, :] = np.nan if axes == (0, 2) else holes[:, 1, :]
            yield line(f"holes.{name}.{at}", narrow(holes, dtype))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for what in "nansum nanprod nanmax nanmin nanmean nanvar nanstd".split():
                    yield line(f"{what}.{name}.{at}", back(getattr(np, what)(holes, axis=axes)))


def dot():
    rng = np.random.default_rng(3)
    for name in "float16 float32 float64 int32 int64 bool".split():
        dtype = np.dtype(name)
        a, b = rng.normal(size=(5, 11)) * 9, rng.normal(size=(11, 4)) * 9
        a, b = (a > 6, b > 6) if name == "bool" else (a.astype(dtype), b.astype(dtype))
        yield line(f"a.{name}", a)
        yield line(f"b.{name}", b)
        float_ = dtype.kind == "f"
        wide = (lambda x: x.astype(np.longdouble)) if float_ else (lambda x: x)
        back = (lambda x: narrow(np.asarray(x), dtype)) if float_ else (lambda x: x)
        yield line(f"matrix.{name}", back(wide(a) @ wide(b)))
        yield line(f"matrix_vector.{name}", back(wide(a) @ wide(b[:, 0])))
        yield line(f"vector_matrix.{name}", back(wide(a[0]) @ wide(b)))
        yield line(f"inner.{name}", back(np.dot(wide(a[0]), wide(b[:, 0]))))


# Functions, their operands, and the number of terms in an element of the result. The suite reads them from the names.
PRODUCTS = """dot|T3,M45|4 dot|T3,v4|4 dot|v4,U3|4 dot|T3,U3|4 dot|v4,v4|4 dot|n,M34|1
matmul|T3,M45|4 matmul|T3,U3|4 matmul|B4,U3|4 matmul|M34,U3|4 matmul|T3,v4|4 matmul|v4,U3|4 matmul|v4,M45|4
tensordot_0|v4,w3|1 tensordot_1|T3,M45|4 tensordot_2|T3,M34t|12 tensordot_swapped|T3,M34t|12 tensordot_0_1|T3,U3|2
outer|v4,w3|1 outer|M34,v4|1 inner|T3,M34|4 inner|v4,v4|4 inner|M34,n|1 kron|v4,M34|1 kron|T3,v4|1 vdot|M34,M34|12
vecdot_last|T3,v4|4 vecdot_last|T3,M34|4 vecdot_0|T3,T3|2
cross_3|W3,X3|2 cross_3|w3,X3|2 cross_2|W2,X2|2 cross_23|W2,X3|2 cross_32|W3,X2|2 cross_first|F3,F3|2
multi_dot|M34,M45,M53|20 multi_dot|w3,M34,M45,v5|60""".split()
# The same for einsum. O1 has an extent of 1, which broadcasts.
EINSUM = """ij|M34|1 ji|M34|1 ij->ji|M34|1 ij->|M34|12 ij->i|M34|4 ij->j|M34|3 ii|S4|4 ii->i|S4|1 iij->ij|C4|1 iii->i|C4|1 iii|C4|4
iji->j|C4|4 i,i|v4,v4|4 i,j|v4,w3|1 i,j->ji|v4,w3|1 ij,jk|M34,M45|4 ij,jk->ki|M34,M45|4 ij,jk->|M34,M45|60 ij,kj|M34,S4|4
ij,ij->ij|M34,M34|1 ij,ij->i|M34,M34|4 ij,ij->|M34,M34|12 ij,j->ij|M34,v4|1 ij,jk->ijk|M34,M45|1 ij,ik->ijk|M34,M34|1
bij,bjk->bik|T3,U3|4 bij,bjk->ikb|T3,U3|4 bij,bjk->bki|T3,U3|4 bij,bjk->ik|T3,U3|8 bij,jk->bik|T3,M45|4 bij,kj->kbi|T3,M34|4
abc,cbd->ad|T3,P432|12 abc,bc->a|T3,M34|12 abc,abc->b|T3,T3|8 ibj,kbj->bik|T3,T3|4 ijk,ijl->kl|T3,T3|6 ij,kl->jl|M34,M45|12
ij,ij->j|M34,O1|3 bij,bjk->bik|B4x1,U3|4 ij,ij->i|O1,M34|4 ...ij,...jk->...ik|T3,U3|4 ...ij,...jk->...ik|T3,M45|4
...ij,...jk|B4,U3|4 ...i,...i->...|T3,M34|4 ...i->i...|T3|1 i...->...|T3|2 ...,...|T3,M34|1 ...|T3|1 ...ij,jk->...ki|B4,M45|4
ij,jk,kl->il|M34,M45,M53|20 ij,jk,kl|M34,M45,M53|20 i,ij,j->|w3,M34,v4|12 i,ij,jk,k|w3,M34,M45,v5|60 ij,ik,il->jkl|M34,M34,M34|3
ij,jk,kl,lm,m->i|M34,M45,M53,M34,v4|720 bij,bjk,kl->bil|T3,U3,M53|20 a,b,c->cba|v4,w3,v4|1 ,ij->ij|n,M34|1 ,|n,n|1
bA|M34|1 aB,Bc->ca|M34,M45|4 ii,ij->j|S4,M45|4 iij,jk->ik|C4,M45|4""".split()


def products():
    rng = np.random.default_rng(12)
    shapes = {"n": (), "v4": (4,), "w3": (3,), "v5": (5,), "M34": (3, 4), "M34t": (4, 3), "M45": (4, 5), "M53": (5, 3), "S4": (4, 4)}
    shapes |= {"C4": (4, 4, 4), "T3": (2, 3, 4), "U3": (2, 4, 5), "B4": (3, 1, 3, 4), "B4x1": (1, 3, 4), "P432": (4, 3, 2), "O1": (1, 4)}
    shapes |= {"W3": (5, 3), "X3": (5, 3), "W2": (5, 2), "X2": (5, 2), "F3": (3, 5)}
    functions = {
        "dot": np.dot,
        "matmul": np.matmul,
        "tensordot_0": lambda a, b: np.tensordot(a, b, 0),
        "tensordot_1": lambda a, b: np.tensordot(a, b, 1),
        "tensordot_2": lambda a, b: np.tensordot(a, b.T, 2),
        "tensordot_swapped": lambda a, b: np.tensordot(a, b, ([2, 1], [0, 1])),
        "tensordot_0_1": lambda a, b: np.tensordot(a, b, ([0], [-3])),
        "outer": np.outer,
        "inner": np.inner,
        "kron": np.kron,
        "vdot": np.vdot,
        "vecdot_last": lambda a, b: (a * b).sum(-1) if a.dtype != bool else (a & b).any(-1),
        "vecdot_0": lambda a, b: (a * b).sum(0) if a.dtype != bool else (a & b).any(0),
        "cross_first": lambda a, b: np.cross(a, b[:, ::-1], axis=0),
        "multi_dot": lambda *list: np.linalg.multi_dot(list),
    }
    for name in "float16 float32 float64 int8 bool".split():
        dtype = np.dtype(name)
        arrays = {}
        for what, shape in shapes.items():
            numbers = rng.normal(size=shape) * 3
            arrays[what] = np.asarray(numbers > 0.5 if name == "bool" else numbers).astype(dtype)
            yield line(f"{what}.{name}", arrays[what])
        wide = {what: x.astype(np.longdouble) if dtype.kind == "f" else x for what, x in arrays.items()}
        cases = [(case, functions.get(case.split("|")[0], np.cross)) for case in PRODUCTS]
        cases += [("einsum:" + case, lambda *list, spec=case.split("|")[0]: np.einsum(spec, *list)) for case in EINSUM]
        for case, function in cases:
            if "cross" in case and name == "bool":
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = np.asarray(function(*(wide[what] for what in case.split("|")[1].split(","))))
            yield line(f"{case}.{name}", narrow(result, dtype) if dtype.kind == "f" else result.astype(dtype))


def softmax():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(6, 9)) * 10
    x[0, 0], x[1, 2] = 500, -800
    for name in ["float32", "float64"]:
        dtype = np.dtype(name)
        rounded = x.astype(dtype)
        yield line(f"x.{name}", rounded)
        for axis in [0, 1]:
            wide = rounded.astype(np.longdouble)
            yield line(f"softmax.{name}.{axis}", narrow(scipy.special.softmax(wide, axis=axis), dtype))
            yield line(f"log_softmax.{name}.{axis}", narrow(scipy.special.log_softmax(wide, axis=axis), dtype))


# As in src/cases/subtensor.rs.
SLICES = """2 -1 1:4 ::2 ::-1 4:1:-1 -2: :-2 100: :100 -100:3 5:2 ::-3 3,4,5 -6,-7,-8 :,3 :,:,-1 1:5:2,::-2,2:7
2,::3,-3: 0:1 6:6 :,5:0:-2,::4""".split()


def index():
    x = np.arange(6 * 7 * 8, dtype=np.int32).reshape(6, 7, 8)
    yield line("x", x)
    for text in SLICES:
        yield line(f"x[{text}]", eval(f"x[{text}]"))  # the list above
    i, j = np.array([0, -1, 3, 3, 5, -6]), np.array([0, 1, 2, -1, -7, 6])
    grid = np.array([[0, 5], [-2, 1], [4, 4]])
    for name, position in [("rows", i), ("pairs", i), ("grid", grid)]:
        yield line(f"{name}.i", position)
    yield line("pairs.j", j)
    yield line("rows", x[i])
    yield line("pairs", x[i, j])
    yield line("grid", x[grid])


# As in src/cases/indexing.rs; the arrays are below.
EXPRESSIONS = """:,i :,:,i :,i,j i,:,k ...,k i,...,k :,i,...,k None :,None,1:3 ...,None 0,:,i 0,i :,0,k :,i,0 i,None,j :,j,None
::-1,j,1::2 1:3,g,k g,:,k -1,...,None,0 m3 :,m4 ...,m5 m34 :,m45 m3,:,2 p3,d p3,:,d m345 n3 m3,None 1:,m4,::2 d :,d d,d ...,d,d d,:,g
i,j,k m3,1:,0 ... :,m4,None,1""".split()


def indexing():
    """Arrays anywhere in an index expression, read and written."""
    rng = np.random.default_rng(11)
    x = rng.integers(-30000, 30000, (3, 4, 5)).astype(np.int16)
    named = dict(
        i=np.array([0, -1, 2]),
        j=np.array([1, 0, 3]),
        k=np.array([4, -5, 1]),
        g=np.array([[2], [0]]),
        d=np.array([1, 1, 0]),
        m3=np.array([True, False, True]),
        p3=np.array([True, True, True]),
        n3=np.array([False, False, False]),
        m4=np.array([False, True, True, False]),
        m5=rng.random(5) < 0.5,
        m34=rng.random((3, 4)) < 0.5,
        m45=rng.random((4, 5)) < 0.5,
        m345=x > 0,
    )
    yield line("x", x)
    for name, array in named.items():
        yield line(name, array)
    for text in EXPRESSIONS:
        at = eval(f"np.index_exp[{text}]", {"np": np, **named})
        part = x[at]
        yield line(f"x[{text}]", part)
        y = (np.arange(part.size) * 7 % 1000 - 300).astype(np.int16).reshape(part.shape)
        for what in ["set", "scalar", "add", "maximum"]:
            written = x.copy()
            with np.errstate(all="ignore"):
                if what == "set":
                    written[at] = y
                elif what == "scalar":
                    written[at] = -7
                else:
                    getattr(np, what).at(written, at, y)
            yield line(f"{what}[{text}]", written)


def positions():
    """Positions along axes, in sorted vectors, flat ones and choices."""
    rng = np.random.default_rng(12)
    x = rng.integers(-99, 99, (3, 4)) / 4.0
    i0, i1 = rng.integers(-3, 3, (2, 4)), rng.permuted(np.tile(np.arange(4), (3, 1)), axis=1)[:, :3]
    y0, y1 = np.tile(rng.integers(-9, 9, (1, 4)), (2, 1)) + 0.5, rng.integers(-9, 9, (3, 3)) + 0.25
    shuffled = np.append(rng.integers(-9, 9, 12) / 2.0, np.nan)
    sorter = np.argsort(shuffled, kind="stable")
    ordered = shuffled[sorter]
    asked = np.concatenate([rng.integers(-22, 22, 11) / 4.0, ordered[:3], [np.inf, -np.inf, np.nan]])
    flat = rng.integers(0, 60, (2, 5))
    words, weights = rng.integers(0, 13, 30), rng.integers(0, 64, 30) / 8.0
    wild, which = rng.integers(-30, 30, (3, 3)), rng.integers(0, 3, (3, 4))
    named = dict(x=x, sorted=ordered, shuffled=shuffled, sorter=sorter, asked=asked, i0=i0, i1=i1, y0=y0, y1=y1)
    named |= dict(weights=weights, wild=wild, flat=flat, words=words, which=which)
    for name, array in named.items():
        yield line(name, array)
    yield line("take_along_0", np.take_along_axis(x, i0, 0))
    yield line("take_along_1", np.take_along_axis(x, i1, -1))
    for name, at, y, axis in [("put_along_0", i0, y0, 0), ("put_along_1", i1, y1, 1), ("put_along_scalar", i1, 9.5, 1)]:
        written = x.copy()
        np.put_along_axis(written, at, y, axis)
        yield line(name, written)
    yield line("left", np.searchsorted(ordered, asked))
    yield line("right", np.searchsorted(ordered, asked, "right"))
    yield line("by_sorter", np.searchsorted(shuffled, asked, sorter=sorter))
    yield line("digitize", np.digitize(asked, ordered))
    yield line("digitize_right", np.digitize(asked, ordered, right=True))
    yield line("bincount", np.bincount(words))
    yield line("bincount_least", np.bincount(words, minlength=20))
    yield line("bincount_weights", np.bincount(words, weights))
    for axis, along in enumerate(np.unravel_index(flat, (3, 4, 5))):
        yield line(f"unravel_{axis}", along)
    for mode in ["raise", "wrap", "clip"]:
        at = (i1 % 3, i1 % 4) if mode == "raise" else (wild, wild + 1)
        yield line(f"ravel_{mode}", np.ravel_multi_index(at, (3, 4), mode=mode))
        asks = which if mode == "raise" else which * 5 - 4
        yield line(f"choose_{mode}", np.choose(asks, [x, x * 2.0, np.float64(7)], mode=mode))
        if mode != "raise":
            yield line(f"take_{mode}", np.take(x, wild, 1, mode=mode))


# Pads: NumPy's mode, the arguments, and the name of the case.
PADS = [("constant", {"constant_values": 7}), ("edge", {}), ("linear_ramp", {"end_values": 2}), ("maximum", {}), ("mean", {}), ("median", {}), ("minimum", {})]
PADS += [("reflect", {}), ("symmetric", {}), ("wrap", {})]


def shapes():
    """Functions that move elements; x is 3x4, v has 5."""
    rng = np.random.default_rng(9)
    for name in "float32 int64 uint8 bool".split():
        dtype = np.dtype(name)
        x = (rng.normal(size=(3, 4)) * 9).astype(dtype) if name != "uint8" else rng.integers(0, 250, (3, 4), dtype=np.uint8)
        v = x.reshape(-1)[:5].copy()
        cube = np.concatenate([x, x[::-1]]).reshape(2, 3, 4)
        yield line(f"x.{name}", x)
        yield line(f"v.{name}", v)
        yield line(f"cube.{name}", cube)
        results = {
            "concatenate_0": np.concatenate([x, x[:1], x], 0),
            "concatenate_1": np.concatenate([x, x], 1),
            "stack_0": np.stack([x, x[::-1]], 0),
            "stack_last": np.stack([x, x], -1),
            "tile": np.tile(x, (2, 3)),
            "tile_more": np.tile(v, (2, 1, 2)),
            "tile_fewer": np.tile(x, 2),
            "repeat_0": np.repeat(x, 2, 0),
            "repeat_1": np.repeat(x, 3, 1),
            "repeat_each_0": np.repeat(x, [2, 0, 3], 0),
            "repeat_each_1": np.repeat(x, [1, 0, 0, 4], 1),
            "roll_0": np.roll(x, 1, 0),
            "roll_back": np.roll(x, -6, 1),
            "flip_all": np.flip(x),
            "flip_1": np.flip(x, 1),
            "moveaxis": np.moveaxis(cube, 0, 2),
            "moveaxis_back": np.moveaxis(cube, -1, 0),
            "swapaxes": np.swapaxes(cube, 0, 2),
            "transpose": np.transpose(cube, (2, 0, 1)),
            "take_0": np.take(x, [2, 0, -1], 0),
            "take_1": np.take(x, [[3, 0], [-4, 1]], 1),
            "tril": np.tril(cube, 1),
            "triu": np.triu(x, -1),
            "diagonal": np.diagonal(x),
            "diagonal_above": np.diagonal(cube, 1, 2, 0),
            "diagonal_below": np.diagonal(cube, -1, 1, 2),
            "diagonal_none": np.diagonal(x, 9),
            "diag": np.diag(v),
            "diag_above": np.diag(v, 2),
            "diag_below": np.diag(v, -1),
            "trace": np.asarray(np.trace(x.astype(np.int64) if name in ("bool", "uint8") else x)),
            "diff": np.diff(x),
            "diff_twice_0": np.diff(x, 2, 0),
            "flatten": x.ravel(),
            "meshgrid_0": np.meshgrid(v, x[0], indexing="ij")[0],
            "meshgrid_1": np.meshgrid(v, x[0], indexing="ij")[1],
        }
        for mode, arguments in PADS:
            if name != "bool":
                results[f"pad_{mode}"] = np.pad(x, ((1, 2), (3, 0)), mode, **arguments)
                results[f"pad_{mode}_wide"] = np.pad(v, ((11, 13),), mode, **arguments)
        for what, value in results.items():
            value = np.asarray(value)
            yield line(f"{what}.{name}", value.astype(np.uint64) if what == "trace" and name == "uint8" else value)
    yield line("eye", np.eye(3, 4, 1, dtype=np.float32))
    yield line("tri", np.tri(3, 5, -1, dtype=np.int64))
    yield line("linspace", np.linspace(-1.5, 2.25, 7))


CUMULATIVE = [np.dtype(d) for d in "float16 float32 float64 int8 uint32 bool".split()]


def cumulative():
    rng = np.random.default_rng(31)
    for dtype in CUMULATIVE:
        name, float_ = dtype.name, dtype.kind == "f"
        x = rng.standard_normal((4, 7)) if float_ else rng.integers(0, 2 if name == "bool" else 5, (4, 7))
        x = x.astype(dtype)
        x[1, 3] = 0
        yield line(f"x.{name}", x)
        for axis, at in [(0, "0"), (1, "1"), (None, "all")]:
            # Halves are accumulated in a wider dtype, and rounded once.
            wide = np.float64 if float_ else None
            for what, function in [("cumsum", np.cumsum), ("cumprod", np.cumprod)]:
                result = function(x, axis=axis, dtype=wide)
                yield line(f"{what}.{name}.{at}", result.astype(dtype) if float_ else result)
            flat, along = (x.ravel(), 0) if axis is None else (x, axis)
            holes = flat.copy()
            if float_:
                holes.flat[8] = np.nan
            for what, function in [("cummax", np.maximum), ("cummin", np.minimum)]:
                yield line(f"{what}.{name}.{at}", function.accumulate(flat, axis=along))
                if float_:
                    yield line(f"{what}_nan.{name}.{at}", function.accumulate(holes, axis=along))


def sorting():
    rng = np.random.default_rng(32)
    for dtype in DTYPES:
        name, float_ = dtype.name, dtype.kind not in "iub"
        x = rng.integers(0, 2, (5, 9)) if name == "bool" else rng.integers(-8, 9, (5, 9))
        x = (x / 4 if float_ else x).astype(dtype)
        if float_:
            x[1, 2] = x[3, 0] = np.nan
            x[1, 5], x[2, 4] = np.inf, -np.inf
            x[0, 3], x[0, 6], x[4, 4], x[4, 5] = 0.0, -0.0, -0.0, 0.0
        yield line(f"x.{name}", x)
        keys = x.astype(np.float64) if float_ else x
        for axis, at in [(0, "0"), (1, "1"), (None, "all")]:
            flat, row, along = (x.ravel(), keys.ravel(), 0) if axis is None else (x, keys, axis)
            order = np.argsort(row, axis=along, kind="stable")
            yield line(f"argsort.{name}.{at}", order)
            yield line(f"sort.{name}.{at}", np.take_along_axis(flat, order, along))
            if float_ or name == "bool":
                continue
            down = np.argsort(~row, axis=along, kind="stable")
            first = np.take(down, range(3), along)
            yield line(f"argtopk.{name}.{at}", first)
            yield line(f"topk.{name}.{at}", np.take_along_axis(flat, first, along))
        if name in ("float32", "float64", "int32", "uint8"):
            full = np.nan_to_num(x, nan=0.75, posinf=3.0, neginf=-3.0) if float_ else x
            yield line(f"full.{name}", full)
            gone = np.where(np.isinf(x), 0.5, x).astype(dtype) if float_ else x
            if float_:
                gone[:, 7] = np.nan
            yield line(f"gone.{name}", gone)
            for axis, at in [(0, "0"), (1, "1"), ((0, 1), "01")]:
                kind = dtype if float_ else np.float64
                yield line(f"median.{name}.{at}", np.asarray(np.median(full, axis)).astype(kind))
                yield line(f"median_nan.{name}.{at}", np.asarray(np.median(gone, axis)).astype(kind))
                yield line(f"nanmedian.{name}.{at}", np.asarray(np.nanmedian(gone, axis)).astype(kind))
                for q in (0.0, 0.3, 1.0):
                    wide = full.astype(np.float64)
                    yield line(f"quantile{q}.{name}.{at}", np.asarray(np.quantile(wide, q, axis)).astype(kind))
                    wide = gone.astype(np.float64)
                    yield line(f"nanquantile{q}.{name}.{at}", np.asarray(np.nanquantile(wide, q, axis)).astype(kind))


def promote():
    """NumPy has no bfloat16: it is promoted like float16, and the two promote to float32."""
    half = np.dtype("float16")
    for a in DTYPES:
        for b in DTYPES:
            halves = {d for d in (a, b) if d in (half, BF16)}
            if len(halves) == 2:
                together = np.dtype("float32")
            else:
                together = np.promote_types(*(half if d == BF16 else d for d in (a, b)))
                if together == half:
                    together = halves.pop()
            yield f"{a.name}.{b.name} {together.name}"


if __name__ == "__main__":
    for make in [unary, reduce, statistics, dot, products, softmax, index, indexing, positions, shapes, cumulative, sorting, promote]:
        write(make.__name__, list(make()))
