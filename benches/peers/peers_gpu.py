"""Peers on an NVIDIA GPU: PyTorch, JAX and CuPy on the workloads of the performance table.

python3 benches/peers/peers_gpu.py [--only WORK,...] [--lib torch,jax,cupy] [--odd] [--quick] > rows.json

Microseconds a call or step, the median of several repeats, each of which ends with a synchronization. Inputs are
random-normal. A library that is missing is a row that says so.
"""
import common

if __name__ == "__main__":
    common.main(large=True, libraries=["torch", "jax", "cupy"])
