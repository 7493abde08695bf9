# SPDX-License-Identifier: MIT
"""What jupyter_client takes for what od jupyter-bridge does.

    with_jupyter_client.py cells N CONNECTION_FILE   1+1, N times: quantiles in us
    with_jupyter_client.py cold N                    kernels started to the first result
    with_jupyter_client.py output CODE               a cell whose output is taken: ms
"""
import sys
import time

from jupyter_client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel


def run(client, code, hook=lambda message: None):
    client.execute_interactive(code, output_hook=hook, allow_stdin=False)


def quantiles(times):
    times.sort()
    print('p50 %.1f\np99 %.1f' % (times[len(times) // 2], times[len(times) * 99 // 100]))


def cells(n, file):
    client = BlockingKernelClient(connection_file=file)
    client.load_connection_file()
    client.start_channels()
    client.wait_for_ready(60)
    times = []
    for i in range(-(n // 10) - 1, n):
        begin = time.perf_counter()
        run(client, '1+1')
        if i >= 0:
            times.append((time.perf_counter() - begin) * 1e6)
    quantiles(times)


def cold(n):
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        manager, client = start_new_kernel()
        run(client, '1+1')
        times.append((time.perf_counter() - begin) * 1e6)
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    quantiles(times)


def output(code):
    manager, client = start_new_kernel()
    taken = []
    begin = time.perf_counter()
    run(client, code, taken.append)
    print('ms %.0f' % ((time.perf_counter() - begin) * 1e3))
    client.stop_channels()
    manager.shutdown_kernel(now=True)


what, arguments = sys.argv[1], sys.argv[2:]
if what == 'cells':
    cells(int(arguments[0]), arguments[1])
elif what == 'cold':
    cold(int(arguments[0]))
else:
    output(arguments[0])
