# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For tests that run a published client, after tap.sh:
#
#   npm_modules NAME   fetches the packages of tests/compat/NAME/package.json with the sums
#                      of its lock file, into out/test/NAME once; sets $MODULES. Skips the
#                      test if npm cannot have them
npm_modules() {
    for tool in node npm; do
        command -v $tool >/dev/null || skip_all "no $tool: build/tools.sh test"
    done
    MODULES=$ROOT/out/test/$1
    npm_list=$ROOT/tests/compat/$1
    export MODULES
    mkdir -p "$MODULES" 2>"$T/npm.log" || skip_all "npm cannot fetch: $(cat "$T/npm.log")"
    (
        command -v flock >/dev/null && flock 9 # two tests may come at once
        cmp -s "$npm_list/package-lock.json" "$MODULES/fetched" && exit 0
        cp "$npm_list/package-lock.json" "$npm_list/package.json" "$MODULES"
        cd "$MODULES" &&
            npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >"$T/npm.log" 2>&1 &&
            cp package-lock.json fetched
    ) 9>"$MODULES/lock" || skip_all "npm cannot fetch: $(tail -n 1 "$T/npm.log")"
}
