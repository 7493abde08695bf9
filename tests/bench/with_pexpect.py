# SPDX-License-Identifier: MIT
"""with_pexpect.py N DELAY: runs `true` N times in a bash that pexpect holds and
prints the quantiles of a round trip in microseconds. DELAY is the pause before
each line, in seconds; pexpect's own is 0.05, and 0 leaves it out."""
import sys
import time

import pexpect

n, delay = int(sys.argv[1]), float(sys.argv[2])
bash = pexpect.spawn("env", ["PS1=<<end>>", "bash", "--norc", "--noediting", "-i"], echo=False)
bash.delaybeforesend = delay or None
bash.expect_exact("<<end>>")
times = []
for _ in range(n + 3):
    begin = time.perf_counter()
    bash.sendline("true")
    bash.expect_exact("<<end>>")
    times.append((time.perf_counter() - begin) * 1e6)
times = sorted(times[3:])
print(f"p50 {times[n // 2]:.1f}\np99 {times[n * 99 // 100]:.1f}")
bash.close(force=True)
