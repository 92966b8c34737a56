"""Methods of the native classes that are written in Python: those of Variables by their names, NumPy's protocols,
methods of Simulators, draws of random streams."""

from . import _signatures, _workalike
from ._workalike import Function, GroupSimulator, RandomStreams, Simulator, Variable
from ._workalike import probe as _probe

# Methods of Variables besides the operators: NumPy's of arrays, and what reads well as a method.
_OF_VARIABLES = """
all any argmax argmin argsort clip cumprod cumsum diagonal dot expand_dims extent flatten flip max mean
median min moveaxis prod ptp ravel repeat reshape roll round sort squeeze std sum swapaxes take trace transpose var
exp log sqrt sin cos tanh sigmoid relu sqr dimshuffle specify_shape conv2d astype conj
""".split()

_DRAWS = """
bernoulli beta binomial bits categorical choice choice_without_replacement dirichlet dropout exponential gamma
integers multinomial normal permutation poisson standard_t uniform
""".split()


# NumPy changes an argument, and returns nothing.
_IN_PLACE = {"fill_diagonal", "put_along_axis", "copyto", "put", "place", "putmask"}


def _method(name):
    def method(self, *args, **kwargs):
        return self._method(name, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"See workalike.{name}."
    method.__wrapped__ = _signatures.of_method(name)
    return method


def _draw(name):
    def draw(self, *args, **kwargs):
        return self._draw(name, *args, **kwargs)

    draw.__name__ = name
    draw.__doc__ = f"A draw: {name}. `size` is a number, a tuple of numbers and 0-d Variables, or left out."
    draw.__wrapped__ = _signatures.of(f"draw_{name}")
    return draw


def _compress(self, condition, axis=None):
    """See workalike.compress."""
    from . import ops

    return ops.compress(condition, self, axis)


def _part(name):
    """NumPy's attribute `real` or `imag`."""

    def part(self):
        return self._method(name)

    part.__doc__ = f"See workalike.{name}."
    return property(part)


def _iterated(self):
    """Slices along the first axis, one after the other."""
    return (self[at] for at in range(len(self)))


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """`numpy.exp(x)` and `array * x`."""
    if method != "__call__" or kwargs.pop("out", None) is not None:
        return NotImplemented
    from . import ops

    function = getattr(ops, ufunc.__name__, None)
    return NotImplemented if function is None else function(*inputs, **kwargs)


def _array_function(self, function, types, args, kwargs):
    """`numpy.sum(x)`."""
    from . import fft, linalg, ops

    module = {"numpy.linalg": linalg, "numpy.fft": fft}.get(function.__module__, ops)
    found = getattr(module, function.__name__, None)
    if found is None or function.__name__ in _IN_PLACE:
        raise TypeError(
            f"numpy.{function.__name__} does not take Variables"
            + ("; workalike's returns a new one" if found else "; docs/ops.md lists the functions of workalike")
        )
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"numpy.{function.__name__}: a Variable cannot be written to an array (out=)")
    return found(*args, **kwargs)


def _array_namespace(self, *, api_version=None):
    import workalike

    return workalike


class Method:
    """A method of a Simulator."""

    def __init__(self, simulator, name):
        self._simulator, self.name = simulator, name

    def __call__(self, /, *args, **kwargs):
        return self._simulator._call(self.name, *args, **kwargs)

    def call_device(self, /, *args, **kwargs):
        """A call whose results stay on the device."""
        return self._simulator._call_device(self.name, *args, **kwargs)

    def run_n(self, n, /, *args, progress=None, **kwargs):
        """Runs it `n` times on the device: see `Simulator.run_n`."""
        return _run_n(self._simulator, self.name, n, args, progress, kwargs)

    def run_n_collect(self, n, /, *args, **kwargs):
        """Runs it `n` times; the results of all iterations, stacked."""
        return self._simulator._run_n_collect(self.name, n, *args, **kwargs)

    def run_while(self, condition, limit, /, *args, **kwargs):
        """Runs it until an output is false: see `Simulator.run_while`."""
        return self._simulator._run_while(self.name, condition, limit, *args, **kwargs)

    def probe(self, what, every=1, capacity=1024):
        """Records a Variable after every `every` iterations: see `Simulator.probe`."""
        return _probe(self._simulator, self.name, what, every, capacity)

    def plan(self, /, *args, **kwargs):
        """Kernels and transfers of a call."""
        return Report(self._simulator._plan(self.name, *args, **kwargs))

    def profile(self, n, /, *args, **kwargs):
        """Times of the kernels of `n` calls."""
        return Report(self._simulator._profile(self.name, n, *args, **kwargs))

    def __repr__(self):
        return f"Method({self.name} of {self._simulator!r})"


class GroupMethod:
    """A method of a group."""

    def __init__(self, members, name):
        self._members, self.name = members, name

    def __call__(self, /, *args, **kwargs):
        return self._members._call(self.name, *args, **kwargs)

    def run_n(self, n, /, *args, **kwargs):
        """Runs it `n` times; results are those of the last."""
        return self._members._run_n(self.name, n, *args, **kwargs)

    def __repr__(self):
        return f"GroupMethod({self.name} of {self._members!r})"


class Report(str):
    """A text that shows its lines."""

    __slots__ = ()

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        import html

        return f"<pre>{html.escape(self)}</pre>"


def _with_progress(run, n, progress):
    """Calls `run` with what takes the number of iterations done: `progress`, a bar of tqdm, or None."""
    if callable(progress):
        done = []
        outputs = run(lambda count: (done.append(count), progress(count)))
        if done[-1:] != [n]:
            progress(n)
        return outputs
    if progress is not True:
        if progress is not None and progress is not False:
            raise TypeError(f"progress: expected True or a function of the iterations done, got {progress!r}")
        return run(None)
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return run(None)
    with tqdm(total=n, unit="it") as bar:
        outputs = run(lambda done: bar.update(done - bar.n))
        bar.update(n - bar.n)
    return outputs


def _run_n(simulator, method, n, args, progress, kwargs):
    return _with_progress(lambda report: simulator._run_n(method, report, n, *args, **kwargs), n, progress)


def _function_run_n(self, n, /, *args, progress=None, **kwargs):
    """Calls it `n` times, and returns the results of the last call; see `Simulator.run_n`."""
    return _with_progress(lambda report: self._run_n(report, n, *args, **kwargs), n, progress)


def _simulator_run_n(self, n, /, *args, progress=None, **kwargs):
    """Runs the first method `n` times on the device, and returns the results of the last iteration.

    Arguments that are `each(sequence)` take one slice along the first axis per iteration. `progress=True` shows a bar
    (if tqdm is installed); a callable gets the number of iterations done. Ctrl-C ends the loop between iterations.
    """
    return _run_n(self, None, n, args, progress, kwargs)


def _simulator_call_device(self, /, *args, **kwargs):
    """A call whose results stay on the device, as `DeviceArray`s."""
    return self._call_device(None, *args, **kwargs)


def _simulator_run_n_collect(self, n, /, *args, **kwargs):
    """Runs the first method `n` times; the results of all iterations, stacked along a new first axis."""
    return self._run_n_collect(None, n, *args, **kwargs)


def _simulator_run_while(self, condition, limit, /, *args, **kwargs):
    """Runs the first method until its output `condition` is false, at most `limit` times. Returns the number of
    iterations and the results of the last."""
    return self._run_while(None, condition, limit, *args, **kwargs)


def _simulator_probe(self, what, every=1, capacity=1024):
    """Records a Variable of the first method, or the one of a name, after every `every` iterations and calls.

    `read()` of the `Probe` gives the samples, `take()` drops them too. They are kept on the device, `capacity` at a
    time, and moved to the host when these are full: none is lost. A shared variable is recorded as an iteration leaves
    it, any other Variable as the iteration computes it.
    """
    return _probe(self, None, what, every, capacity)


def _simulator_plan(self, /, *args, **kwargs):
    """Kernels and transfers of a call of the first method."""
    return Report(self._plan(None, *args, **kwargs))


def _simulator_profile(self, n, /, *args, **kwargs):
    """Times of the kernels of `n` calls of the first method."""
    return Report(self._profile(None, n, *args, **kwargs))


def _simulator_getitem(self, name):
    """A method by its name."""
    _known(self, name)
    return Method(self, name)


def _group_getitem(self, name):
    """A method by its name."""
    _known(self, name)
    return GroupMethod(self, name)


def _known(simulator, name):
    if name not in simulator.methods:
        raise KeyError(f"there is no method {name}; there are {', '.join(simulator.methods)}")


def install():
    """Adds the methods to the native classes."""
    for name in _OF_VARIABLES:
        if not hasattr(Variable, name):
            setattr(Variable, name, _method(name))
    for name in _DRAWS:
        setattr(RandomStreams, name, _draw(name))
    for name in ("real", "imag"):
        setattr(Variable, name, _part(name))
    Variable.compress = _compress
    Variable.__iter__ = _iterated
    Variable.__array_ufunc__ = _array_ufunc
    Variable.__array_function__ = _array_function
    Variable.__array_namespace__ = _array_namespace
    Function.run_n = _function_run_n
    Simulator.run_n = _simulator_run_n
    Simulator.run_n_collect = _simulator_run_n_collect
    Simulator.run_while = _simulator_run_while
    Simulator.call_device = _simulator_call_device
    Simulator.probe = _simulator_probe
    Simulator.plan = _simulator_plan
    Simulator.profile = _simulator_profile
    Simulator.__getitem__ = _simulator_getitem
    GroupSimulator.__getitem__ = _group_getitem
    _workalike.Method = Method
    _workalike.GroupMethod = GroupMethod
