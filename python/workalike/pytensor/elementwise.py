"""Elementwise ops: PyTensor's scalar ops, alone, under `Elemwise`, and fused in a `Composite`."""

from functools import reduce

import numpy as np
from pytensor.scalar.basic import Composite, ScalarOp
from pytensor.tensor.elemwise import Elemwise

import workalike as wa

from .convert import as_declared, cast, convert, refused


def clip(x, low, high):
    """PyTensor's, where a minimum above the maximum wins; NumPy's gives the maximum."""
    bounds = [bound.constant_value for bound in (low, high)]
    if all(bound is not None for bound in bounds) and np.all(bounds[0] <= bounds[1]):
        return wa.clip(x, low, high)
    return wa.where(x < low, low, wa.where(x > high, high, x))


# Ops whose arguments take the dtype of the result first, by the name of the class.
_SAME = {
    "Sub": wa.subtract,
    "TrueDiv": wa.true_divide,
    "IntDiv": wa.floor_divide,
    "Mod": wa.remainder,
    "Pow": wa.power,
    "Maximum": wa.maximum,
    "Minimum": wa.minimum,
    "ScalarMaximum": wa.maximum,
    "ScalarMinimum": wa.minimum,
    "AND": wa.bitwise_and,
    "OR": wa.bitwise_or,
    "XOR": wa.bitwise_xor,
    "Invert": wa.invert,
    "Clip": clip,
    "Abs": wa.absolute,
    "Sign": wa.sign,
    "Sgn": wa.sign,
    "Neg": wa.negative,
    "Ceil": wa.ceil,
    "Floor": wa.floor,
    "Trunc": wa.trunc,
    "RoundHalfToEven": wa.rint,
    "RoundHalfAwayFromZero": wa.round_half_away_from_zero,
    "Reciprocal": wa.reciprocal,
    "Log": wa.log,
    "Log2": wa.log2,
    "Log10": wa.log10,
    "Log1p": wa.log1p,
    "Exp": wa.exp,
    "Exp2": wa.exp2,
    "Expm1": wa.expm1,
    "Sqr": wa.sqr,
    "Sqrt": wa.sqrt,
    "Deg2Rad": wa.deg2rad,
    "Rad2Deg": wa.rad2deg,
    "Cos": wa.cos,
    "ArcCos": wa.arccos,
    "Sin": wa.sin,
    "ArcSin": wa.arcsin,
    "Tan": wa.tan,
    "ArcTan": wa.arctan,
    "ArcTan2": wa.arctan2,
    "Cosh": wa.cosh,
    "ArcCosh": wa.arccosh,
    "Sinh": wa.sinh,
    "ArcSinh": wa.arcsinh,
    "Tanh": wa.tanh,
    "ArcTanh": wa.arctanh,
    "Erf": wa.erf,
    "Erfc": wa.erfc,
    "Erfcx": wa.erfcx,
    "Erfinv": wa.erfinv,
    "Erfcinv": wa.erfcinv,
    "Owens_t": wa.owens_t,
    "Gamma": wa.gamma,
    "GammaLn": wa.gammaln,
    "Psi": wa.digamma,
    "TriGamma": wa.trigamma,
    "PolyGamma": wa.polygamma,
    "GammaInc": wa.gammainc,
    "GammaIncC": wa.gammaincc,
    "Jv": wa.jv,
    "J0": wa.j0,
    "J1": wa.j1,
    "I0": wa.i0,
    "I1": wa.i1,
    "Iv": wa.iv,
    "Ive": wa.ive,
    "Kve": wa.kve,
    "Sigmoid": wa.sigmoid,
    "Softplus": wa.softplus,
    "Log1mexp": wa.log1mexp,
    "BetaInc": wa.betainc,
    "Hyp2F1": wa.hyp2f1,
    "XlogX": wa.xlogx,
    "XlogY0": wa.xlogy,
    "Identity": lambda x: x,
    # The other incomplete gamma functions, which are not regularized.
    "GammaL": lambda k, x: wa.gammainc(k, x) * wa.gamma(k),
    "GammaU": lambda k, x: wa.gammaincc(k, x) * wa.gamma(k),
}

# Ops between real and complex numbers, whose arguments stay as they are.
_PARTS = {
    "Real": wa.real,
    "Imag": wa.imag,
    "Angle": wa.angle,
    "Conj": wa.conj,
    "Complex": wa.complex,
    "ComplexFromPolar": wa.from_polar,
}

# Ops of any number of arguments.
_FOLDED = {"Add": wa.add, "Mul": wa.multiply}

# Ops whose arguments are promoted to a common dtype.
_COMMON = {
    "LT": wa.less,
    "GT": wa.greater,
    "LE": wa.less_equal,
    "GE": wa.greater_equal,
    "EQ": wa.equal,
    "NEQ": wa.not_equal,
    "IsNan": wa.isnan,
    "IsInf": wa.isinf,
}

SCALAR_OPS = sorted({*_SAME, *_PARTS, *_FOLDED, *_COMMON, "Switch", "Second", "Cast"})


def truth(variable):
    """Whether elements are not 0."""
    return variable if variable.dtype == bool else wa.not_equal(variable, wa.constant(np.zeros((), variable.dtype)))


def broadcast_like(variable, other):
    """The Variable, with the shape of the other where that is larger."""
    return wa.where(wa.constant(np.True_), variable, cast(other, variable.dtype))


def _promoted(inputs):
    kinds = {variable.dtype.kind for variable in inputs}
    dtypes = {variable.dtype for variable in inputs}
    # Integers of both signs are compared exactly as they are.
    if len(dtypes) == 1 or kinds <= {"i", "u"}:
        return inputs
    common = np.result_type(*dtypes)
    return [cast(variable, common) for variable in inputs]


@convert.register(ScalarOp)
def scalar_op(op, node, inputs, context):
    """A scalar op by the name of its class. `node` is its own node, or that of the `Elemwise` around it."""
    name, dtype = type(op).__name__, node.outputs[0].type.dtype
    if name in _PARTS or (name == "Abs" and inputs[0].dtype.kind == "c"):
        return [cast(_PARTS.get(name, wa.absolute)(*inputs), dtype)]
    if name in _SAME:
        return [_SAME[name](*(cast(variable, dtype) for variable in inputs))]
    if name in _FOLDED:
        return [reduce(_FOLDED[name], (cast(variable, dtype) for variable in inputs))]
    if name in _COMMON:
        return [_COMMON[name](*_promoted(inputs))]
    if name == "Switch":
        return [wa.where(truth(inputs[0]), cast(inputs[1], dtype), cast(inputs[2], dtype))]
    if name == "Cast":
        return [truth(inputs[0]) if dtype == "bool" else cast(inputs[0], dtype)]
    if name == "Second":
        return [broadcast_like(cast(inputs[1], dtype), inputs[0])]
    raise refused(op, node)


def _used(fgraph):
    """For each output of a graph, the positions of the inputs that it depends on."""
    uses = {variable: {at} for at, variable in enumerate(fgraph.inputs)}
    for node in fgraph.toposort():
        of_node = set().union(*(uses.get(variable, set()) for variable in node.inputs))
        uses.update(dict.fromkeys(node.outputs, of_node))
    return [uses.get(output, set()) for output in fgraph.outputs]


@convert.register(Composite)
def composite(op, node, inputs, context):
    """Fused scalar ops, one after another. Each result has the shape of all arguments together."""
    fgraph = op.fgraph
    outputs = context.walk(fgraph, inputs)
    for at, (output, used) in enumerate(zip(outputs, _used(fgraph))):
        for position in set(range(len(inputs))) - used:
            if any(extent != 1 for extent in inputs[position].shape):
                output = broadcast_like(output, inputs[position])
        rank = max((variable.ndim for variable in inputs), default=0)
        if output.ndim < rank:
            output = wa.broadcast_to(output, [1] * rank)
        outputs[at] = output
    return outputs


@convert.register(Elemwise)
def elemwise(op, node, inputs, context):
    """A scalar op over arrays; `inplace_pattern` does not matter to a graph of values."""
    made = convert(op.scalar_op, node, inputs, context)
    return [as_declared(one, output.type) for one, output in zip(made, node.outputs)]
