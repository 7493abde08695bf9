#!/bin/sh
# SPDX-License-Identifier: MIT
#
# restic does not see what a program wrote by a shared mapping if an earlier backup ran
# between two writes to the same page, even after the program has ended.
#
# Guess:  the second backup finds one changed file: its content differs, and nobody set its
#         times by hand.
# Seen:   restic 0.14.0 says "1 unmodified", and restores the first content. On ext4 that
#         holds for writes within about 30 seconds, on tmpfs for any time.
# Why:    Linux sets mtime and ctime of a mapped file at the first write to a clean page.
#         Until the page has been written to the disk, other writes by the mapping change
#         no time, and neither do munmap, close and exit. All that restic looks at (size,
#         mtime, ctime, inode) stays the same.
# Needs:  apt-get, dpkg, python3. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir" # apt-get downloads as another user
cd "$dir"
apt-get -qq download restic=0.14.0-1+b5
dpkg -x restic_*.deb root
restic=$dir/root/usr/bin/restic
export RESTIC_PASSWORD=none RESTIC_CACHE_DIR="$dir/cache" RESTIC_REPOSITORY="$dir/repository"
"$restic" version
"$restic" init >/dev/null
mkdir data
printf 'none.' >data/file

cat >write.py <<'END'
import mmap, subprocess, sys, time
with open("data/file", "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
m[:] = b"first"
time.sleep(1)                 # the time of the file is not a recent one
subprocess.run([sys.argv[1], "backup", "data"], check=True, stdout=subprocess.DEVNULL)
m[:] = b"later"
m.close()
END
python3 write.py "$restic"
"$restic" backup data | tee said | grep '^Files'
"$restic" restore latest --target back >/dev/null
echo "the file: $(cat data/file); restored: $(cat back/data/file)"

if ! grep -q '^Files: *0 new, *0 changed, *1 unmodified' said ||
    [ "$(cat data/file) $(cat back/data/file)" != "later first" ]; then
    echo "changed"
    exit 1
fi
