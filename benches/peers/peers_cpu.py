"""Peers on the processor: NumPy, JAX and PyTensor on the workloads of the performance table.

python3 benches/peers/peers_cpu.py [--only WORK,...] [--lib numpy,jax,pytensor] [--odd] [--quick] > rows.json

As peers_gpu.py; nothing else may run meanwhile.
"""
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import common

if __name__ == "__main__":
    common.main(large=False, libraries=["numpy", "jax", "pytensor"])
