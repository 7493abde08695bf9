#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fuzz-one.sh tests/fuzz/fuzz_NAME.c: runs the built target as one TAP result:
# FUZZ_SECONDS (10) from the seeds in tests/fuzz/corpus/NAME; with a dictionary
# tests/fuzz/NAME.dict if there is one. What it learns is kept under out/, and
# so is an input that fails, whose path libFuzzer prints. Without libFuzzer
# the target just runs over the seeds.
set -u
cd "$(dirname "$0")/../.." || exit 1

name=$(basename "$1" .c)
short=${name#fuzz_}
arch=$(uname -m)
seeds=tests/fuzz/corpus/$short
[ -d "$seeds" ] || seeds=tests/fuzz/corpus/$name
found=out/fuzz/$short
# Three minutes are enough for all of them together, if nobody said otherwise.
count=$(find tests/fuzz -name 'fuzz_*.c' | wc -l)
: "${FUZZ_SECONDS:=$((count > 30 ? 300 / count : 10))}"
mkdir -p "$found/corpus"

if build/tools.sh have @libfuzzer; then
    set -- "out/$arch-fuzz/fuzz/$name" -max_total_time="$FUZZ_SECONDS" \
        -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$found/" -print_final_stats=1
    [ ! -f "tests/fuzz/$short.dict" ] || set -- "$@" -dict="tests/fuzz/$short.dict"
    set -- "$@" "$found/corpus"
    [ ! -d "$seeds" ] || set -- "$@" "$seeds"
    what="$short, $FUZZ_SECONDS s"
else
    set -- "out/$arch-dev/fuzz/$name"
    for seed in "$seeds"/*; do
        [ ! -f "$seed" ] || set -- "$@" "$seed"
    done
    what="$short, its corpus only"
fi

echo 1..1
if "$@"; then
    echo "ok 1 - fuzz $what"
else
    echo "not ok 1 - fuzz $what"
    exit 1
fi
