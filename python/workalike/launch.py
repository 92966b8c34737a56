"""Which member of a launched group this process is: under torchrun, mpirun, SLURM, or none of them."""

import os

__all__ = ["device_name", "local_rank", "rank", "world_size"]

_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_SIZE = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")


def _number(names, default):
    for name in names:
        text = os.environ.get(name)
        if text:
            try:
                number = int(text)
            except ValueError:
                number = -1
            if number < 0:
                raise ValueError(f"{name} is {text!r}, and no number of a process")
            return number
    return default


def rank():
    """The number of this process among all, from 0; 0 where nothing was launched."""
    return _number(_RANK, 0)


def world_size():
    """The number of processes; 1 where nothing was launched."""
    return max(_number(_SIZE, 1), 1)


def local_rank():
    """The number of this process among those of its host."""
    return _number(_LOCAL, rank())


def device_name():
    """The device of this process: the GPUs of the host in turn, else its processor.

    `WORKALIKE_DEVICE` names another one.
    """
    from . import devices

    named = os.environ.get("WORKALIKE_DEVICE")
    if named:
        return named
    gpus = [name for name in devices() if name.startswith("cuda")]
    return gpus[local_rank() % len(gpus)] if gpus else "host"
