# SPDX-License-Identifier: MIT
#
# check-parts.awk: a part of struct session is written by the file that owns it. The
# parts are the members of core/shell/session_own.h with the name of a file in their
# comment. session.c, which makes and frees sessions, and session_state.c, which fills them
# in for a worker that takes over, write all of them.
FILENAME ~ /session_own\.h$/ {
    if ($0 ~ /^struct session \{/)
        inside = 1
    if (inside && match($0, /\/\* session[a-z_]*\.c/)) {
        file = substr($0, RSTART + 3, RLENGTH - 3)
        match($0, /[a-z_]+;/)
        owner[substr($0, RSTART, RLENGTH - 1)] = file
    }
    if ($0 ~ /^};/)
        inside = 0
    next
}
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
}
name == "session_state.c" || name == "session.c" { next }
{
    for (part in owner) {
        if (owner[part] == name)
            continue
        member = "s->" part "(\\.[a-z_]+|\\[[^]]*\\])*"
        if ($0 ~ member " *([-+|&]?=[^=]|\\+\\+|--)" || $0 ~ "(\\+\\+|--)" member ||
            $0 ~ "(buf_[a-z]+|snprintf|memcpy|session_copy|timer_begin)\\(&?" member "[,)]" &&
                $0 !~ "buf_(str|z|room|full)\\(&" member) {
            print FILENAME ":" FNR ": " part " belongs to " owner[part] ": " $0
            rc = 1
        }
    }
}
END {
    if (length(owner) == 0) {
        print "core/shell/session_own.h: no part has a file"
        rc = 1
    }
    exit rc
}
