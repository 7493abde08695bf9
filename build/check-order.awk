# SPDX-License-Identifier: MIT
#
# check-order.awk FILE.c...: two things that C leaves open, and that compilers do not
# report. Exits 1 if there is one.
#
# 1. Two operands of one expression, or two arguments of one call, that both append to
#    or take from the same object, such as buf_addz(b, x) | buf_addz(b, y): their order
#    is unspecified. Each belongs in a statement of its own. Operands of && || ?: and of
#    a comma between declarations have an order.
# 2. The value of a pointer after it was freed: json_free(j); return j ? 0 : -1;

BEGIN {
    changes = "(buf_(add[a-z]*|reserve|consume|take|truncate)|json_(print|quote)|utf8_repair|" \
        "(enc|dec)_[a-z0-9]+|frame_add|" \
        "([a-z0-9]+_)?(add|put|take|next|read|skip)_[a-z0-9_]+|print_?[a-z]*)"
    ends = "^(free|[a-z0-9_]+_(free|unref))$"
}

function report(why) {
    print FILENAME ":" FNR ": " why ": " $0
    rc = 1
}

# The first argument of the call whose "(" is at i.
function first_of(s, i,    rest, n) {
    rest = substr(s, i + 1)
    n = match(rest, /[,()]/)
    rest = substr(rest, 1, n ? n - 1 : length(rest))
    gsub(/[ &]/, "", rest)
    return rest
}

# Each level of parentheses has the objects that its operands changed since the last
# sequence point.
function look(s,    i, c, two, word, depth, level, open, control, object, names, list, n, k) {
    depth = 0
    level[0] = " "
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        two = substr(s, i, 2)
        if (two == "&&" || two == "||") {
            level[depth] = " "
            word = ""
            i++
        } else if (c == "?" || c == ":" || c == ";" || (c == "," && open[depth] == "")) {
            level[depth] = " "
            word = ""
        } else if (c == "(") {
            depth++
            level[depth] = " "
            # In if, for and while, and in a group, commas are sequence points.
            control[depth] = word ~ /^(if|for|while|switch)$/
            open[depth] = word ~ /^(if|for|while|switch|return)?$/ ? "" : word
            object[depth] = word ~ ("^" changes "$") ? first_of(s, i) : ""
            word = ""
        } else if (c == ")") {
            names = control[depth] ? "" : level[depth]
            if (object[depth] != "" && index(names, " " object[depth] " ") == 0)
                names = names object[depth] " "
            if (depth > 0)
                depth--
            if (control[depth + 1])
                level[depth] = " "
            n = split(names, list, " ")
            for (k = 1; k <= n; k++) {
                if (index(level[depth], " " list[k] " "))
                    return list[k]
                level[depth] = level[depth] list[k] " "
            }
            word = ""
        } else if (c ~ /[A-Za-z0-9_]/) {
            word = word c
        } else if (c != " " || substr(s, i + 1, 1) != "(") {
            word = ""
        }
    }
    return ""
}

FNR == 1 {
    comment = 0
    text = freed = ""
}

{
    line = $0
    gsub(/\\./, "", line)
    gsub(/"[^"]*"/, "\"\"", line)
    gsub(/'[^']*'/, "0", line)
    if (comment && !sub(/^.*\*\//, "", line))
        next
    comment = 0
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", line)
    if (sub(/\/\*.*/, "", line))
        comment = 1
    if (line ~ /^#/ || line ~ /^ *$/)
        next

    # Statements, over as many lines as they take.
    text = text " " line
    if (line ~ /[;{}] *$/) {
        if (text ~ changes) {
            what = look(text)
            if (what != "")
                report("no order between two changes of " what)
        }
        text = ""
    }

    # What is freed at this depth, until it gets another value or the block ends.
    match(line, /^ */)
    depth = RLENGTH
    if (freed != "" && (depth < at || line ~ /^ *(case|default)/)) {
        freed = ""
    } else if (freed != "" && line ~ ("(^|[^A-Za-z0-9_.>])" freed "([^A-Za-z0-9_]|$)")) {
        if (line !~ ("(^|[^=!<>])[ *]" freed " = ") && line !~ ("&" freed "([^A-Za-z0-9_]|$)") &&
            (freer ~ /^(json_)?free$/ || line ~ /^ *return/))
            report(freed " is used after " freer)
        freed = ""
    }
    if (line ~ /^ *[a-z_0-9]+\([a-z_0-9]+\);$/) {
        freer = freed = line
        gsub(/^ *|\(.*/, "", freer)
        gsub(/^[^(]*\(|\);$/, "", freed)
        at = depth
        if (freer !~ ends)
            freed = ""
    }
}

END { exit rc }
