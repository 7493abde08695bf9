#!/bin/sh
# SPDX-License-Identifier: MIT
#
# binfmt.sh EMULATOR FILE COMMAND...: becomes COMMAND, where programs of FILE's processor run
# in the emulator. To be run in namespaces of users, mounts and processes of its own: the
# kernel is told there, and only there. P and O of the flags: their own argv[0], and as
# descriptors.
set -u
emulator=$1 file=$2
shift 2
binfmt=/proc/sys/fs/binfmt_misc
mount -t binfmt_misc none $binfmt || exit 1
# Programs (2) and position-independent ones (3), in the order of the processor's bytes.
bytes() { od -An -v -tx1 "-j$1" "-N$2" "$file" | tr -d '\n' | sed 's/ /\\x/g'; }
ones='\xff\xff\xff\xff\xff\xff\xff'
case $(bytes 5 1) in
*01) type='\x02\x00' mask='\xfe\xff' ;;
*) type='\x00\x02' mask='\xff\xfe' ;;
esac
zeros='\x00\x00\x00\x00\x00\x00\x00\x00\x00'
printf '%s' ":od-test:M::$(bytes 0 7)$zeros$type$(bytes 18 2):$ones\\x00$ones\\xff$mask\\xff\\xff:$emulator:POF" \
    >$binfmt/register || exit 1
exec "$@"
