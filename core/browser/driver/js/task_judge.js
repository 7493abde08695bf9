// SPDX-License-Identifier: MIT
//
// Returns 1 if the problem at this address was solved, else 0; waits up to ms for the verdict.

async function taskJudge(place, ms) {
    if (location.href !== place) return 0;
    for (const end = performance.now() + ms; !WOB_DONE_GLOBAL && performance.now() < end;)
        await new Promise(r => setTimeout(r, 20));
    return WOB_RAW_REWARD_GLOBAL > 0 ? 1 : 0;
}
