#!/usr/bin/env python3
"""Compiles generated CUDA C++ with NVRTC, on a host without a GPU.

    python3 tools/nvrtc_check.py FOLDER --arch sm_75 sm_80 sm_90 [--lib PATH]

Every *.cu in FOLDER is compiled to machine code for every architecture, with the options that the CUDA device uses.
Each failure prints one line and NVRTC's log; the last line counts. Exits 1 on any failure, or if FOLDER holds no *.cu.

NVRTC is taken from --lib (the library or its folder), else from the Python package `nvidia-cuda-nvrtc`
(`pip install nvidia-cuda-nvrtc`; `nvidia-cuda-nvrtc-cu12` for sm_70 and older), else from the loader's path.
"""

import argparse
import ctypes
import pathlib
import site
import sys

OPTIONS = ["--fmad=false", "--std=c++17", "-w"]
WHEEL_FOLDERS = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"]


def libraries(folder):
    """The NVRTC libraries in a folder, newest major first; the library proper, not its builtins."""
    found = [p for p in folder.glob("libnvrtc.so*") if ".alt." not in p.name]
    return sorted(found, key=lambda p: p.name, reverse=True)


def locate(named):
    """The path of the NVRTC library, or its bare name for the loader to find."""
    if named:
        path = pathlib.Path(named)
        found = libraries(path) if path.is_dir() else [path] if path.is_file() else []
        if not found:
            sys.exit(f"no NVRTC library at {named}")
        return found[0]
    roots = site.getsitepackages() + [site.getusersitepackages()] + sys.path
    for root in dict.fromkeys(roots):
        for folder in WHEEL_FOLDERS:
            found = libraries(pathlib.Path(root) / folder)
            if found:
                return found[0]
    for name in ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            ctypes.CDLL(name)
            return pathlib.Path(name)
        except OSError:
            pass
    sys.exit("NVRTC was not found: `pip install nvidia-cuda-nvrtc`, or give --lib PATH")


class Nvrtc:
    """The NVRTC functions that are used."""

    def __init__(self, path):
        # NVRTC opens its builtins by bare name; one already loaded is found whatever the loader's path.
        for builtins in sorted(path.parent.glob("libnvrtc-builtins.so*")) if path.is_absolute() else []:
            ctypes.CDLL(str(builtins))
        self.lib = ctypes.CDLL(str(path))
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.lib.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.nvrtcGetErrorString(status).decode())

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.check(getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.lib, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw

    def compile(self, source, name, arch):
        """The error, or None."""
        program = ctypes.c_void_p()
        self.check(self.lib.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), 0, None, None))
        try:
            options = [o.encode() for o in [f"--gpu-architecture={arch}", *OPTIONS]]
            status = self.lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
            if status != 0:
                log = self.text(program, "ProgramLog").rstrip(b"\0").decode(errors="replace").strip()
                return f"{self.lib.nvrtcGetErrorString(status).decode()}\n{log}"
            if not self.text(program, "CUBIN").startswith(b"\x7fELF"):
                return "NVRTC gave no machine code"
            return None
        except RuntimeError as error:
            return str(error)
        finally:
            self.lib.nvrtcDestroyProgram(ctypes.byref(program))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="where the *.cu files are")
    parser.add_argument("--arch", nargs="+", required=True, metavar="SM", help="e.g. sm_75 sm_80 sm_90")
    parser.add_argument("--lib", metavar="PATH", help="the NVRTC library, or the folder that holds it")
    args = parser.parse_args()
    sources = sorted(args.folder.glob("*.cu"))
    if not sources:
        sys.exit(f"{args.folder} holds no *.cu")
    path = locate(args.lib)
    nvrtc = Nvrtc(path.resolve() if path.exists() else path)
    failures = 0
    for source in sources:
        for arch in args.arch:
            wrong = nvrtc.compile(source.read_bytes(), source.name, arch)
            if wrong:
                failures += 1
                print(f"FAILED {source} {arch}: {wrong}")
    outcome = f", {failures} failed" if failures else ""
    print(f"{len(sources)} kernels files x {len(args.arch)} architectures compiled{outcome} (NVRTC {nvrtc.version})")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
