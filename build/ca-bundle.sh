#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the unpacked ca-certificates: makes the list of authorities in od, for
# machines without one, from Mozilla's list.
#
#   ca_bundle.c, .h, .gz   the list, and its declaration in C
#   LICENSE                of the list: the Mozilla Public License 2.0
#
# Of each certificate only the trust anchor (RFC 5280 6.1.1 d) is kept: name, key and
# dates, in their DER; not the signature, which is never checked. Left out: authorities
# that are not trusted for servers, or only for certificates before some day; one of
# two that have the same name and key.
#
# The file: all dates, then all names, then all keys, in the same order, each as its
# DER. So the names, which are much alike, are together for gzip.
set -eu
export LC_ALL=C

# The text has binary values as lines of \ooo, which printf(1) turns into bytes.
awk '
# Lengths are in bytes, of which each has four characters; p is the first, from 0.
function byte(s, p) {
    return substr(s, 4 * p + 2, 1) * 64 + substr(s, 4 * p + 3, 1) * 8 + substr(s, 4 * p + 4, 1)
}
# The element at p: from is where its content begins, after is where the next does.
function element(s, p,    n, i) {
    n = byte(s, p + 1)
    from = p + 2
    if (n > 127) {
        i = n - 128
        n = 0
        while (i-- > 0)
            n = n * 256 + byte(s, from++)
    }
    after = from + n
}
function cut(s, p) { element(s, p); return substr(s, 4 * p + 1, 4 * (after - p)) }
function add(s,    p) {
    element(s, 0)                   # Certificate, RFC 5280 4.1
    element(s, from)                # TBSCertificate
    p = from
    for (i = 0; i < 4; i++) {       # version, serialNumber, signature, issuer
        element(s, p)
        p = after
    }
    dates[n] = cut(s, p)
    names[n] = cut(s, after)
    keys[n] = cut(s, after)
    if (!seen[names[n] keys[n]]++)
        n++
}
function note() { # the object of which all lines were read
    if (class == "CKO_CERTIFICATE" && !of["CKA_NSS_SERVER_DISTRUST_AFTER"]) {
        at[++all] = of["CKA_ISSUER"] of["CKA_SERIAL_NUMBER"]
        whole[all] = of["CKA_VALUE"]
    }
}
/^#/ || /^$/ { next }
/ MULTILINE_OCTAL$/ {
    what = $1
    value = ""
    while ((getline line) > 0 && line != "END")
        value = value line
    of[what] = value
    next
}
$1 == "CKA_CLASS" { note(); class = $3; split("", of); next }
$1 == "CKA_TRUST_SERVER_AUTH" && $3 == "CKT_NSS_TRUSTED_DELEGATOR" {
    trusted[of["CKA_ISSUER"] of["CKA_SERIAL_NUMBER"]] = 1
}
END {
    note()
    n = 0
    for (c = 1; c <= all; c++)
        if (at[c] in trusted)
            add(whole[c])
    for (i = 0; i < n; i++) print dates[i]
    for (i = 0; i < n; i++) print names[i]
    for (i = 0; i < n; i++) print keys[i]
}' mozilla/certdata.txt >ca_bundle.octal

count=$(($(wc -l <ca_bundle.octal) / 3))
[ "$count" -ge 80 ] || {
    echo "ca-bundle: only $count authorities in mozilla/certdata.txt" >&2
    exit 1
}
# shellcheck disable=SC2059 # the lines are made of \ooo only
while read -r line; do printf "$line"; done <ca_bundle.octal >ca_bundle
bytes=$(($(wc -c <ca_bundle)))
gzip -9 -n -f ca_bundle

date=$(head -n 1 debian/changelog | sed 's/.*(\([0-9]*\).*/\1/')
year=${date%????} day=${date#??????}
month=${date#????}
month=${month%??}
cat >ca_bundle.h <<END
/* Made by build/ca-bundle.sh. */
enum { CA_BUNDLE_COUNT = $count, CA_BUNDLE_BYTES = $bytes };
#define CA_BUNDLE_DATE "$year-$month-$day"
extern const unsigned char ca_bundle[], ca_bundle_end[]; /* gzip */
END
cat >ca_bundle.c <<'END'
__asm__(".section .rodata.ca_bundle,\"a\"\n"
        ".globl ca_bundle\n.globl ca_bundle_end\n"
        "ca_bundle:\n.incbin \"ca_bundle.gz\"\nca_bundle_end:\n.byte 0\n"
        ".section .note.GNU-stack,\"\",%progbits\n.text\n");
END
sed -n '/^Files: mozilla\/certdata.txt/,$p' debian/copyright >LICENSE
