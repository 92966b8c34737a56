"""What a pickle makes a Bundle from."""

from ._workalike import Bundle


def rebuilt_bundle(functions):
    return Bundle(**functions)
