# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What each NAME.test is: the rows of rows.py with the agent of that name, where nothing
# but loopback can be reached.

# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

for tool in python3 npm unshare; do
    command -v $tool >/dev/null || skip_all "no $tool: build/tools.sh test"
done
alone=-n
[ "$(id -u)" = 0 ] || alone=-rn
unshare $alone true 2>/dev/null || skip_all "no network of our own here: agents may reach only loopback"
MODULES=$("$ROOT/tests/agents/fetch.sh" 2>"$T/fetch") || skip_all "npm cannot fetch: $(cat "$T/fetch")"
for NODE in "$MODULES"/node_modules/node-linux-*/bin/node; do
    chmod +x "$NODE" 2>/dev/null || continue
    "$NODE" --version >/dev/null 2>&1 && break
done
"$NODE" --version >/dev/null 2>&1 || skip_all "no node of 22 for this processor"
export MODULES NODE PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$ROOT/tests/lib:$ROOT/tests/mcp:$ROOT/tests/agents"
unshare $alone python3 "$ROOT/tests/agents/rows.py" "$(basename "$0" .test)" "$@"
rc=$?
# shellcheck disable=SC2034 # tap.sh looks at it
tap_done=yes
exit $rc
