#!/bin/sh
# SPDX-License-Identifier: MIT
#
# embed.sh NAME=FILE...: a header with each file, compressed, as the array NAME_gz.
set -eu
echo "/* Made by build/embed.sh. */"
for pair; do
    echo "static const unsigned char ${pair%%=*}_gz[] = {"
    gzip -9n <"${pair#*=}" | od -An -v -tx1 | sed 's/ \(..\)/0x\1,/g'
    echo "};"
done
