/* SPDX-License-Identifier: MIT */
/*
 * An op is a waiting caller; a command is what the shell runs. An op may end
 * (time limit, caller gone) while its command goes on, and a later op can wait
 * for the same command. Ops know no wire protocol: output, notes and the result
 * go to the op's sink.
 */
#ifndef OD_SHELL_OP_H
#define OD_SHELL_OP_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "engine/gate.h"
#include "io/loop.h"
#include "os/look.h"
#include "term/term.h"

struct op;
struct session;
struct process;

enum op_state {
    OP_ENDED,      /* the command ended: exit, cwd */
    OP_RUNNING,    /* the wait ended (see why), the command goes on */
    OP_SHELL_ENDED, /* the command ended its shell: exit */
    OP_NOTHING,    /* OP_WAIT, and no command runs */
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
    struct json *refused; /* owned by the op; sentences of NOTE_FENCE; NULL: none */
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
    NOTE_STDIN,       /* it waits for the caller's standard input, where nothing comes */
    NOTE_UNTOLD,      /* how the previous command ended; its output is from … to */
    NOTE_BACKGROUND,  /* output of background jobs since the last answer: from … to */
    NOTE_DROPPED_INPUT,
    NOTE_OUTPUT,      /* the shell's output goes elsewhere */
    NOTE_CWD,         /* the directory of the shell is gone */
    NOTE_SHELL,       /* the shell runs on pipes, without rc files, or was interrupted */
    NOTE_FRESH_SHELL,
    NOTE_REINSTALLED, /* the code that reports the ends of commands */
    NOTE_DISK,        /* the disk is full; from: bytes that are left of the reserve */
    NOTE_FENCE,       /* the fence refused something to one of its programs */
    NOTE_KEYS,        /* no text; session_type has room again */
    NOTE_STATE,       /* no text; what the session does, or its size, may have changed */
    NOTE_KINDS
};

/* The text of a NOTE_DROPPED_INPUT: this, then up to 80 bytes of the first line. */
#define NOTE_DROPPED_TEXT "unread input was dropped: "

struct op_sink {
    /*
     * Takes bytes of stream (0: output, 1: error output) at offset. Returns how many it
     * took; if not all, the sink calls op_pump when it has room. NULL: the sink wants no
     * output.
     */
    size_t (*output)(struct op *op, int stream, uint64_t offset, struct str bytes);
    void (*note)(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                 uint64_t to);
    /* The last call: the op is freed at the end of the turn. */
    void (*done)(struct op *op);
    /*
     * Did the peer receive bytes since the last call? NULL: the sink cannot know.
     */
    bool (*moves)(struct op *op);
    /* Would output() take anything now? If not, the sink calls op_pump. NULL: try it. */
    bool (*room)(struct op *op);
};

enum op_kind {
    OP_RUN,
    OP_WAIT, /* wait for the command that runs */
    OP_VIEW, /* attached: all output, until the op is dropped. Stream 1 is output whose
                newlines need a carriage return, which the sink adds */
    OP_LOGS  /* read from cursor to limit, or follow */
};

struct op {
    struct list node; /* in its session's queue or waiters */
    enum op_kind kind;
    struct session *session; /* borrowed */
    struct process *process; /* instead of a session */
    const struct op_sink *sink;
    void *owner; /* the sink's; NULL: the caller is gone, the sink is not called */
    char id[LIMIT_ID + 1];      /* the caller's; "": none */
    char parent[LIMIT_ID + 1];  /* OD_OP of the caller */
    char *as; /* owned; see op_command; NULL if the caller did not send it */
    /* What was asked */
    struct buf command; /* owned; emptied when it was handed to the shell */
    int64_t timeout_ms, idle_ms; /* 0: none */
    bool stream, text, no_wait, detach, return_on_input, with_stdin;
    bool fail_on_input; /* with BUSY, if it is queued and the running command waits */
    bool outlasts_start; /* its timeout does not end it while its shell starts */
    bool own; /* a command of the server itself, which callers do not see */
    uint64_t output_from; /* already received of this command, after a reconnect */
    /* What happens */
    bool caller; /* waits for this command, whose output is held back for it */
    bool queued, settled, done, filter; /* filter: leave marks out */
    bool told_input; /* got NOTE_WAITING since the command's last output */
    bool skip_noise;        /* leave out what the shell prints between commands, too */
    bool skip_exit;         /* leave out what set -v shows of our trap on EXIT */
    bool stderr_only;       /* OP_LOGS of a process: its error output */
    uint64_t limit;         /* OP_LOGS: stop here; UINT64_MAX: follow */
    uint64_t behind_max;    /* further behind than this, it skips ahead; 0: never */
    uint64_t lost_from, lost_to; /* a gap that is not reported yet; lost_to 0: none */
    bool disk_full;              /* the reason of that gap */
    uint64_t skipped[2];         /* bytes of each stream that its model never got */
    uint64_t cursor;    /* the next offset to deliver */
    uint64_t cursor_err;
    struct term *term;  /* owned; if text is set, else NULL */
    struct term *term_err; /* owned; the same for a process's error output */
    struct gate_wait gate; /* before its command is typed */
    struct timer hard, idle;
    struct task pump;
    struct op_result r;
};

/* A new op. The session or process that takes it (session_run, process_wait) owns it. */
struct op *op_new(enum op_kind kind, const struct op_sink *sink, void *owner);
/* Delivers available output, as far as the sink takes it; a bounded part per turn. */
void op_pump(struct op *op);
/* Ends the wait: delivers the output up to r.to, then calls done. */
void op_settle(struct op *op);
/*
 * Is stream 0 or 1 held back for this op? If so, *at is the first byte that it wants, and
 * before it what was handed over and may be on its way: at most `room` bytes, which is a
 * part of the spool, or the op waits for output that has no room in it.
 */
bool op_holds(const struct op *op, int stream, uint64_t room, uint64_t *at);
/* Did the peer of any of these ops receive bytes since the last call? */
bool op_any_moves(struct list *ops);
/* Ends the op without calling its sink again. */
void op_drop(struct op *op);
/* How a command line of the caller begins, for hints: "od-exec", "od exec". */
const char *op_command(const struct op *op);
/* Passes a note to the sink, if there is a caller. from and to: see enum note_kind. */
void op_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
             uint64_t to);

#endif
