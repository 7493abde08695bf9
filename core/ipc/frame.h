/* SPDX-License-Identifier: MIT */
/*
 * The framed channel between `od exec` (and the other applets) and the worker
 * over the unix socket. One frame: u32 length of the payload (little endian),
 * u8 type, payload. JSON payloads are objects; byte payloads begin with a u64
 * offset (little endian). A connection carries requests one after the other;
 * everything between a request and its 'R' belongs to that request.
 *
 * Client to server
 *   'Q' request       JSON, see below
 *   'I' input         offset, bytes: standard input of the command, or keys of
 *                     an attached terminal; no bytes: end of file. Offsets
 *                     begin at 0; bytes below what was accepted are ignored, so
 *                     after a reconnect the client sends again from 'W'.
 *   'Z' resize        JSON {"rows":R,"cols":C} (attach), {"answer":TEXT} (cell)
 *   'X' detach/cancel empty: stop waiting; what runs goes on
 * Server to client
 *   'O' output        offset in the session's (process's) spool, bytes
 *   'E' error output  the same for a process's standard error; of attach: output
 *                     whose newlines need a return before them
 *   'N' note          JSON {"note":KIND,"text":SENTENCE,…}
 *   'W' window        u64: input accepted up to this offset; the client sends
 *                     at most FRAME_INPUT_WINDOW bytes beyond it
 *   'R' result        JSON; ends the request
 *
 * Requests: {"v":1,"do":VERB,"id":CLIENT_ID,…}. CLIENT_ID (at most 64 bytes)
 * names the attempt: the same one sent again after a lost connection attaches
 * to the running command or gets the finished result; nothing runs twice. Any
 * request may have "as": how the client was called ("od-exec"); hints begin with it.
 *   run     command (or command64: bytes that are not UTF-8), session ("main"),
 *           timeout_ms, idle_ms (0 or absent:
 *           none; from the time the request arrives / of the last output),
 *           stdin (bool: 'I' frames follow), stream (bool: send 'O' frames),
 *           output_from (offset already received, on reconnect), no_wait
 *           (bool: refuse with BUSY instead of queueing), detach (bool: answer
 *           at start), on_input ("report": note and go on; "return": answer),
 *           text (bool: result carries "output"), cwd, env {NAME: VALUE} and
 *           user for a session that is made by this call, shell (path),
 *           rows, cols; parent (the OD_OP of the caller's environment).
 *   wait    session, timeout_ms, idle_ms, stream, output_from, on_input, text:
 *           waits for the running command as `run` would; answers at once when
 *           none runs. Output since the last answer.
 *   input   session, data (text), or data64 (bytes), enter (bool), eof (bool),
 *           keys ["C-c","Up",…] (sent in order after the data; what is not the
 *           name of a key is typed as it is)
 *   signal  session or process, signal (name or number): to the foreground job;
 *           op: only while that one runs
 *   kill    session or process, signal (default TERM, then KILL after
 *           grace_ms, default 2000): the whole tree; end (bool): the session too
 *   resize  session, rows, cols
 *   list    → {"sessions":[…],"processes":[…]}
 *   logs    session or process, offset (negative: from the end), limit, follow,
 *           stream ("err" for a process's standard error), text
 *   attach  session (made when new), rows, cols, term; then 'I' and 'Z'
 *   new     argv [..] or command (run by sh -c), cwd, env, user, name, stdin,
 *           detach, timeout_ms, stream: a process of its own; 'O' and 'E'
 *   events  since, follow: the log's lines after that id, as 'O' frames whose offset is
 *           the id that follows their last line
 *   cast    session, since (an action; 0: all): the session as a recording of
 *           asciinema, as 'O' frames whose offsets are 0
 *   info    → {"name":…,"version":…,"socket":…,"addresses":[…],"sessions":[…],
 *           "pid":…,"worker":…,"uptime_ms":…,"state_dir":…}, "connect": if a backend is
 *           dialled
 *   stop    ends the server; grace_ms
 *   cell    code, kernel (the name of one: "python" …; it is made when new, with
 *           cwd, user and env), spec (a kernelspec's name or a language), choice
 *           ("any", "own", "jupyter"), silent, history, timeout_ms, ask (bool:
 *           the cell may ask; a note "input" {prompt, password} then wants a 'Z'
 *           {"answer": TEXT}), output_from. 'O' frames are lines of JSON,
 *           {"type": of the message, "content": its content}
 *   kernel  kernel, verb: "interrupt", "restart" or "close"
 *   kernels → {"kernels":[…],"specs":[…]}
 *   browse  session (the name of a browser that stays), what (browser/host/host.h), mode,
 *           downloads, cdp, cwd, timeout_ms: 'O' frames are its answer, a line of JSON. A
 *           'Z' {"cancel": true} stops it
 *   browsers → {"browsers":[…]}; browser: session, verb "close"
 *   visit   visit (an id), url, actions, cwd: the client visits a page by itself, and
 *           this is in the log. Without result the request is open as long as the visit;
 *           with result {url, title, status, error} it ends the visit of this id
 *   skill   skill (the name of one), args {…}, session (whose window), cwd, home,
 *           lint (bool):
 *           'O' frames are its text. The result has "failed": bool
 *
 *   mcp     mcp {tools, structured, here, answer_bytes, max_wait}: 'I' and 'O' frames are
 *           messages of MCP, a line each; each 'O' frame is one. The request ends with
 *           the input; the offsets of its output may jump
 *
 *   tmux    argv, cwd, env, place (the socket as the client names it), client (its
 *           pid), tty, term, rows, cols, control, files: a command line of tmux
 *           (front/tmux). 'O' and 'E' frames are its output; notes "stdin" and "raw" ask
 *           for 'I' frames. The result has "exit", and "last", a last line
 *
 * A peer without access gets one 'R' with the error DENIED, even before a request.
 *
 * Results: {"ok":true,…} or {"ok":false,"error":{"code":NAME,"text":SENTENCE}}.
 * Of run and wait: "state": "ended" (with "exit", "signal" name when it was
 * one, "cwd", "duration_ms") | "running" (with "why": "timeout"|"idle"|"input"|
 * "detached"|"cancelled",
 * "waiting": {"state":"yes|no|unknown|probably","how":…,"pid":…,"comm":…}) |
 * "shell_ended" (with "exit") | "none" (wait: nothing ran); "session", "op",
 * "from","to": the offsets of this answer's output in the spool; "output" (text, if
 * asked); "cut": {"from","to","bytes","lines"}; of a process also
 * "stderr" and "stderr_cut", the same of its error output; "notes":[…];
 * "gaps":[[from,to]…].
 * Of new: "process": NAME, "pid".
 *
 * Notes: "queued", "started" ({"op","from"}), "waiting" (a command waits for
 * input), "probably_waiting", "stdin" (it reads the caller's input, which is empty),
 * "shell" (pipes instead of a PTY; no rc files; it was interrupted), "output" (the
 * shell's output goes elsewhere), "fresh_shell", "reinstalled",
 * "dropped_input", "gap" ({"from","to"}), "restarted" (the worker was), "attached".
 */
#ifndef OD_IPC_FRAME_H
#define OD_IPC_FRAME_H

#include "base/buf.h"
#include "base/json.h"

#include <stdint.h>

#define FRAME_HEAD         5
#define FRAME_MAX          (8u << 20) /* payload; a longer one ends the connection */
#define FRAME_INPUT_WINDOW (256u << 10)
#define FRAME_VERSION      1

struct frame {
    char type;
    struct str payload; /* borrowed from the buffer it was parsed from */
};

/*
 * Parses the frame at the beginning of in. Returns 1 and sets *f, and *used to the
 * bytes to consume; 0 if more is needed; -1 if it is too long (close the peer).
 */
int frame_parse(struct str in, struct frame *f, size_t *used);
/* Gets offset and bytes of an 'I', 'O' or 'E' payload. Returns -1 if it is too short. */
int frame_bytes(struct str payload, uint64_t *offset, struct str *bytes);

/* Append a frame. Return -1 if out is full, and unchanged. */
int frame_add(struct buf *out, char type, struct str payload);
int frame_add_bytes(struct buf *out, char type, uint64_t offset, struct str bytes);
int frame_add_u64(struct buf *out, char type, uint64_t v);
int frame_add_json(struct buf *out, char type, const struct json *j);

#endif
