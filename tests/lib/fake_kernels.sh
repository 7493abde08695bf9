# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Kernels that misbehave, after kernels.sh: kernelspecs in $T/jupyter.
#
#   spec NAME MEMBERS       a kernelspec with this text
#   fake HOW [MEMBERS]      fake-HOW: tests/lib/fake_kernel.py, told HOW; more members
#                           of its kernelspec begin with a comma

JUPYTER_PATH=$T/jupyter
export JUPYTER_PATH

spec() {
    mkdir -p "$JUPYTER_PATH/kernels/$1"
    printf '%s\n' "$2" >"$JUPYTER_PATH/kernels/$1/kernel.json"
}

fake() {
    spec "fake-$1" "{\"argv\": [\"/usr/bin/python3\", \"$ROOT/tests/lib/fake_kernel.py\",
        \"$1\", \"{connection_file}\"], \"display_name\": \"Fake\", \"language\": \"fake\"${2-}}"
}
