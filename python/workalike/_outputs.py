"""Results of a call."""


class Outputs(tuple):
    """The results of a call, in order; those of named outputs also by name."""

    __slots__ = ()

    def __new__(cls, arrays, names):
        self = super().__new__(_with_names(tuple(names)), arrays)
        return self

    names = ()

    def __getitem__(self, key):
        if isinstance(key, str):
            try:
                return tuple.__getitem__(self, self.names.index(key))
            except ValueError:
                raise KeyError(f"there is no output {key}; there are {', '.join(map(str, self.names))}") from None
        return tuple.__getitem__(self, key)

    def __contains__(self, key):
        if isinstance(key, str):
            return key in self.names
        return any(key is value for value in self)

    def keys(self):
        """The names of the named outputs."""
        return [name for name in self.names if name is not None]

    def __repr__(self):
        parts = (f"{name}={value!r}" if name else repr(value) for name, value in zip(self.names, self))
        return f"Outputs({', '.join(parts)})"

    def __reduce__(self):
        return Outputs, (tuple(self), self.names)


_classes: dict[tuple, type] = {}


def _with_names(names):
    """A class of Outputs with these names: instances are plain tuples, so that a call is cheap."""
    if names not in _classes:
        if len(_classes) > 1000:
            _classes.clear()
        _classes[names] = type("Outputs", (Outputs,), {"__slots__": (), "names": names})
    return _classes[names]
