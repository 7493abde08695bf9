/* SPDX-License-Identifier: MIT */
/*
 * An op is somebody waiting; a command is what the shell runs. An op may end
 * (a time limit, its caller gone) while its command goes on, and a later op
 * looks at the same command again. Neither knows any wire protocol: what an op
 * yields goes through its sink.
 */
#ifndef OD_SHELL_OP_H
#define OD_SHELL_OP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "io/loop.h"
#include "os/look.h"
#include "term/term.h"

struct op;
struct session;
struct process;

enum op_state {
    OP_ENDED,      /* the command ended: exit, cwd */
    OP_RUNNING,    /* the wait ended, the command goes on: why */
    OP_SHELL_ENDED, /* the command ended its shell: exit */
    OP_NOTHING,    /* a wait, and nothing runs */
    OP_FAILED      /* error */
};
enum op_why { OP_WHY_NONE, OP_TIMEOUT, OP_IDLE, OP_INPUT, OP_DETACHED, OP_CANCELLED };

struct op_result {
    enum op_state state;
    enum op_why why;
    int exit;            /* 0 to 255 */
    int signo;           /* when a signal ended it */
    uint64_t seq;        /* the command's number */
    uint64_t from, to;   /* its output in the spool, as far as this answer goes */
    int64_t duration_ms;
    struct look look;    /* waiting for input? */
    bool looked;
    struct err err;
};

/* What a note to the caller is about. It has a text unless its line says otherwise. */
enum note_kind {
    NOTE_STARTED,     /* no text; from: number of the command; to: where its output is */
    NOTE_WINDOW,      /* no text; from: bytes of its standard input that were taken */
    NOTE_GAP,         /* output from … to is lost */
    NOTE_QUEUED,      /* the session is busy */
    NOTE_WAITING,     /* the command waits for input */
    NOTE_PROBABLY_WAITING,
    NOTE_STDIN,       /* it waits for the caller's standard input, which gives nothing */
    NOTE_UNTOLD,      /* how the command before ended; its output is from … to */
    NOTE_BACKGROUND,  /* output of background jobs since the last answer: from … to */
    NOTE_DROPPED_INPUT,
    NOTE_OUTPUT,      /* that of the shell goes elsewhere */
    NOTE_CWD,         /* the directory of the shell is gone */
    NOTE_SHELL,       /* runs on pipes, without rc files, or was interrupted */
    NOTE_FRESH_SHELL,
    NOTE_REINSTALLED, /* what reports the ends of commands */
    NOTE_KEYS,        /* no text; session_type has room again */
    NOTE_KINDS
};

struct op_sink {
    /*
     * Bytes of stream (0: output, 1: error output) at offset. Returns how many
     * were taken; fewer than all: the sink calls op_pump when it has room. NULL: the
     * sink does without them.
     */
    size_t (*output)(struct op *op, int stream, uint64_t offset, struct str bytes);
    void (*note)(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                 uint64_t to);
    /* The last call: the op is freed at the end of the turn. */
    void (*done)(struct op *op);
    /*
     * Has the peer taken bytes of what was handed over since the last call? NULL: what
     * output() takes is all that is known.
     */
    bool (*moves)(struct op *op);
    /* Would output() take anything now? If not, the sink calls op_pump. NULL: ask it. */
    bool (*room)(struct op *op);
};

enum op_kind {
    OP_RUN,
    OP_WAIT, /* look at what runs */
    OP_VIEW, /* attached: everything, until it is dropped; as stream 1 what has
                newlines without returns, for its sink to mend */
    OP_LOGS  /* read from cursor to limit, or follow */
};

struct op {
    struct list node; /* in its session's queue or waiters */
    enum op_kind kind;
    struct session *session; /* borrowed */
    struct process *process; /* instead of a session */
    const struct op_sink *sink;
    void *owner; /* the sink's; NULL: nobody listens any more */
    char id[LIMIT_ID + 1];      /* the caller's; "": none */
    char parent[LIMIT_ID + 1];  /* OD_OP of the caller */
    char *as; /* owned; see op_command; NULL if the caller did not send it */
    /* What was asked */
    struct buf command; /* owned; emptied when it was handed to the shell */
    int64_t timeout_ms, idle_ms; /* 0: none */
    bool stream, text, no_wait, detach, return_on_input, with_stdin;
    /*
     * Queued behind what waits for input, it fails with BUSY. Its timeout does not end it
     * while its shell starts.
     */
    bool fail_on_input;
    bool own; /* a command of the server's: no caller is told of it */
    uint64_t output_from; /* already received of this command, after a reconnect */
    /* What happens */
    bool caller; /* waits for this command, which is held back for it */
    bool queued, settled, done, filter; /* filter: leave marks out */
    bool told_input; /* that the command waits for input, since its last output */
    bool skip_noise;        /* and what the shell said between commands */
    bool stderr_only;       /* OP_LOGS of a process: its error output */
    uint64_t limit;         /* OP_LOGS: stop here; UINT64_MAX: follow */
    uint64_t lost_from, lost_to; /* a gap that is not told yet; lost_to 0: none */
    bool disk_full;              /* why it is lost */
    uint64_t skipped[2];         /* bytes of each stream that its model never got */
    uint64_t cursor;    /* the next offset to deliver */
    uint64_t cursor_err;
    struct term *term;  /* owned; when text is asked */
    struct term *term_err; /* owned; the same of a process's error output, or NULL */
    struct timer hard, idle;
    struct task pump;
    struct op_result r;
};

/* A new one; whoever it is handed to owns it. */
struct op *op_new(enum op_kind kind, const struct op_sink *sink, void *owner);
/* Delivers what there is, as far as the sink takes it. */
void op_pump(struct op *op);
/* The wait ends; what is not delivered yet is delivered first. */
void op_settle(struct op *op);
/* Is stream 0 or 1 held back for this op? Then *at is the first byte that it may want. */
bool op_holds(const struct op *op, int stream, uint64_t *at);
/* One of these ops' peers took bytes since the last call. */
bool op_any_moves(struct list *ops);
/* Nobody listens any more: drops it without a word. */
void op_drop(struct op *op);
/* How a command line of the caller begins, for hints: "od-exec", "od exec". */
const char *op_command(const struct op *op);
void op_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
             uint64_t to);

#endif
