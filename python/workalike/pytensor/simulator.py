"""`Simulator`: a compiled function of PyTensor on a device."""

import workalike as wa

from .functions import States, rebuilt


class _Results:
    """Results as a function of PyTensor returns them: one array, a list, a dict or None."""

    def __init__(self, f):
        self.keys = getattr(f, "output_keys", None)
        self.count = len(f.maker.fgraph.outputs) - len(f.maker.fgraph.update_mapping or {})
        self.single = bool(f.unpack_single)
        self.nothing = bool(f.return_none)

    def __call__(self, made):
        if self.single:
            return made
        if self.nothing:
            return None
        made = [] if self.count == 0 else [made] if self.count == 1 else list(made)
        return made if self.keys is None else dict(zip(self.keys, made))


class Method:
    """One of the functions of a Simulator."""

    def __init__(self, simulator, name, results):
        self._simulator, self.name, self._results = simulator, name, results
        self._call = simulator._call

    def __call__(self, *args, **kwargs):
        """Calls the function on the device, with the arguments and results of PyTensor's."""
        return self._results(self._call(self.name, *args, **kwargs))

    def run_n(self, n, *args, progress=None, **kwargs):
        """Calls it `n` times on the device, and returns the results of the last. `workalike.each(sequence)` as an
        argument gives one slice per iteration."""
        return self._results(self._simulator[self.name].run_n(n, *args, progress=progress, **kwargs))

    def run_n_collect(self, n, *args, **kwargs):
        """Calls it `n` times; the results of all iterations, stacked."""
        return self._results(self._simulator[self.name].run_n_collect(n, *args, **kwargs))

    def call_device(self, *args, **kwargs):
        """A call whose results stay on the device."""
        return self._results(self._simulator[self.name].call_device(*args, **kwargs))

    def plan(self, *args, **kwargs):
        """Kernels and transfers of a call."""
        return self._simulator[self.name].plan(*args, **kwargs)

    def profile(self, n, *args, **kwargs):
        """Times of the kernels of `n` calls."""
        return self._simulator[self.name].profile(n, *args, **kwargs)

    def __repr__(self):
        return f"Method({self.name} of {self._simulator!r})"


class Simulator:
    """A compiled function of PyTensor on a device, with its shared variables there.

    `f` may be compiled in any mode; its optimized graph is read. The values of its shared variables are copied to the
    device: later calls change them there, until `sync_to_pytensor` copies them back.

    Ops without a conversion are refused, or computed by PyTensor on the host (`unsupported="perform"`); `explain`
    then names them.
    """

    def __init__(self, f, device="auto", *, strict=False, fast_math=False, deterministic=False, unsupported="refuse"):
        self._states = States(unsupported)
        self.function = rebuilt(_compiled(f), self._states)
        options = {"strict": strict, "fast_math": fast_math, "deterministic": deterministic}
        self.simulator = self.function.optimize(device, **options)
        (main,) = self.simulator.methods
        self._main = Method(self.simulator, main, _Results(f))
        self._methods = {main: self._main}
        # The shortest way for the commonest call.
        self._call, self._results = self.simulator, self._main._results

    def __call__(self, *args, **kwargs):
        """Calls the function on the device, with the arguments and results of PyTensor's."""
        return self._results(self._call(*args, **kwargs))

    def run_n(self, n, *args, progress=None, **kwargs):
        """Calls it `n` times on the device: see `Method.run_n`."""
        return self._main.run_n(n, *args, progress=progress, **kwargs)

    def run_n_collect(self, n, *args, **kwargs):
        """Calls it `n` times; the results of all iterations, stacked."""
        return self._main.run_n_collect(n, *args, **kwargs)

    def call_device(self, *args, **kwargs):
        """A call whose results stay on the device."""
        return self._main.call_device(*args, **kwargs)

    def plan(self, *args, **kwargs):
        """Kernels and transfers of a call."""
        return self._main.plan(*args, **kwargs)

    def profile(self, n, *args, **kwargs):
        """Times of the kernels of `n` calls."""
        return self._main.profile(n, *args, **kwargs)

    def add_method(self, name, f, *, keep=None):
        """Adds another compiled function of PyTensor. Shared variables that both have are one on the device."""
        function = rebuilt(_compiled(f), self._states)
        self.simulator.add_method(name, function, keep=keep)
        self._methods[name] = Method(self.simulator, name, _Results(f))

    def __getitem__(self, name):
        """A method by its name."""
        if name not in self._methods:
            raise KeyError(f"there is no method {name}; there are {', '.join(self._methods)}")
        return self._methods[name]

    @property
    def methods(self):
        """The names of the methods."""
        return list(self._methods)

    @property
    def device(self):
        """The device's name."""
        return self.simulator.device

    def sync_to_pytensor(self, *, keep=None):
        """Copies the values of the device to PyTensor's shared variables; the names of those that changed.

        If PyTensor's value changed too since the last sync, that is a `StateConflict`, unless `keep` says which of the
        two stays: "simulator" or "pytensor".
        """
        self._pull()
        self.simulator.sync_to_parent(keep=_kept(keep))
        return [state.name for state in self._states.pairs() if state.push()]

    def sync_from_pytensor(self, *, keep=None):
        """Copies the values of PyTensor's shared variables to the device; the names of those that changed."""
        self._pull()
        return self.simulator.sync_from_parent(keep=_kept(keep))

    def _pull(self):
        for state in self._states.pairs():
            state.pull()

    def get_value(self, shared):
        """The value on the device of a shared variable of PyTensor."""
        return self.simulator.get_value(self._state(shared).shared)

    def set_value(self, shared, value):
        """Replaces the value on the device of a shared variable of PyTensor."""
        self.simulator.set_value(self._state(shared).shared, value)

    def probe(self, shared, every=1, capacity=1024):
        """Records a shared variable of PyTensor after every `every` calls and iterations: a `workalike.Probe`."""
        return self.simulator.probe(self._state(shared).shared, every, capacity)

    def explain(self):
        """What runs where, and why."""
        return self.simulator.explain()

    def _state(self, shared):
        found = self._states.by_cell.get(id(shared.container.storage))
        if found is None:
            names = ", ".join(state.name for state in self._states.pairs()) or "none"
            raise KeyError(f"the functions have no shared variable {shared}; theirs are {names}")
        return found

    def __repr__(self):
        return f"workalike.pytensor.Simulator({', '.join(self._methods)} on {self.device})"


def _kept(keep):
    if keep not in (None, "simulator", "pytensor"):
        raise ValueError(f"keep is simulator or pytensor, not {keep}")
    return "parent" if keep == "pytensor" else keep


def _compiled(f):
    if not (hasattr(f, "maker") and hasattr(f, "input_storage")):
        raise wa.ArgumentError(
            f"expected a compiled function of PyTensor, got {type(f).__name__}: compile it by pytensor.function(..)"
        )
    return f
