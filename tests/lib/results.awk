# SPDX-License-Identifier: MIT
#
# results.awk LOG: prints how many rows of a program passed, failed and were skipped, and
# its status. A program that ended early or against its plan has failed.
/^ok .*# SKIP/ { s++; seen++; next }
/^1\.\.0 # SKIP/ { s++; plan = 0; planned = 1; next }
/^ok / { p++; seen++ }
/^not ok / { f++; seen++ }
/^1\.\.[0-9]+/ { plan = substr($1, 4) + 0; planned = 1 }
/^status [0-9]+$/ { rc = $2 }
END {
    if (!f && (rc || !planned || plan != seen))
        f++
    print p + 0, f + 0, s + 0, rc + 0
}
