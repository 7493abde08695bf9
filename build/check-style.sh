#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-style.sh: the rules of style that a program can check. It reports calls
# without a bound or an error, calls that block a process with one thread, lines that are
# too wide, files without a licence, left-over notes, and what check-order.awk finds.
set -u
cd "$(dirname "$0")/.." || exit 1

sources=$(find core applets -name '*.[ch]' -o -name '*.def' | sort)
tests=$(find tests -name '*.[ch]' 2>/dev/null | sort)
scripts=$(find build tests install.sh .ci/run Makefile -type f 2>/dev/null |
    grep -E '\.(sh|mk|test)$|install\.sh|\.ci/run|Makefile' | sort)
rc=0

# none WHY PATTERN FILE...: lines of code, that is without comments and strings
none() {
    why=$1 pattern=$2
    shift 2
    for file; do
        awk -v why="$why" -v pattern="$pattern" -v file="$file" '
            {
                line = $0
                gsub(/\\./, "", line)
                gsub(/"[^"]*"/, "\"\"", line)
                if (comment && !sub(/^.*\*\//, "", line))
                    next
                comment = 0
                gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
                if (sub(/\/\*.*/, "", line))
                    comment = 1
                sub(/\/\/.*/, "", line)
                if (line ~ pattern) {
                    print file ":" FNR ": " why ": " $0
                    rc = 1
                }
            }
            END { exit rc }' "$file" || rc=1
    done
}

call() { printf '(^|[^A-Za-z0-9_.>])(%s) *\\(' "$1"; }

# shellcheck disable=SC2086 # file names without blanks
{
    none "no bound" "$(call 'strcpy|strcat|sprintf|vsprintf|gets|alloca|strtok')" $sources
    none "no error" "$(call 'atoi|atol|atoll|atof|system')" $sources
    none "stops the loop" "$(call 'sleep|usleep|nanosleep')" $sources
    none "no threads" 'pthread_|thrd_create' $sources
    none "a tab" '\t' $sources $tests
}

for file in $sources $tests; do
    head -n 1 "$file" | grep -qF '/* SPDX-License-Identifier: MIT */' || {
        echo "$file:1: the first line is the licence"
        rc=1
    }
done
for file in $scripts; do
    head -n 2 "$file" | grep -qF 'SPDX-License-Identifier: MIT' || {
        echo "$file:1: begins with the licence"
        rc=1
    }
done

# Width in characters, not bytes. Exempt are lines that are one string and rows of a
# table; a test may be wider, for the text that it expects.
# shellcheck disable=SC2086 # file names without blanks
LC_ALL=C awk '{
        line = $0
        gsub(/[\200-\277]/, "", line)
        if (line ~ /^ *("|[A-Z]+\(.*"\) *\\?$)/)
            next
        if (length(line) > (FILENAME ~ /^tests/ ? 100 : 90)) {
            print FILENAME ":" FNR ": " length(line) " columns"
            rc = 1
        }
    }
    END { exit rc }' $sources $tests || rc=1

# Messages do not name the program themselves: base/called.h has its name.
# shellcheck disable=SC2086 # file names without blanks
grep -nHE 'stderr, *"od (exec|serve|browse|skills|events|image|install|jupyter|mcp)' $sources &&
    echo "messages begin with the called name: called_say" && rc=1

# shellcheck disable=SC2086 # file names without blanks
awk -f build/check-order.awk $sources $tests || rc=1

# shellcheck disable=SC2086 # file names without blanks
awk -f build/check-tags.awk $sources || rc=1
awk -f build/check-parts.awk core/shell/session_own.h core/shell/session*.c || rc=1

# A citation leads to a public document, or to a page of this tree.
# shellcheck disable=SC2086 # file names without blanks
grep -nHE 'reference/[a-z-]+\.md|as upstream' $sources $tests && rc=1
# shellcheck disable=SC2086 # file names without blanks
grep -nE '\<(TODO|FIXME)\>' $sources $tests && rc=1
exit $rc
