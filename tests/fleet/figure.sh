# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Figures of a fleet's tests, as notes, each with the load of the machine: times are
# nanoseconds since 1970.

now() { date +%s%N; }
figure() { # WHAT FROM [TO]
    note "figure: $1: $(((${3:-$(now)} - $2) / 1000000)) ms, load $(cut -d' ' -f1 /proc/loadavg)"
}
