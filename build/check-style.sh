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

call() { printf '(^|[^A-Za-z0-9_.>])(%s) *\\(' "$1"; }

# What lines of code, that is without comments and strings, do not have. All files are
# read by one awk: a process for each would cost minutes where processes are expensive.
# shellcheck disable=SC2086 # file names without blanks
awk -v bound="$(call 'strcpy|strcat|sprintf|vsprintf|gets|alloca|strtok')" \
    -v error="$(call 'atoi|atol|atoll|atof|system')" \
    -v stops="$(call 'sleep|usleep|nanosleep')" \
    -v judges="$(call 'req_grant|req_by|keys_(find|wanted|wrong|any)|grants_(find|add|put|end|end_of)|hash_equal')" '
    function none(why, pattern) {
        if (line ~ pattern) {
            print FILENAME ":" FNR ": " why ": " $0
            rc = 1
        }
    }
    FNR == 1 {
        comment = 0
        if ($0 !~ /^\/\* SPDX-License-Identifier: MIT \*\//) {
            print FILENAME ":1: the first line is the licence"
            rc = 1
        }
    }
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
        none("a tab", "\t")
        if (FILENAME ~ /^tests/)
            next
        none("no bound", bound)
        none("no error", error)
        none("stops the loop", stops)
        none("no threads", "pthread_|thrd_create")
        if (FILENAME ~ /^(core\/front|applets)\//)
            none("only core/access judges", judges)
    }
    END { exit rc }' $sources $tests || rc=1

# shellcheck disable=SC2086 # file names without blanks
awk 'FNR <= 2 && /SPDX-License-Identifier: MIT/ { has[FILENAME] = 1 }
    END {
        for (i = 1; i < ARGC; i++)
            if (!(ARGV[i] in has)) {
                print ARGV[i] ":1: begins with the licence"
                rc = 1
            }
        exit rc
    }' $scripts || rc=1

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

# Rights are given by core/access alone: a front-end has tables (access/door.h), and nothing
# that judges, compares secrets or opens a route.
fronts=$(find core/front applets -name '*.[ch]' | sort)
# shellcheck disable=SC2086 # file names without blanks
{
    grep -nH '"http/grant.h"' $fronts && echo "http/grant.h is for core/access" && rc=1
    grep -nHE '\.open *= *(true|OPEN_)' $fronts && echo "open routes are in core/access/open.def" && rc=1
}

# A citation leads to a public document, or to a page of this tree.
# shellcheck disable=SC2086 # file names without blanks
grep -nHE 'reference/[a-z-]+\.md|as upstream' $sources $tests && rc=1
# shellcheck disable=SC2086 # file names without blanks
grep -nE '\<(TODO|FIXME)\>' $sources $tests && rc=1
exit $rc
