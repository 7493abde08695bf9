# SPDX-License-Identifier: MIT
#
# check-tags.awk: the tag of a struct or union is unique in the tree, so that ctags, gdb
# and grep find the right one.
match($0, /^[ \t]*(struct|union) [a-z_0-9]+ \{/) {
    tag = substr($0, RSTART, RLENGTH)
    gsub(/^[ \t]*(struct|union) | \{$/, "", tag)
    if (tag in at) {
        print FILENAME ":" FNR ": the tag " tag " is at " at[tag] ", too"
        rc = 1
    }
    at[tag] = FILENAME ":" FNR
}
END { exit rc }
