# SPDX-License-Identifier: MIT
#
# check-tags.awk: the tag of a struct, union or enum is unique in the tree, so that ctags,
# gdb and grep find the right one.
match($0, /^[ \t]*(struct|union|enum) [a-z_0-9]+ \{/) {
    tag = substr($0, RSTART, RLENGTH)
    gsub(/^[ \t]*(struct|union|enum) | \{$/, "", tag)
    if (tag in at) {
        print FILENAME ":" FNR ": the tag " tag " is at " at[tag] ", too"
        rc = 1
    }
    at[tag] = FILENAME ":" FNR
}
END { exit rc }
