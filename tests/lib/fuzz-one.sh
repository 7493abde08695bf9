#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fuzz-one.sh tests/fuzz/fuzz_NAME.c [corpus]: runs the built target as one TAP result:
# FUZZ_SECONDS (10) from the seeds in tests/fuzz/corpus/NAME; with a dictionary
# tests/fuzz/NAME.dict if there is one. New inputs are kept under out/, and so is an input that
# fails. With `corpus`, and without libFuzzer, the target of the dev build just runs over the
# seeds.
#
# With FUZZ_SEED it does the same each time: it begins with the seeds alone, and ends
# after FUZZ_RUNS (100000) inputs, if it gets so far in its time.
#
# The output is in out/fuzz/NAME/log (with `corpus`: corpus.log). Of a failure it shows what
# was wrong, where, and the input.
set -u
cd "$(dirname "$0")/../.." || exit 1

name=$(basename "$1" .c)
short=${name#fuzz_}
arch=$(uname -m)
only=${2-}
seeds=tests/fuzz/corpus/$short
[ -d "$seeds" ] || seeds=tests/fuzz/corpus/$name
found=out/fuzz/$short
log=$found/${only:+$only.}log
# By default three minutes for all of them together.
count=$(find tests/fuzz -name 'fuzz_*.c' | wc -l)
: "${FUZZ_SECONDS:=$((count > 30 ? 300 / count : 10))}"
learnt=$found/corpus
if [ -n "${FUZZ_SEED-}" ]; then
    learnt=$found/seeded
    rm -rf "$learnt"
fi
mkdir -p "$learnt"

if [ "$only" != corpus ] && build/tools.sh have @libfuzzer; then
    set -- "out/$arch-fuzz/fuzz/$name" -max_total_time="$FUZZ_SECONDS" \
        -timeout="$((30 * ${OD_TEST_SLOW:-2}))" -rss_limit_mb=2048 -artifact_prefix="$found/" -print_final_stats=1
    [ ! -f "tests/fuzz/$short.dict" ] || set -- "$@" -dict="tests/fuzz/$short.dict"
    [ -z "${FUZZ_SEED-}" ] ||
        set -- "$@" -seed="$FUZZ_SEED" -runs="${FUZZ_RUNS:-100000}" -reload=0
    set -- "$@" "$learnt"
    [ ! -d "$seeds" ] || set -- "$@" "$seeds"
    what="$short, $FUZZ_SECONDS s"
else
    set -- "out/$arch-dev/fuzz/$name"
    for seed in "$seeds"/*; do
        [ ! -f "$seed" ] || set -- "$@" "$seed"
    done
    if [ $# = 1 ]; then
        printf '1..1\nnot ok 1 - fuzz %s: no seeds in tests/fuzz/corpus\n' "$short"
        exit 1
    fi
    what="$short, its corpus only"
fi

# Prints the essence of a failure first, for readers of only the first lines.
explain() {
    grep -aE 'Assertion|ERROR: |runtime error: |BUG|DEATH|Sanitizer: ' "$log" | head -n 5
    grep -aE '^ *#[0-9]+ .* in .*(core|tests)/' "$log" | sed 's/ 0x[0-9a-f]*//' | head -n 12
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    [ -f "$input" ] || return
    echo "the input, $(wc -c <"$input") bytes: $input"
    echo "in base64: $(base64 -w 0 "$input" | head -c 4000)"
    xxd "$input" | head -n 20
}

echo 1..1
if "$@" >"$log" 2>&1; then
    echo "ok 1 - fuzz $what"
    grep -a '^stat::number_of_executed_units' "$log" | sed 's/^/# /'
else
    echo "not ok 1 - fuzz $what"
    explain | cut -c 1-4100 | sed 's/^/# /'
    exit 1
fi
