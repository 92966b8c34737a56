"""A linker and modes: `pytensor.function(.., mode="workalike")`."""

import os
from copy import copy

import pytensor.compile.mode as modes
from pytensor.compile.mode import Mode
from pytensor.link.basic import JITLinker
from pytensor.scalar import ScalarType
from pytensor.tensor.random.type import RandomType

import workalike as wa

from .convert import Context
from .functions import input_of, unique
from .random import Stream


class WorkalikeLinker(JITLinker):
    """Runs the graph of a function of PyTensor as one `workalike.Simulator`, on one device.

    Shared variables are PyTensor's: their values go in and out at each call. A `Simulator` keeps them on the device.
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = (
        "cxx_only",
        "BlasOpt",
        "c_blas",
        "fusion",
        "add_mul_fusion",
        "local_careduce_fusion",
        "inplace",
        "scan_save_mem",
        "scan_save_mem_prealloc",
        "scan_reduce_trace_prealloc",
        "reuse_lu_decomposition_multiple_solves",
        "scan_split_non_sequence_lu_decomposition_solve",
        # Their names in PyTensor 2.
        "reuse_decomposition_multiple_solves",
        "scan_split_non_sequence_decomposition_and_solve",
    )

    def __init__(self, *args, device="host", unsupported="refuse", **kwargs):
        self.device, self.unsupported = device, unsupported
        super().__init__(*args, **kwargs)

    def fgraph_convert(self, fgraph, order=None, input_storage=None, output_storage=None, storage_map=None, **kwargs):
        """The callable that computes the outputs of a graph from values of its inputs."""
        taken, inputs, values, places = set(), [], [], []
        for at, variable in enumerate(fgraph.inputs):
            if isinstance(variable.type, RandomType):
                values.append(_stream(variable, storage_map))
                continue
            values.append(input_of(variable, unique(variable.name, "input", taken)))
            inputs.append(values[-1])
            places.append(at)
        outputs = Context(self.unsupported).walk(fgraph, values)
        function = wa.function(
            inputs,
            [output for output in outputs if isinstance(output, wa.Variable)],
            on_unused_input="ignore",
        )
        scalars = [at for at, output in enumerate(fgraph.outputs) if isinstance(output.type, ScalarType)]
        generators = {at: values.index(output) for at, output in enumerate(outputs) if isinstance(output, Stream)}
        return _Callable(function, self.device, places, generators, scalars, len(fgraph.inputs), len(outputs))

    def jit_compile(self, fn):
        """The callable compiles itself at its first call."""
        return fn

    def create_thunk_inputs(self, storage_map):
        """The cells of the inputs."""
        return [storage_map[variable] for variable in self.fgraph.inputs]

    def accept(self, fgraph, no_recycling=None, profile=None):
        """This linker for a graph, or another for the same device if it has a graph."""
        if self.fgraph is None or self.fgraph is fgraph:
            return super().accept(fgraph, no_recycling, profile)
        made = copy(self)
        made.fgraph = None
        return made.accept(fgraph, no_recycling, profile)

    def __repr__(self):
        return f"WorkalikeLinker(device={self.device!r})"


def _stream(variable, storage_map):
    generator = (storage_map or {}).get(variable, [None])[0]
    if generator is None:
        raise wa.CompileError(
            f"workalike takes no random generator as an argument ({variable}): make it a shared variable"
        )
    return Stream(generator)


class _Callable:
    """The values of outputs from those of inputs. Random generators come out as they went in."""

    def __init__(self, function, device, places, generators, scalars, inputs, outputs):
        self.function, self.device, self.scalars = function, device, scalars
        self.places = None if len(places) == inputs else places
        self.generators, self.single = generators, outputs - len(generators) == 1
        self.open()

    def open(self):
        self.simulator, self.process = self.function.optimize(self.device), os.getpid()

    def __call__(self, *values):
        given = values if self.places is None else [values[at] for at in self.places]
        try:
            made = self.simulator(*given)
        except wa.Error:
            # A Simulator does not survive a fork: the child opens one of its own.
            if self.process == os.getpid():
                raise
            self.open()
            made = self.simulator(*given)
        made = [made] if self.single else [] if made is None else list(made)
        for at, place in sorted(self.generators.items()):
            made.insert(at, values[place])
        for at in self.scalars:
            made[at] = made[at][()]
        return made


def mode(device="host", optimizer="fast_run", *, unsupported="refuse"):
    """A mode of PyTensor that runs functions on a device of workalike: "host", "auto", "opencl", "cuda:0".

    Ops without a conversion are refused, or computed by PyTensor on the host (`unsupported="perform"`).
    """
    return Mode(WorkalikeLinker(device=device, unsupported=unsupported), optimizer)


def _register():
    if "workalike" not in modes.predefined_linkers:
        modes.register_linker("workalike", WorkalikeLinker())
    upper = "WORKALIKE"  # `get_mode` looks for names in capitals
    if upper not in modes.predefined_modes:
        modes.register_mode(upper, mode())


_register()
