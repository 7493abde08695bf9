/* SPDX-License-Identifier: MIT */
/*
 * The host of one kernel (`od-kernel`), a process: it starts the kernel, speaks its
 * protocol, and passes messages on as lines. The keeper holds the process and its output,
 * so a kernel and its output outlive the worker. A kernel that sends malformed messages
 * can only harm its own host.
 *
 * Lines of JSON, each way. A Jupyter message is {"channel": "shell" | "control" |
 * "stdin" | "iopub", "header", "parent_header", "metadata", "content"}, and "buffers", an
 * array of base64, if it has any. The rest is
 * between the engine and the host, by the member "host":
 *
 *   in   interrupt, restart; read {to}: the engine has read so many bytes of lines,
 *        and the host may send `window` more; end of input: shut down
 *   out  starting  {kernel, display, language, where, interpreter, embedded}
 *        note      {text} for people
 *        ready     {pid, start_ms, info}: info is kernel_info's content, or absent
 *        idle      an interrupt came while nothing ran
 *        full      the kernel does not read: no more messages, until any other line
 *        room      the kernel has read them
 *        stuck     it is still busy 5 s after two interrupts
 *        heart     {silent, text}: it has not answered its heartbeat for
 *                  KERNEL_HEART_MS while a cell runs, or answers again
 *        gap       the connection broke and was made again: output may be missing
 *        dead      {exit, signal, stderr}: a restart starts it again
 *        failed    {error, stderr}: it did not start; a restart tries again
 */
#ifndef OD_KERNEL_HOST_HOST_H
#define OD_KERNEL_HOST_HOST_H

/*
 * Runs until its input or its output is closed, and returns the exit status. options: a
 * JSON object {kernel: name or language, choice: "any" | "own" | "jupyter",
 * window: bytes, keep: a folder where our own kernel caches its compiled code}.
 */
int kernel_host_run(const char *options);

#endif
