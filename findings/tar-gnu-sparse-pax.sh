#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A file with a hole, archived by GNU tar -S --format=posix (its sparse format 1.0), comes
# out of npm's tar and tar-fs under another name, with the map of the holes as its
# content, and neither reports anything.
#
# Guess:  the file `hole` of 1,048,580 bytes, or an error that names the format.
# Seen:   npm tar 7.5.11 and tar-fs 3.1.1 write GNUSparseFile.PID/hole of 4,612 bytes,
#         which begins with "3\n0\n4096\n": the number of parts and their places. There is
#         no warning, and `hole` does not exist.
# Why:    the header's own name is a placeholder. The real name and size are in the pax
#         records GNU.sparse.name and GNU.sparse.realsize, which a reader that takes only
#         the standard records does not look at.
# Needs:  node, npm, GNU tar. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --loglevel=error tar@7.5.11 tar-fs@3.1.1 >/dev/null

mkdir in by-tar by-tar-fs
printf head >in/hole
printf tail | dd of=in/hole bs=1 seek=1048576 conv=notrunc 2>/dev/null
tar --version | sed 1q
tar -C in -S --format=posix -cf sparse.tar hole
echo "in the archive, by GNU tar: $(tar -tvf sparse.tar | awk '{print $3, $NF}')"

cat >extract.cjs <<'END'
const fs = require('fs');
require('tar').x({file: 'sparse.tar', cwd: 'by-tar', sync: true, strict: true,
    onwarn: (code, text) => console.log('tar warns:', code, text)});
fs.createReadStream('sparse.tar').pipe(require('tar-fs').extract('by-tar-fs'))
    .on('error', (e) => console.log('tar-fs fails:', e.message));
END
node extract.cjs >said
cat said

bad=0
[ ! -s said ] || bad=1
for by in by-tar by-tar-fs; do
    file=$(find "$by" -type f)
    echo "$by: $file, $(wc -c <"$file") bytes, begins: $(head -n 3 "$file" | tr '\n' ' ')"
    case $file in */GNUSparseFile.*/hole) ;; *) bad=1 ;; esac
    [ "$(head -n 3 "$file" | tr '\n' ' ')" = "3 0 4096 " ] || bad=1
done
[ "$bad" = 0 ] || { echo "changed"; exit 1; }
