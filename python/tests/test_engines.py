"""The examples on the actors of Ray and the workers of Dask: two processes on this machine, one of which dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workalike import launch

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, engine, *options):
    pytest.importorskip("distributed" if engine == "dask" else "ray")
    # Ray reports on each use otherwise.
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, str(EXAMPLES / name), engine, *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_averaging_goes_on_when_a_worker_dies(engine):
    out = run("averaging.py", engine, "--kill")
    assert "cost 1.5219 -> 0.2230" in out
    assert engine == "dask" or "another one takes its place" in out


@pytest.mark.parametrize("engine", ["ray", "dask"])
def test_chains_are_independent(engine):
    assert "38400 draws" in run("chains.py", engine)


def test_members_of_a_group_train_together():
    assert "cost 0.6931 ->" in run("data_parallel.py", "2")


@pytest.mark.parametrize(
    "variables, expected",
    [
        ({}, (0, 1, 0)),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1)),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "6", "SLURM_LOCALID": "2"}, (5, 6, 2)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, (1, 2, 1)),
        ({"PMI_RANK": "2", "PMI_SIZE": "4"}, (2, 4, 2)),
    ],
)
def test_launchers(variables, expected, monkeypatch):
    for name in (*launch._RANK, *launch._SIZE, *launch._LOCAL, "WORKALIKE_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (launch.rank(), launch.world_size(), launch.local_rank()) == expected
    monkeypatch.setenv("RANK", "many")
    with pytest.raises(ValueError, match="RANK is 'many'"):
        launch.rank()
    monkeypatch.setenv("WORKALIKE_DEVICE", "opencl")
    assert launch.device_name() == "opencl"
