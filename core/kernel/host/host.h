/* SPDX-License-Identifier: MIT */
/*
 * The process beside one kernel (`od-kernel`): it starts the kernel, speaks its
 * wire, and passes messages on as lines. The keeper owns it and its output as it
 * owns any process, so a kernel and what it said outlive the worker, and a kernel
 * that says nonsense says it to a process of its own.
 *
 * Lines of JSON, each way. A Jupyter message is {"channel": "shell" | "control" |
 * "stdin" | "iopub", "header", "parent_header", "metadata", "content"}. The rest is
 * between the engine and the host, by the member "host":
 *
 *   in   interrupt, restart; read {to}: the engine has read so many bytes of lines,
 *        and the host goes on by `window` bytes; end of input: shut down
 *   out  starting  {kernel, display, language, where, interpreter, embedded}
 *        note      {text}: for people
 *        ready     {pid, start_ms, info}: info is kernel_info's content, or absent
 *        idle      an interrupt came while nothing ran
 *        stuck     two interrupts and 5 s later it is still busy
 *        heart     {silent, text}: it has not answered its heartbeat for
 *                  KERNEL_HEART_MS while a cell runs, or does so again
 *        gap       the connection broke and is there again: output may be missing
 *        dead      {exit, signal, stderr}: a restart starts it again
 *        failed    {error, stderr}: it did not start; a restart tries again
 */
#ifndef OD_KERNEL_HOST_HOST_H
#define OD_KERNEL_HOST_HOST_H

/*
 * Runs until the end of its input, or until nobody takes its output. options: a
 * JSON object {kernel: name or language, choice: "any" | "own" | "jupyter",
 * window: bytes, keep: a folder for what our own kernel compiles of itself}.
 * The process's exit status.
 */
int kernel_host_run(const char *options);

#endif
