/* SPDX-License-Identifier: MIT */
/*
 * Inside a session: what the files session*.c share and nobody else sees.
 */
#ifndef OD_SHELL_SESSION_OWN_H
#define OD_SHELL_SESSION_OWN_H

#include "base/limits.h"
#include "shell/session.h"

#include <termios.h>

enum {
    DONE_KEPT = 16,  /* answers kept for callers that come back */
    INPUTS_KEPT = 4, /* ids of input that was typed */
    SKIPS = 32,      /* noise ranges remembered */
    BARES = 32,
    SWITCH_MS = 300, /* for the prompt to come or go; then the line is not read */
    SWITCHES_MAX = 4,
    LOOK_FIRST_MS = 60, /* quiet for that long: is it waiting? */
    LOOK_NEXT_MS = 120,
    LOOK_AGAIN_MS = 1000, /* it was waiting: still? */
    PROBABLY_MS = 2000,   /* quiet for that long: what may wait for input probably does */
    FLOW_LOOK_MS = 1000,
    ENV_AFTER_MS = 50,
    PROMPT_WAIT_MS = 200,    /* for what the shell says it dropped */
    STORED_PARTS = 16, /* of a spool: so much output, and its state is stored anew */
    RECORDS_MAX = 48 << 10,  /* bytes of the file r before it begins anew */
    RECORDS_MORE = 16 << 10, /* reserved for those that come before that is done */
    INSTALLS_MAX = 3,        /* for one command; then the shell is beyond help */
    STARTS_MAX = 3,          /* of shells that run no command */
    EXIT_GRACE_MS = 300,
    ENV_MAX = LIMIT_SPAWN_MAX, /* of exported variables */
    SPAWN_ENV_MAX = LIMIT_SPAWN_MAX + ENV_MAX + 8192, /* those of --env, and ours */
    ROWS = 50, COLS = 200,
    CANON_MAX = 4095     /* n_tty keeps 4,096 bytes of a line, its end included */
};

/* What the shell runs, or ran last. */
struct command {
    uint64_t seq;
    char id[LIMIT_ID + 1];
    char parent[LIMIT_ID + 1];
    char head[120];      /* its first line, for lists */
    bool started, ended, reads;
    bool fed; /* somebody typed to it */
    uint64_t from, to;
    uint64_t typed_at; /* offset of the output when it was typed */
    int status;
    int64_t since_ms, wall_ms, duration_ms;
};

struct done {
    char id[LIMIT_ID + 1];
    uint64_t seq, from, to;
    int status;
    bool shell_ended;
    int64_t duration_ms;
};

struct skip {
    uint64_t from, to;
};

struct killing {
    struct list node;
    struct session *s;
    pid_t pid;   /* the shell, and its tag, as they were */
    char tag[9];
    uint64_t seq;      /* the command that is to end, and since when it runs: */
    int64_t since_ms;  /* what people type has no seq of its own */
    uint64_t from, to; /* see struct tree_of */
    pid_t group;       /* in the foreground when it was last signalled */
    int sig, rounds, found;
    int64_t grace_ms, wait_ms, next_at;
    bool ran;          /* a command was running when it began */
    bool end, no_proc, asked;
    bool left; /* session_kill_cancel: nobody is told of the end */
    session_killed_fn *fn;
    void *arg;
    struct timer timer;
};

struct session {
    struct engine *en;
    char *name;
    enum session_state state;
    struct shell sh;
    struct proc proc;      /* the shell at the keeper */
    struct proc feed;      /* the FIFO of a command's standard input */
    bool feeding, feed_eof;
    uid_t uid;
    gid_t gid;
    char cwd[4096];
    char path[4096];       /* PATH at the last end, cut between two directories */
    pid_t last_background; /* $! then; 0: none */
    struct buf opts_env;   /* as given when it was made */
    struct buf env;        /* snapshot: NAME=VALUE\0… */
    char env_lost[200];    /* what of it a fresh shell does not have, to be told; "" */
    char shell_wanted[256], user[64];
    int rows, cols;
    bool with_rc, lost_rc;
    enum fresh {
        FRESH_NO,
        FRESH_IDLE, /* a new shell took over, as the old one was when it was idle last */
        FRESH_EXIT  /* the same, as the old one was when it exited; both said once */
    } fresh;
    bool lived;            /* a shell came to its prompt */
    bool start_late;       /* the shell is ended because it came to no prompt */
    int fresh_status;      /* of the shell before */
    char ended_for[160];   /* why od ended that one; "": it did not */
    unsigned starts;       /* shells started since a command last began */
    uint64_t born;         /* offset of the output when the shell was started */
    unsigned troubles;     /* commands in a row that needed session_repair.c */
    bool late;             /* the shell was interrupted, so that this command begins */
    bool condemned;        /* the shell is being ended: nothing is typed to it */
    char pty_error[256];   /* why there is no terminal */

    uint64_t seq;          /* of the last command typed */
    uint64_t scanned;      /* output searched for marks up to here */
    uint64_t unread;       /* end of what was overwritten unsearched; 0: nothing was */
    uint64_t stored;       /* scanned, as the keeper has it */
    uint64_t records;      /* offset in the file r */
    uint64_t seen;         /* output given to callers up to here */
    uint64_t idle_bytes;   /* output outside of commands since then */
    char flags[32];        /* $- at the last end, and what shell.h has more */
    bool output_away;      /* they say that output goes elsewhere */
    uint64_t noise_from;   /* set -x or -v was on there: what follows is ours */
    enum op_state untold;  /* how the last command ended, if nobody has heard: OP_ENDED,
                              OP_SHELL_ENDED; else OP_NOTHING */
    uint64_t own_seq;      /* the last command of the server's own; 0: none */
    uint64_t killed_seq;   /* the last one whose end its killer was told */
    bool rerun;            /* its shell ended before it began: the next one runs it */
    bool run_traced;       /* the line that was typed keeps set -x quiet itself */
    bool ack_due;
    bool wait_prompt;      /* the end is answered at the prompt: see on_end */
    bool installing;       /* a probe or new generation was typed */
    /*
     * An end is believed when the mark and the record in the file r agree. One
     * without a record (a full disk) waits here until a look from outside sees
     * the shell reading: it does so until we acknowledge.
     */
    uint64_t record_seq, end_seq; /* of the last record; of the last E */
    int record_status, end_status;
    struct mark unproved; /* kind 0: none */
    uint64_t unproved_at;
    bool withheld;        /* callers see the output before it, until a look decides */
    struct command cmd;
    struct done done[DONE_KEPT];
    unsigned done_next;
    char inputs[INPUTS_KEPT][LIMIT_ID + 1];
    unsigned inputs_next;
    bool input_named;      /* the next input is kept with its id */
    struct skip skips[SKIPS];
    unsigned skips_next;
    char dropped[160];     /* input that nobody read, to be told */

    struct list queue;     /* ops that wait for their turn */
    struct list waiters;   /* ops that wait for the command */
    struct list viewers;   /* attached */
    struct list logs;      /* readers */
    struct list kills;
    struct timer look, start, env_timer, prompt, exit_timer;
    struct timer flow; /* a caller is far behind: does it take bytes? */
    struct task scan;
    bool looking;
    unsigned probes;       /* looks in a row that saw the shell at its prompt */
    struct look last_look;
    struct look denied_look; /* the user's, while root is asked */
    bool looked;
    bool told_feed;         /* that it reads a pipe which gives nothing */
    int64_t quiet_since_ms; /* the last output or input of the command */
    uint64_t quiet_at;     /* offset when the look timer was set */
    struct io env_io;      /* the FIFO e while a snapshot is under way */
    struct buf env_text;
    bool env_begun;     /* the text in env_text is whole */
    bool env_asked;     /* the worker before may have asked for a snapshot, too; until
                           the next command begins */
    struct buf kept;    /* the state as last stored; see session_state.c */
    struct buf text;    /* the command, until it has begun */
    size_t partial;     /* bytes of input since its last newline */
    unsigned installs;  /* of our code, since the last end */
    struct buf early;   /* input that came before the command began */
    int record_fd;      /* the file r; -1: not open */
    bool attached_mode; /* the terminal echoes and translates newlines */
    bool prompt_on;     /* and the shell prints a prompt, or is told to */
    bool switching;     /* it was told to change that: nothing is typed until mark A */
    unsigned switches;  /* times it was told */
    uint64_t switch_at; /* offset of the output then */
    struct timer switch_timer;
    uint64_t echo_at;        /* where the terminal shows what we typed; 0: nowhere */
    struct skip bare[BARES]; /* output of programs whose newlines are bare, for people */
    unsigned bares_next;
};

static inline const struct keep_stream *session_out(const struct session *s)
{
    return &s->proc.r.out[0];
}

/* session_start.c */
/* Writes a file of the directory; never cut to nothing, which is slow on a disk. */
int session_put_file(struct session *s, const char *name, struct str text, struct err *e);
void session_reserve_records(struct session *s);
int session_make_fifo(struct session *s, const char *name);
void session_fail_queue(struct session *s, const struct err *e);
void session_start(struct session *s);
/* From now on the shell has LIMIT_START_MS to come to its first prompt. */
void session_limit_start(struct session *s);

/* session_records.c */
void session_read_records(struct session *s);
/*
 * Begins the file anew when it has grown. For an idle session only: what was read
 * from it is stored first, and of a command that runs the end would not be known to
 * a worker that takes over right then.
 */
void session_empty_records(struct session *s);
/* What PATH a new shell finds, and that it has no job yet. */
void session_first_path(struct session *s);

/* session_tty.c */
struct termios session_termios(bool attached);
void session_set_echo(struct session *s);
void session_restore_tty(struct session *s);
/* Fills in sh.tty for a terminal whose master this is, where there is no /dev/tty. */
void session_name_tty(struct session *s, int master);
void session_sync_prompt(struct session *s);
void session_switched(struct session *s);
void session_switch_again(struct session *s);
void session_attach_mode(struct session *s, bool on);

/*
 * Does the shell wait in code of ours when it is idle, until LINE_NEXT comes?
 * That may be said too often, never too seldom.
 */
bool session_held(const struct session *s);
void session_hold(struct session *s);

/* session_state.c */
void session_key_name(struct session *s, struct buf *key);
/* The state as it is to be stored now; borrowed until it is packed again. */
struct str session_pack(struct session *s);
void session_store(struct session *s, struct str bytes);
/* The same with a command, whose start mark will answer; awaited: a caller waits. */
void session_store_command(struct session *s, struct str bytes, bool awaited);
void session_save(struct session *s);
void session_say(struct session *s, enum shell_line what);
/* The line, and before it what lets a held shell read it. */
void session_add_line(struct session *s, struct buf *out, enum shell_line what);

/* session_look.c */
void session_look_later(struct session *s, int64_t ms);

/* session_env.c */
void session_env_done(struct session *s);
int session_env_listen(struct session *s);
/*
 * Adds what the shell before had exported. What the kernel would not pass to a new one
 * is left out, and noted in env_lost.
 */
void session_env_add(struct session *s, struct buf *out);
/* Is all of it as much as the kernel passes? If not, that is noted. */
bool session_env_fits(struct session *s, char *const *env);
void session_env_later(struct session *s);
/*
 * Takes the directory and the exported variables that the shell wrote when it exited.
 * False: it wrote none (it was killed, or replaced by exec), and what was known of its
 * last idle moment stays.
 */
bool session_take_left(struct session *s);

/* session_input.c */
/* To what runs, or to the prompt; at most as much as there is room for. */
void session_feed(struct session *s, struct str bytes);
void session_signal_group(struct session *s, pid_t group, int sig);

/* session_watch.c */
void session_watch_began(struct session *s);
/* failed: the command never ran; NULL: it ran. shell_ended: and ended its shell. */
void session_watch_ended(struct session *s, bool shell_ended, const struct err *failed);
int session_signal_of(int status);

/* session_kill.c */
void session_kill_step(struct session *s);

/* session.c */
void session_notify(struct list *ops, enum note_kind kind, const char *text);
struct session *session_make(struct engine *en, struct str name);
void session_copy(char *out, size_t size, struct str s);

/* session_run.c */
void session_feed_changed(struct proc *p);
/* The file with the command, in the words of this generation. */
int session_put_command(struct session *s, uint64_t seq, struct err *e);
/* Begins the next command, if the shell is idle, or the shell, if there is none. */
void session_next(struct session *s);
void session_stop_waiting(struct session *s, struct op *op, enum op_why why);
/* Fills in how the last command ended. */
void session_tell_end(struct session *s, struct op *op, enum op_state state);
/* Whether the running or last command is the server's own, such as V0's alias. */
bool session_sets_up(const struct session *s);
void session_quiet_again(struct session *s);

/* session_marks.c */
void session_changed(struct proc *p);
void session_on_scan(struct task *t);
/* To all who wait for the command, what they may have now. */
void session_pump_waiters(struct session *s);

/* session_repair.c */
/* Installs our code again, which mark I confirms. */
void session_install(struct session *s);
/* Types the command of s->cmd again: the file is still there. */
void session_retype(struct session *s);
/* From now on the shell has LIMIT_TYPED_MS to begin the command that was typed. */
void session_limit_typed(struct session *s);
/* A command ended without a valid mark. */
void session_trouble(struct session *s);

/* session_end.c */
void session_forget_feed(struct session *s);
void session_acknowledge(struct session *s, enum shell_line how);
/* Its start mark was overwritten before it was read: it began where it was typed. */
void session_missed_start(struct session *s);
/* What is known of a command that has ended; to: the end of its output. */
void session_end_command(struct session *s, uint64_t to, int status);
/* The command is over and its shell is (or soon will be) at its prompt. */
void session_command_over(struct session *s);
/* The worker before died between an end and what follows it. */
void session_over_again(struct session *s);
/* A mark E at that offset, which is believed. */
void session_take_end(struct session *s, const struct mark *m, uint64_t at);
/* The end that had no record is one after all. */
void session_believe(struct session *s);
/*
 * The end of a command whose mark fell into a gap (a full disk): the shell reads,
 * and the record tells. false: that is not what happened.
 */
bool session_end_by_record(struct session *s);
/* Exit and everything drained, or exit and a grace: something holds the tty. */
void session_shell_exit(struct session *s);
/* The worker before had forgotten the shell, and died before it started the next one. */
void session_shell_lost(struct session *s);

#endif
