#!/bin/bash
# SPDX-License-Identifier: MIT
#
# corpus.sh FOLDER: documents and archives of other projects under sanitizers. Every file
# below FOLDER goes, alone, through the parsers that its name asks for, which are the fuzz
# targets of the dev build. `make corpus DIR=FOLDER` builds those.
#
# Ends with the files that were read, and those that a parser failed on: status 1. A file
# has CORPUS_SECONDS (60).
set -u

if [ -z "${1-}" ] || ! folder=$(cd "$1" 2>/dev/null && pwd); then
    echo "make corpus DIR=FOLDER: there is no folder \"${1-}\"; name one that has the files" >&2
    exit 2
fi
cd "$(dirname "$0")/.." || exit 1
fuzz=${OD_FUZZ:-out/$(uname -m)-dev/fuzz}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
files=0 runs=0 failed=0

# The targets for a name.
targets() {
    case ${1,,} in
    *.pdf) echo docread_pdf ;;
    *.docx | *.docm | *.pptx | *.xlsx | *.xlsm | *.odt | *.ods | *.odp | *.epub) echo docread_office zip ;;
    *.ttf | *.otf | *.pfb | *.cff) echo docread_font ;;
    *.zip | *.jar | *.whl) echo zip ;;
    *.tar | *.gz | *.tgz) echo tar ;;
    *.html | *.htm | *.xhtml) echo webpage webbody ;;
    *.ipynb) echo ipynb json ;;
    *.json) echo json jsontext ;;
    *.pem | *.crt) echo pem ;;
    *.diff | *.patch) echo diff ;;
    *.txt | *.md | *.csv | *.rtf | *.tex) echo docread_text utf8 ;;
    esac
}

while IFS= read -r -d '' file; do
    some=0
    for target in $(targets "$file"); do
        runs=$((runs + 1)) some=1
        timeout "${CORPUS_SECONDS:-60}" "$fuzz/fuzz_$target" "$file" >"$log" 2>&1 </dev/null
        rc=$?
        [ $rc != 0 ] || continue
        failed=$((failed + 1))
        echo "--- $target, status $rc: $file"
        tail -n 20 "$log"
    done
    files=$((files + some))
done < <(find "$folder" -type f -print0 | sort -z)
echo "$files files, $runs runs, $failed failed"
[ "$failed" = 0 ] && [ "$files" != 0 ]
