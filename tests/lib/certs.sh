#!/bin/sh
# SPDX-License-Identifier: MIT
#
# certs.sh FOLDER: certificates for tests, made with openssl. A root, an intermediate one,
# and for servers and clients NAME.pem (with the chain) and NAME.key:
#
#   good      EC; a.test, *.w.test, 127.0.0.1, ::1      rsa   the same, of RSA
#   direct    by the root; a.test       other   by another root, of the same names
#   expired   until 2001                early   from 2099 on
#   self      signed by itself          client  CN=somebody
#   locked.key  good.key with a password
set -eu
mkdir -p "$1"
cd "$1"
exec 3>&2 >/dev/null 2>openssl.err
trap 'cat openssl.err >&3' EXIT
names="DNS:a.test,DNS:*.w.test,IP:127.0.0.1,IP:::1"

cat >conf <<CONF
[req]
distinguished_name = dn
prompt = no
[dn]
[ca]
basicConstraints = critical,CA:true
keyUsage = keyCertSign
[leaf]
basicConstraints = CA:false
subjectAltName = $names
[direct]
subjectAltName = DNS:a.test
[client]
extendedKeyUsage = clientAuth
[signer]
default_ca = signs
[signs]
database = index
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
CONF

key() {
    if [ "$1" = rsa ]; then
        openssl genrsa -out "$1.key" 2048
    else
        openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"
    fi
}
root() { # NAME
    key "$1"
    openssl req -x509 -new -key "$1.key" -subj "/CN=$1 of tests" -days 30 \
        -config conf -extensions ca -out "$1.pem"
}
# NAME SIGNER EXTENSIONS FROM TO SUBJECT
leaf() {
    key "$1"
    openssl req -new -key "$1.key" -subj "/CN=$6" -config conf -out req
    openssl ca -batch -config conf -name signs -extensions "$3" -in req -notext \
        -keyfile "$2.key" -cert "$2.pem" -startdate "$4" -enddate "$5" -out "$1.one"
    if [ "$2" = middle ]; then cat "$1.one" middle.pem; else cat "$1.one"; fi >"$1.pem"
}
: >index
echo 1000 >serial
from=20200101000000Z to=20980101000000Z
root root
root stranger
leaf middle root ca $from $to 'middle of tests'
leaf good middle leaf $from $to good
leaf rsa middle leaf $from $to rsa
leaf direct root direct $from $to direct
leaf other stranger leaf $from $to other
leaf expired middle leaf 20000101000000Z 20010101000000Z expired
leaf early middle leaf 20990101000000Z 20990201000000Z early
leaf client root client $from $to somebody
key self
openssl req -x509 -new -key self.key -subj /CN=self -days 30 -config conf \
    -extensions leaf -out self.pem
openssl pkey -in good.key -aes256 -passout pass:x -out locked.key
trap - EXIT
