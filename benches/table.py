"""The tables of docs/performance.md, from the raw rows in benches/results.

python3 benches/table.py            writes them anew, between the markers of each results file
python3 benches/table.py --check    says whether they are what the results say
python3 benches/table.py FILE...    prints the tables of these results

A table stands between `<!-- results: FILE.json -->` and `<!-- end of results -->`; what is written elsewhere stays.
"""
import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
MARKED = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end of results -->)", re.S)

# The target ratio of each line to the best peer of the same run. The first match counts.
TARGETS = {
    "gpu": [
        ("exp_ladder host_result", 0.5),
        ("exp_ladder device_result", 0.8),
        ("exp_ladder borrowed", 1.0),
        ("fused_elemwise", 1.02),
        ("softmax", 0.9),
        ("reduce", 1.0),
        ("gemm", 1.03),
        ("logreg", 0.8),
        ("mlp B=(20|19)$", 0.8),
        ("mlp", 0.85),
        (r"lif n=1\d{3}$", 0.5),
        ("lif ", 0.8),
        ("rnn", 0.6),
        ("heat ", 1.0),
        ("(gru|lstm|lstm_training|scan_gradient|hmc) ", 0.6),
        ("while", 0.8),
        ("(middle_sum|transpose_add|take|scatter_add|cumsum|sort|argmax) ", 1.1),
    ],
    "cpu": [
        ("exp_ladder", 1.0),
        ("fused_elemwise", 1.0),
        ("softmax", 0.9),
        ("reduce", 1.0),
        ("gemm", 1.0),
        ("logreg", 0.9),
        ("mlp B=(20|19)$", 0.8),
        ("mlp", 0.95),
        ("lif ", 0.9),
        ("rnn", 0.8),
        ("heat ", 1.0),
    ],
}
# Odd sizes may exceed the target of round sizes by this much.
ODD = re.compile(
    r"123457|50000017|3000017|8191x8190|2047x2050|n=1237|n=517|419x777|B=19$|B=509|30x33x57x41|7x33x29x21|"
    r"999983|99991|T=97"
)
ODD_SLACK = 0.1
# Targets in microseconds, independent of peers.
ABSOLUTE = {"trivial call": 0.5}


def number(value):
    """Three digits, with commas."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


class Results:
    """The rows of one run, and the limits of its machine."""

    def __init__(self, path):
        data = json.loads(pathlib.Path(path).read_text())
        self.machine, self.rows, self.data = data["machine"], data["rows"], data
        self.gpu = self.machine["device"] != "host"
        self.limits = {row["variant"]: row for row in self.rows if row.get("work") == "limits" and "us" in row}
        self.bandwidth = self.rate("copy", "bytes")
        self.to_host = self.rate("to host", "bytes")
        self.flops = {d: self.rate(d, "flops") for d in ("float32", "float16", "bfloat16")}
        self.launch = min((r["us"] for v, r in self.limits.items() if v == "launch"), default=0.0)

    def rate(self, name, of):
        """Bytes or flops per microsecond, from the `limits` rows."""
        found = [(v, r["us"]) for v, r in self.limits.items() if v.startswith(name + " ") and f"{of}=" in v]
        return max((float(v.split(f"{of}=")[1]) / us for v, us in found), default=None)

    def lines(self):
        """Work and variant of each line of ours, with the best row of ours and the best of the peers."""
        ours, best = {}, {}
        for row in self.rows:
            if "us" not in row or row["work"] == "limits":
                continue
            key = row["work"], row["variant"]
            which = ours if row["lib"] == "workalike" else best
            if key not in which or row["us"] < which[key]["us"]:
                which[key] = row
        return [(key, row, best.get(key)) for key, row in ours.items()]

    def floor(self, row):
        """The lower bound of the line on this machine in microseconds, and its cause."""
        dtype = next((d for d in ("bfloat16", "float16") if d in row["variant"]), "float32")
        parts = [(self.launch, "launch")]
        if self.bandwidth:
            parts.append((row["bytes"] / self.bandwidth, "bytes"))
        if self.flops[dtype]:
            parts.append((row["flops"] / self.flops[dtype], "flops"))
        if self.to_host and row["variant"].startswith("host_result"):
            parts.append((row["bytes"] / 2 / self.to_host, "copy to the host"))
        floor, why = max(parts)
        # For a trivial call neither bound is meaningful.
        return (floor, why) if floor > row["us"] / 1000 else (None, "")

    def target(self, key):
        text = " ".join(key)
        for pattern, target in TARGETS["gpu" if self.gpu else "cpu"]:
            if re.match(pattern, text):
                return target + (ODD_SLACK if ODD.search(text) else 0)
        return None

    def table(self):
        out = []
        head = ["work", "variant", "ours", "launches", "best peer", "", "ratio", "target", "floor", "ours over floor"]
        out.append("| " + " | ".join(head) + " |")
        out.append("|---|---|---:|---:|---:|---|---:|---:|---:|---:|")
        for key, row, peer in self.lines():
            if key[0] == "first_result":
                continue
            target, absolute = self.target(key), ABSOLUTE.get(" ".join(key))
            ratio = row["us"] / peer["us"] if peer else None
            floor, why = self.floor(row)
            reached = target is None or ratio is None or ratio <= target
            if absolute is not None:
                reached = row["us"] <= absolute
            goal = f"{absolute:g} us" if absolute is not None else "" if target is None else f"{target:.2f}"
            cells = [
                key[0],
                key[1],
                number(row["us"]),
                str(row["launches"]),
                number(peer["us"]) if peer else "",
                f"{peer['lib']}, {peer['form']}" if peer else "",
                "" if ratio is None else f"{ratio:.2f}" if reached or absolute is not None else f"**{ratio:.2f}**",
                goal if reached else f"**{goal}**",
                f"{number(floor)} ({why})" if floor else "",
                f"{row['us'] / floor:.1f}" if floor else "",
            ]
            out.append("| " + " | ".join(cells) + " |")
        first = [(key[1], row["us"]) for key, row, _ in self.lines() if key[0] == "first_result"]
        if first:
            out += ["", "The first result of a new process (mlp, batch 20), milliseconds:", ""]
            out += ["| " + " | ".join(name for name, _ in first) + " |", "|" + "---:|" * len(first)]
            out.append("| " + " | ".join(f"{us / 1e3:,.1f}" for _, us in first) + " |")
        return "\n".join(out)

    def text(self):
        """The generated part: the machine, the table, and missing measurements."""
        m = self.machine
        versions = {row["lib"]: row["version"] for row in self.rows if "version" in row}
        what = [m["gpu"] or f"{m['cpu']}, {m['cores']} cores"]
        what += [f"CUDA {m['cuda']}"] if m.get("cuda") else []
        what += [f"{lib} {version}" for lib, version in sorted(versions.items())]
        commit = (m["commit"][:10] or "of unknown commit") + (" with changes" if m["changed"] else "")
        loads = self.data["load"]
        load = f"load average {min(loads):.1f} to {max(loads):.1f}" if loads else ""
        lines = [
            f"{m['date'][:10]}, {'; '.join(what)}; ours {commit}; {load}.",
            "",
            "Microseconds a call or step. Bold: the target is missed." + (" A quick run." if self.data["quick"] else ""),
            "",
            self.table(),
        ]
        lost = []
        for row in self.rows:
            if "missing" in row:
                lost.append(f"- {row['lib']}: {row['missing']}")
            elif "error" in row:
                which = ", ".join(filter(None, [row["lib"], f"{row['work']} {row['variant']}", row.get("form")]))
                lost.append(f"- {which}: {row['error']}")
        if lost:
            lines += ["", "Not measured:", "", *sorted(set(lost))]
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.files:
        print("\n\n".join(Results(file).text() for file in arguments.files))
        return
    page = PAGE.read_text()
    filled = MARKED.sub(lambda m: f"{m[1]}\n{Results(HERE / 'results' / m[2]).text()}\n\n{m[3]}", page)
    unused = {p.name for p in (HERE / "results").glob("*.json")} - set(m[1] for m in MARKED.findall(page))
    for name in sorted(unused):
        print(f"note: {name} is in no table of {PAGE.name}", file=sys.stderr)
    if arguments.check:
        sys.exit(f"{PAGE} is not what the results say: run benches/table.py" if filled != page else 0)
    PAGE.write_text(filled)


if __name__ == "__main__":
    main()
