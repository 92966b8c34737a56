#!/bin/sh
# Makes sure that this machine has an OpenCL driver. If none is found, it installs PoCL (OpenCL on the CPU) if it has
# the permission, else it prints what to install. It always succeeds: the demo needs no OpenCL, and a missing driver
# is reported by the tests (with CI=true, as a failure).
set -u

PATH="$PATH:/usr/sbin:/sbin" # where Debian keeps ldconfig, which users may run

# A user who sets a library or the drivers has configured OpenCL; macOS has it built in.
[ -z "${WORKALIKE_OPENCL_LIB:-}${OCL_ICD_VENDORS:-}${OCL_ICD_FILENAMES:-}" ] || exit 0
[ "$(uname -s)" = Linux ] || exit 0

# Whether the dynamic loader knows a library whose name starts like this.
knows() {
    ldconfig -p 2>/dev/null | grep -qF "$1"
}

# Whether the common loader library is present, which finds the drivers.
has_loader() {
    knows libOpenCL.so.1
}

# Whether some *.icd file names a driver that exists. (A container may hold the file of a driver that it lacks.)
has_driver() {
    for icd in /etc/OpenCL/vendors/*.icd; do
        driver=
        { read -r driver || [ -n "$driver" ]; } 2>/dev/null <"$icd"
        case "$driver" in
            '') ;;
            /*) [ ! -e "$driver" ] || return 0 ;;
            # libpocl.so.2.10.0 is known to the loader as libpocl.so.2.
            *) ! knows "${driver%%.so*}.so" || return 0 ;;
        esac
    done
    return 1
}

packages=
has_driver || packages="pocl-opencl-icd"
has_loader || packages="$packages${packages:+ }ocl-icd-libopencl1"
[ -n "$packages" ] || exit 0

# One paragraph; the terminal wraps it.
explain() { # WHY-NOT
    printf '%s' "No complete OpenCL was found on this machine, and $1. Otherwise this would now have installed" \
        " $packages from Debian or Ubuntu: PoCL runs OpenCL on the CPU, ocl-icd is the library through which programs" \
        " find it. To do so yourself: 'sudo apt-get install $packages'; on other systems, install PoCL or the OpenCL" \
        " driver of your GPU's vendor. Going on without: what needs OpenCL is left out, or fails where CI=true."
    echo
    exit 0
}

command -v apt-get >/dev/null || explain "there is no apt-get to complete it with"
as_root=
if [ "$(id -u)" -ne 0 ]; then
    # With -n, sudo fails where it would ask for a password.
    sudo -n true 2>/dev/null || explain "packages cannot be installed from here (this is not root, and sudo is missing or would ask for a password)"
    as_root=sudo
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@" </dev/null
}

echo "Installing $packages (OpenCL on the CPU)"
# An unreachable source is no error: the packages may come from another one.
apt update || echo "apt-get update failed; trying with the package lists that are here" >&2
# shellcheck disable=SC2086 # $packages is a list
apt install -y --no-install-recommends $packages >/dev/null || explain "apt-get could not complete it"
