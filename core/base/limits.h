/* SPDX-License-Identifier: MIT */
/* Every limit, each with its reason. `od --version -v` prints them. */
#ifndef OD_BASE_LIMITS_H
#define OD_BASE_LIMITS_H

/* LIMIT(name, value, what it bounds and why) */
#define LIMITS(LIMIT) \
    LIMIT(COMMAND_MAX, 4 << 20, "bytes of one command: fits a frame, four times what a model writes") \
    LIMIT(SESSIONS_MAX, 4096, "sessions alive at once: the number of PTYs a kernel gives by default") \
    LIMIT(PROCS_MAX, 1024, "plain processes remembered, ended ones too") \
    LIMIT(CONNS_MAX, 8192, "local connections at once") \
    LIMIT(ID, 64, "bytes of the name that a caller gives its call: a UUID, with room for a prefix") \
    LIMIT(QUEUE_MAX, 256, "callers queued before one session") \
    LIMIT(SPOOL_MAX, 64 << 20, "bytes of raw output kept of one session or stream") \
    LIMIT(SPOOL_TOTAL, 1 << 30, "bytes of raw output kept of all; oldest finished output goes first") \
    LIMIT(SPOOL_FLOOR, 256 << 10, "bytes of its newest output that a stream keeps when all of them exceed the budget") \
    LIMIT(HOLD_BACK_MS, 5000, "milliseconds that a command is held back for a caller that waits for it and takes nothing") \
    LIMIT(SPOOL_MEMORY, 4 << 20, "bytes kept of one session when only memory can hold them") \
    LIMIT(READ_PER_TURN, 256 << 10, "bytes moved for one descriptor before the next one's turn") \
    LIMIT(TEXT_HEAD, 16 << 10, "bytes of text at the head of an answer") \
    LIMIT(TEXT_TAIL, 48 << 10, "bytes of text at the tail of an answer: ends say more than beginnings") \
    LIMIT(CONN_OUT_MAX, 16 << 20, "bytes queued to a client; output stops far below it and is caught up from the spool") \
    LIMIT(SPAWN_MAX, 6 << 20, "bytes of arguments and environment of a new shell or process: the most that a kernel takes") \
    LIMIT(SPAWN_STRING, 128 << 10, "bytes of one argument or variable, its end included: as the kernel has it") \
    LIMIT(BLOB_MAX, 96 << 10, "bytes of one state kept by the keeper") \
    LIMIT(BLOBS_MAX, 64 << 20, "bytes of all states kept by the keeper: environments of sessions, mostly") \
    LIMIT(LISTENERS_MAX, 15, "addresses to serve HTTP on: more are a mistake") \
    LIMIT(API_KEY_MAX, 1024, "bytes of the key that HTTP clients send: a header's value, several times over") \
    LIMIT(WRONG_KEYS, 5, "wrong keys of HTTP clients that are answered as such in any second; the others get 429") \
    LIMIT(KEYS, 64, "keys of the HTTP listeners at once: some for each program that asks") \
    LIMIT(WS_WITHOUT_KEY, 64, "WebSockets at once that have not sent their key yet: each has a descriptor, for ten seconds at most") \
    LIMIT(HTTP_CONNS, 100000, "HTTP connections at once, if the descriptor limit allows them") \
    LIMIT(HTTP_IDLE_MS, 75000, "milliseconds a kept HTTP connection may be silent: longer than most clients keep theirs") \
    LIMIT(HTTP_HEAD_MS, 10000, "milliseconds from the first byte of a request's head to its last") \
    LIMIT(HTTP_BODY_MS, 30000, "milliseconds without a byte of a body that is on its way") \
    LIMIT(HTTP_WRITE_MS, 60000, "milliseconds in which a peer may take no byte of its answer") \
    LIMIT(EVENT_MAX, 1 << 20, "bytes of one event: sixteen times what an answer holds of output") \
    LIMIT(EVENT_SEGMENT, 4 << 20, "bytes of events in one file: read whole when the log is opened, in milliseconds") \
    LIMIT(EVENTS_TOTAL, 256 << 20, "bytes of events on disk; the oldest go first") \
    LIMIT(EVENT_RESERVE, 512 << 10, "bytes of disk reserved for events: two hundred small actions") \
    LIMIT(EVENTS_MEMORY, 16 << 20, "bytes of events when only memory can hold them") \
    LIMIT(ZIP_ENTRIES, 1000000, "files in one zip archive that is unpacked") \
    LIMIT(ZIP_TOTAL_MIB, 64 << 10, "MiB that one archive may unpack to") \
    LIMIT(ZIP_RATIO, 200, "to one: an archive that unpacks to more than this and ZIP_FREE_MIB is refused") \
    LIMIT(ZIP_FREE_MIB, 1 << 10, "MiB that an archive of any ratio may unpack to") \
    LIMIT(START_MS, 15000, "milliseconds that rc files get before a shell is started without them") \
    LIMIT(TYPED_MS, 10000, "milliseconds that a shell gets to begin a command before it is interrupted; after half of that again a fresh shell replaces it") \
    LIMIT(DRAIN_MS, 5000, "milliseconds that requests in flight get when the server ends: half of what docker stop gives") \
    LIMIT(BUS_FLUSH_MS, 15000, "milliseconds that events get to reach the bus when the server ends: with the others half of a pod's 30 s") \
    LIMIT(LEAVE_MS, 1000, "milliseconds that HTTP requests in flight get when another worker follows") \
    LIMIT(GRACE_MS, 2000, "milliseconds between TERM and KILL") \
    LIMIT(IDLE_EXIT_S, 8 * 3600, "seconds without clients and commands before a server that a client started ends") \
    LIMIT(HTTPC_IDLE_MS, 60000, "milliseconds that a server we asked may be silent") \
    LIMIT(WS_PING_MS, 10000, "milliseconds of a WebSocket peer's silence before it is sent a ping") \
    LIMIT(WS_DEAD_MS, 30000, "milliseconds of a WebSocket peer's silence, pings included, before it counts as gone") \
    LIMIT(TLS_HANDSHAKE_MS, 10000, "milliseconds that a TLS handshake may take: as long as the head of a request") \
    LIMIT(TLS_GREETING, 256, "TLS handshakes of clients at once: each holds 40 KiB; the next ones wait in the kernel's queue") \
    LIMIT(TLS_TICKET_S, 3600, "seconds in which a TLS client may resume its session") \
    LIMIT(TLS_PATIENCE_MS, 1000, "milliseconds after which the oldest of them makes room for the next client") \
    LIMIT(DIAL_MS, 30000, "milliseconds from a name to a connection that is ready, TLS and proxy included") \
    LIMIT(ZMTP_IN, 256 << 10, "bytes read from a kernel at once; a longer message is put together from such pieces") \
    LIMIT(ZMTP_OUT, 16 << 20, "bytes queued to a kernel: a cell, several times over") \
    LIMIT(KERNEL_MESSAGE, 128 << 20, "bytes of one message of a kernel: a picture, or what a cell printed at once") \
    LIMIT(JUPYTER_IN, 10 << 20, "bytes of one message of a Jupyter client: as Jupyter's server has it") \
    LIMIT(JUPYTER_OUT, 32 << 20, "bytes of one message to a Jupyter client; a longer one becomes a line that says so") \
    LIMIT(JUPYTER_CLIENTS, 64, "Jupyter clients at once, and places in a kernel's output that are kept for those that reconnect") \
    LIMIT(KERNELS_MAX, 64, "Jupyter kernels at once: each is an interpreter") \
    LIMIT(KERNEL_HEART_MS, 10000, "milliseconds without a heartbeat before a kernel that runs a cell is said to hang: longer than a busy machine needs") \
    LIMIT(KERNEL_START_MS, 60000, "milliseconds that a kernel may take to answer first: R and Java on a cold disk") \
    LIMIT(BROWSERS_MAX, 16, "browsers with names at once: each takes some 200 MiB") \
    LIMIT(BROWSER_IDLE_MS, 1800000, "milliseconds that a browser is kept open unused") \
    LIMIT(CDP_MESSAGE, 64 << 20, "bytes of one message of a browser: the tree of a page of 50,000 elements") \
    LIMIT(CONNECT_WAIT_MS, 30000, "milliseconds at most between two tries to reach the backend") \
    LIMIT(PEM_MAX, 4 << 20, "bytes of a file of certificates or keys: sixteen times a distribution's bundle") \
    LIMIT(WS_CLOSE_MS, 5000, "milliseconds that a WebSocket peer gets for its part of the closing")

enum {
#define LIMIT(name, value, why) LIMIT_##name = (value),
    LIMITS(LIMIT)
#undef LIMIT
};

#endif
