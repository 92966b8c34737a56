"""Ours and the peers in one run, interleaved work by work; raw rows go to benches/results/DATE-MACHINE-DEVICE.json.

python3 benches/run.py --device cuda|host [--quick] [--odd] [--only WORK,...] [--skip WORK,...] [--rounds N]
    [--ours target/release/workalike-benches]

Build ours first: cargo build --release -p workalike-benches. `table.py` makes the tables of docs/performance.md.
What takes too long for one command is two runs with files of their own (`--out`): `--skip lenet,conv`, then
`--only lenet,conv,limits`. The limits give the floors.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
# Works that are measured together, ours and then those of each peer: a peer's process takes seconds to start.
GROUPS = [
    ["trivial", "exp_ladder", "fused_elemwise"],
    ["softmax", "reduce", "gemm"],
    ["logreg", "mlp", "lenet", "conv"],
    ["lif", "rnn", "heat"],
    ["scan_rnn", "gru", "lstm", "scan_gradient", "lstm_training", "hmc", "while"],
    ["middle_sum", "transpose_add", "take", "scatter_add"],
    ["cumsum", "sort", "argmax"],
    ["kernels"],
    ["hash_popcount", "fft_radix2", "bilateral7", "run_lengths", "segment_softmax"],
    ["ising", "lbm_d2q9", "heat2d", "lorenz_rk4", "pic1d", "nbody"],
    ["viterbi", "lstm_step", "kalman", "lif_network"],
    ["adagrad_embed", "embedding_gather", "quantile_norm", "sinkhorn_log"],
    ["xent_smooth", "moe_top2", "rbm_cd1", "adam_mlp", "kmeans"],
    ["gp_kernel_grad", "mc_asian_grad", "black_scholes", "mandelbrot"],
    ["layernorm", "attention", "batched_small_matmul", "row_normalize_bcast", "conv5x5", "lenet_step"],
    ["pairwise_dist"],
]
WORKS = [work for group in GROUPS for work in group]
EXTRA = ["first_result", "limits"]
LOOPS = {"scan_rnn", "gru", "lstm", "scan_gradient", "lstm_training", "hmc", "while"}
# The programs of peers/programs_data.py.
PROGRAMS = set().union(*GROUPS[GROUPS.index(["kernels"]) + 1 :])
# Works that a peer lacks: no process is started for these alone.
WITHOUT = {
    "cupy": {"trivial", "softmax", "reduce", "gemm", "logreg", "mlp", "lenet", "conv", "lif", "rnn"} | LOOPS | PROGRAMS,
    "numpy": {"softmax", "logreg", "mlp", "lenet", "conv", "lif", "rnn", "kernels"} | LOOPS | PROGRAMS,
    "pytensor": {"lenet", "conv", "heat", "middle_sum", "transpose_add", "take", "scatter_add", "cumsum", "sort", "argmax",
                 "kernels"} | LOOPS | PROGRAMS,
    "jax": {"kernels", "pairwise_dist"},
}


def words(command, **more):
    """The output of a command, or nothing."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, **more).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def machine(device):
    """The hardware and software versions."""
    cpu = ""
    try:
        found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
        cpu = found.group(1) if found else ""
    except OSError:
        pass
    gpu = words(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).splitlines()
    cuda = re.search(r"CUDA Version: ([\d.]+)", words(["nvidia-smi"]))
    commit = words(["git", "rev-parse", "HEAD"], cwd=HERE) or os.environ.get("COMMIT", "")
    changed = bool(words(["git", "status", "--porcelain", "--untracked-files=no"], cwd=HERE))
    return {
        "device": device,
        "cpu": cpu or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": gpu[0] if gpu and device != "host" else None,
        "cuda": cuda.group(1) if cuda and device != "host" else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "commit": commit,
        "changed": changed,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def ours(binary, device, works, arguments):
    command = [binary, *works, "--device", device, "--json"] + (["--odd"] if arguments.odd else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=arguments.timeout)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        rows.append({"lib": "workalike", "missing": f"status {done.returncode} of {' '.join(works)}"})
    return rows


def of_cudarc(arguments):
    """The rows that the Rust library cudarc has: launches."""
    done = subprocess.run([arguments.ours, "--cudarc"], capture_output=True, text=True, timeout=arguments.timeout)
    if done.returncode != 0:
        return [{"lib": "cudarc", "missing": done.stderr.strip()[:300]}]
    return [json.loads(line) for line in done.stdout.splitlines()]


def peers(script, lib, works, arguments):
    command = [arguments.python, str(HERE / "peers" / script), "--lib", lib, "--only", ",".join(works)]
    command += [flag for flag, on in (("--odd", arguments.odd), ("--quick", arguments.quick)) if on]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=arguments.timeout)
        return json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return [{"lib": lib, "missing": f"{type(error).__name__}: {error}"[:300]}]


def write(out, result):
    """Writes the rows, one a line, so that a new run is a readable change."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for row in result["rows"]:
        row.update({key: float(f"{row[key]:.5g}") for key in ("us", "us_min", "us_max") if key in row})
    head = {key: value for key, value in result.items() if key != "rows"}
    lines = ",\n".join("  " + json.dumps(row) for row in result["rows"])
    out.write_text(json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + lines + "\n ]\n}\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", help="host, cuda or opencl")
    parser.add_argument("--ours", default="target/release/workalike-benches", help="the binary")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--only", default="", help="works, separated by commas")
    parser.add_argument("--skip", default="", help="works to leave out, separated by commas")
    parser.add_argument("--odd", action="store_true", help="also sizes that nobody tunes for")
    parser.add_argument("--quick", action="store_true", help="a glance: fewer repeats, nothing that compiles for long")
    parser.add_argument("--rounds", type=int, default=1, help="how often all is measured; the best of each row counts")
    parser.add_argument("--timeout", type=float, default=600, help="seconds that one process may take")
    parser.add_argument("--out", default="", help="the file to write")
    arguments = parser.parse_args()
    host = arguments.device == "host"
    script, libs = ("peers_cpu.py", ["numpy", "jax", "pytensor"]) if host else ("peers_gpu.py", ["torch", "jax", "cupy"])
    only, skip = (set(filter(None, names.split(","))) for names in (arguments.only, arguments.skip))
    unknown = (only | skip) - set(WORKS + EXTRA)
    if unknown:
        parser.error(f"there is no work {', '.join(sorted(unknown))}; there are {', '.join(WORKS + EXTRA)}")
    wanted = lambda work: work not in skip and (not only or work in only)
    result = {"machine": machine(arguments.device), "quick": arguments.quick, "load": [], "rows": []}
    start = time.time()
    for number in range(arguments.rounds):
        for group in GROUPS:
            works = [work for work in group if wanted(work)]
            if not works:
                continue
            result["load"].append(os.getloadavg()[0])
            print(f"== round {number}, {time.time() - start:.0f} s: {' '.join(works)}", file=sys.stderr, flush=True)
            rows = ours(arguments.ours, arguments.device, works, arguments)
            for lib in libs:
                having = [work for work in works if work not in WITHOUT.get(lib, ())]
                rows += peers(script, lib, having, arguments) if having else []
            if "kernels" in works and arguments.device == "cuda":
                rows += of_cudarc(arguments)
            result["rows"] += [dict(row, round=number) for row in rows]
    if wanted("first_result"):
        result["rows"] += ours(arguments.ours, arguments.device, ["first_result"], arguments)
    if wanted("limits"):
        result["rows"] += peers(script, libs[0], ["limits"], arguments)
    result["seconds"] = time.time() - start
    kind = result["machine"]["gpu"] or result["machine"]["cpu"]
    name = re.sub(r"[^A-Za-z0-9]+", "-", kind.split(",")[0]).strip("-").lower()[:40]
    date = datetime.date.today().isoformat()
    out = pathlib.Path(arguments.out) if arguments.out else HERE / "results" / f"{date}-{name}-{arguments.device}.json"
    write(out, result)
    failed = [row for row in result["rows"] if "missing" in row or "error" in row]
    for row in failed:
        print(f"not measured: {json.dumps(row)}", file=sys.stderr)
    print(f"{out}: {len(result['rows'])} rows in {result['seconds']:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
