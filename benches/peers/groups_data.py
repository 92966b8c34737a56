"""What the scripts for groups of GPUs share: sizes as in benches/src/groups.rs, and rows."""
import json
import statistics

# Bytes of the arrays that are summed.
SUMMED = [4 << 10, 256 << 10, 4 << 20, 256 << 20]
# Name, units by layer, rows on each GPU, steps.
NETWORKS = [
    ("50M parameters", [784, 4800, 4800, 4800, 10], 8192, 10),
    ("50M parameters, small batch", [784, 4800, 4800, 4800, 10], 512, 20),
    ("digits", [64, 128, 10], 32, 1000),
]
REPEATS = 7


def row(lib, version, work, variant, form, seconds):
    """Prints the row of a work of which these are the times."""
    us = sorted(time * 1e6 for time in seconds)
    print(json.dumps({"work": work, "variant": variant, "lib": lib, "form": form, "us": statistics.median(us),
                      "us_min": us[0], "us_max": us[-1], "version": version}), flush=True)
