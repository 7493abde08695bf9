#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make.sh: makes the pictures of README.md from the real thing: page.png, the live page in
# Chromium, and waits.svg, a recording of a terminal. Needs what `build/tools.sh test`
# installs. Make them again when what they show has changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
OD=$root/out/$(uname -m)-release/od
[ -x "$OD" ] || { echo "pictures: no $OD: run make" >&2; exit 1; }
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
CHROMIUM=$(command -v chromium-headless-shell || command -v chromium)
NODE_PATH=$(npm root -g)
export OD T CHROMIUM NODE_PATH
node "$here/page.cjs" "$here/page.png"

# Commands of an agent, as a person would see them.
PATH=$(dirname "$OD"):$PATH OD_SOCKET=$T/sock OD_STATE_DIR=$T/state
export PATH OD_SOCKET OD_STATE_DIR
cat >"$T/play" <<'END'
type() { printf '$ %s\n' "$*"; sleep 0.8; }
type "od exec --return-on-input ./setup.sh"
od exec --return-on-input ./setup.sh
sleep 2
type "od exec --input yes --wait"
od exec --input yes --wait
sleep 2
type 'od exec "cd /etc && export NAME=agent"'
od exec "cd /etc && export NAME=agent"
sleep 1
type 'od exec "pwd; echo \$NAME"        # the shell remembers'
od exec 'pwd; echo $NAME'
END
cat >"$T/setup.sh" <<'END'
#!/bin/sh
echo "This takes 2 GB of the disk."
printf 'Go on? [yes/no] '
read -r answer
echo "You said $answer. Done."
END
chmod +x "$T/setup.sh"
(cd "$T" && od exec true && od asciinema rec -q --overwrite -c "sh ./play" waits.cast)
od exec --stop
python3 "$here/cast.py" "$T/waits.cast" >"$here/waits.svg"
