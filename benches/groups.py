"""Groups of GPUs: ours, PyTorch's DistributedDataParallel and JAX's shard_map in one run; the raw rows go to
benches/results/DATE-MACHINE-groups.json, and a table is printed.

python3 benches/groups.py --gpus 2 [--ours target/release/workalike-benches] [--out FILE]

Build ours first: cargo build --release -p workalike-benches.
"""
import argparse
import json
import pathlib
import subprocess
import sys

from run import HERE, machine, write


def rows_of(lib, command, timeout):
    """The rows that a program prints, and what it says if it fails."""
    missing = None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        printed = done.stdout
        if done.returncode != 0:
            missing = done.stderr.strip()[-600:]
    except subprocess.TimeoutExpired as error:
        # What was captured so far is bytes, whatever `text` says.
        printed, missing = (error.stdout or b"").decode(), f"it took longer than {timeout} s"
    except OSError as error:
        printed, missing = "", str(error)
    rows = [json.loads(line) for line in printed.splitlines() if line.startswith("{") and line.endswith("}")]
    return rows + ([{"lib": lib, "missing": missing}] if missing else [])


def table(rows):
    """Microseconds by variant; the best form of each library, and ours in proportion to the best peer."""
    best = {}
    for row in rows:
        if "us" in row:
            key = (row["work"], row["variant"], row["lib"])
            best[key] = min(best.get(key, row["us"]), row["us"])
    for work, variant in dict.fromkeys((work, variant) for work, variant, _ in best):
        times = {lib: us for (w, v, lib), us in best.items() if (w, v) == (work, variant)}
        peers = [us for lib, us in times.items() if lib != "workalike"]
        ratio = f"{times['workalike'] / min(peers):.2f}" if "workalike" in times and peers else "-"
        print(f"{work:14} {variant:48} " + " ".join(f"{lib} {us:.1f}" for lib, us in times.items()) + f"  ratio {ratio}")
    for row in rows:
        if "missing" in row:
            print("missing:", row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--ours", default="target/release/workalike-benches", help="the binary")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--timeout", type=float, default=400)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    about, gpus, peers = machine("cuda"), str(arguments.gpus), HERE / "peers"
    name = f"{about['date'][:10]}-{(about['gpu'] or 'gpu').split(',')[0].split()[-1].lower()}-groups.json"
    out = arguments.out or HERE / "results" / name
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", gpus, str(peers / "groups_torch.py")]
    commands = {
        "workalike": [arguments.ours, "--groups", gpus],
        "torch": [arguments.python, *torchrun],
        "jax": [arguments.python, str(peers / "groups_jax.py"), gpus],
    }
    rows = []
    for lib, command in commands.items():
        rows += rows_of(lib, command, arguments.timeout)
        # A run that is cut off leaves what it has.
        write(out, {"machine": about, "gpus": arguments.gpus, "rows": rows})
    table(rows)


if __name__ == "__main__":
    main()
