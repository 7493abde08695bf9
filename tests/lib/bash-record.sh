#!/bin/bash
# SPDX-License-Identifier: MIT
#
# bash-record.sh: what bash answers about the texts of tests/corpus/v0_scan/bash.txt, for
# tests/corpus/v0_scan/bash.answers. To be run when the texts change; it asks bash some
# 20,000 times (a minute, or many where an execution is expensive), so the tests ask only
# about a sample.
#
#   tests/lib/bash-record.sh >answers && mv answers tests/corpus/v0_scan/bash.answers
#
# One line for each text, "STARTS|OPEN": what bash-commands.sh prints, and what
# bash-open.sh prints for each byte, 0 or 1.
set -eu
cd "$(dirname "$0")/../.."

texts=tests/corpus/v0_scan/bash.txt
paste -d '|' <(bash tests/lib/bash-commands.sh $texts) \
    <(bash tests/lib/bash-open.sh $texts 1 | sed 's/[0-9]*://g; s/ //g')
