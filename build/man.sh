#!/bin/sh
# SPDX-License-Identifier: MIT
#
# man.sh OD VERSION FOLDER: manual pages in mdoc from what the program prints,
# so that there is one text. od-NAME.1 from `od-NAME --help`, od-agent.7 from
# `od-agent help`: every installation has these names. None is called od.1, which is
# the page of the octal dump.
#
# A usage text is: "Usage: " and the synopsis lines; paragraphs; headings, which
# are lines at the margin that end in ":"; below them rows "  -x, --long ARG
# text", the text continued on lines further in; and anything else that is
# indented, which stays as it is.
set -eu

od=$1 version=$2 out=$3
mkdir -p "$out"

# page NAME SECTION BRIEF: standard input is the usage text.
page() {
    awk -v name="$1" -v section="$2" -v brief="$3" -v version="$version" '
    function escape(s) {
        gsub(/\\/, "\\e", s)
        gsub(/-/, "\\-", s)
        gsub(/…/, "...", s)
        if (s ~ /^[.\x27]/)
            s = "\\&" s
        return s
    }
    # Running text: mdoc wants each sentence on a line of its own.
    function text(s) {
        s = escape(s)
        gsub(/[.] +/, ".\n", s)
        gsub(/\n[.]/, "\n\\\\\\&.", s)
        print s
    }
    # On a macro line, one argument.
    function argument(s) {
        s = escape(s)
        gsub(/"/, "\\(dq", s)
        return "\"" s "\""
    }
    function mode(m) { # "", list, text, literal
        if (m == now)
            return
        if (now == "list")
            print ".El"
        if (now == "literal")
            print ".Ed"
        if (m == "list")
            print ".Bl -tag -width Ds"
        if (m == "literal")
            print ".Bd -literal -offset indent"
        now = m
    }
    function heading(s) { mode(""); print ".Sh " argument(toupper(s)) ; fresh = 1 }
    BEGIN {
        print ".\\\" Made from the usage text of od."
        print ".Dd January 1, 2026"
        print ".Dt " toupper(name) " " section
        print ".Os od " version
        print ".Sh NAME"
        print ".Nm " name
        print ".Nd " brief
        heading("synopsis")
        mode("literal")
        synopsis = 1
    }
    synopsis && /^([Uu]sage:|   )/ {
        sub(/^[Uu]sage: */, "")
        sub(/^       /, "")
        print escape($0)
        next
    }
    synopsis {
        synopsis = 0
        heading("description")
    }
    /^[^ ].*:$/ && blank {
        sub(/:$/, "")
        heading($0)
        next
    }
    { blank = /^ *$/ }
    blank { if (now == "literal") gap++; else pending = 1; next }
    /^ +-/ || (now == "list" && /^  ? ?[^ ].*   */ && !/^      /) {
        match($0, /^ +/)
        $0 = substr($0, RLENGTH + 1)
        mode("list")
        said = ""
        if (match($0, /  +/)) {
            said = substr($0, RSTART + RLENGTH)
            $0 = substr($0, 1, RSTART - 1)
        }
        print ".It " argument($0)
        fresh = 0
        if (said != "")
            text(said)
        pending = 0
        gap = 0
        next
    }
    now == "list" && /^      / && !pending {
        sub(/^ +/, "")
        text($0)
        next
    }
    /^ / {
        mode("literal")
        for (; gap > 0; gap--)
            print ""
        sub(/^  /, "")
        print escape($0)
        pending = 0
        fresh = 0
        next
    }
    {
        mode("")
        if ((pending || gap) && !fresh)
            print ".Pp"
        pending = 0
        fresh = 0
        gap = 0
        text($0)
    }
    END { mode("") }'
}

links=$(mktemp -d)
trap 'rm -rf "$links"' EXIT
case $od in /*) ;; *) od=$PWD/$od ;; esac
"$od" --list | while read -r name brief; do
    ln -s "$od" "$links/od-$name"
    "$links/od-$name" --help --all | page "od-$name" 1 "$brief" >"$out/od-$name.1"
done
ln -s "$od" "$links/od-agent"
"$links/od-agent" help | page od-agent 7 "a computer for an AI agent in one file" >"$out/od-agent.7"
