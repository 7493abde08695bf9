/* SPDX-License-Identifier: MIT */
/*
 * Inside a session: what the files session*.c share and nobody else sees.
 */
#ifndef OD_SHELL_SESSION_OWN_H
#define OD_SHELL_SESSION_OWN_H

#include "base/limits.h"
#include "shell/session.h"
#include "shell/times.h"
#include "term/question.h"

#include <termios.h>

enum {
    ANSWERS_KEPT = 16,
    INPUTS_KEPT = 4, /* ids of input that was typed */
    SKIPS = 32,      /* noise ranges remembered */
    BARES = 32,
    SWITCH_MS = 300, /* for the prompt to come or go; later: the line was not read */
    SWITCHES_MAX = 4,
    LOOK_FIRST_MS = 60, /* quiet for that long: is it waiting? */
    LOOK_NEXT_MS = 120,
    LOOK_AGAIN_MS = 1000, /* it was waiting: still? */
    LOOK_BUSY_MS = 500,   /* output comes all the time: does it redraw and listen? */
    REDRAWS_SEEN = 3,     /* looks that must have seen that */
    LOST_LOOKS = 2,       /* that saw the shell at its prompt while a command runs */
    LOST_LOOKS_TYPED = 8, /* the same before it has begun */
    PROBABLY_MS = 2000,   /* quiet for that long: what may wait for input probably does */
    FLOW_LOOK_MS = 1000,
    ENV_AFTER_MS = 50,
    ENV_GATHER_MS = 2,
    EARLY_MAX = 64 << 10,
    PROMPT_WAIT_MS = 200, /* for what the shell says it dropped */
    INTERRUPT_MS = 20,    /* for the shell to put a program that it starts in front */
    INTERRUPT_LOOKS = 8,  /* after a SIGINT, each twice as late as the one before */
    INTERRUPT_LOOKS_CHILD = 12, /* at a child that has not started its program */
    STORED_PARTS = 16,          /* the state is stored after each such part of a spool */
    RECORDS_MAX = 48 << 10,     /* bytes of the file r; then it is emptied when idle */
    RECORDS_MORE = 16 << 10,    /* reserved for records that come before that */
    RECORDS_FULL = 8 << 10, /* the same on a full disk, where it may have no more room */
    INSTALLS_MAX = 3,       /* for one command; then the shell is beyond help */
    STARTS_MAX = 3,         /* of shells that run no command */
    EXIT_GRACE_MS = 300,
    SESSION_TEXT_MAX = 4096,   /* of the directory and PATH, with a terminator */
    ENV_MAX = LIMIT_SPAWN_MAX, /* of exported variables */
    SPAWN_ENV_MAX = LIMIT_SPAWN_MAX + ENV_MAX + 8192, /* those of --env, and ours */
    ROWS = 50,
    COLS = 200,
    CANON_MAX = 4095 /* n_tty keeps 4,096 bytes of a line, its end included */
};

/*
 * ---- the parts of a session ----
 *
 * Each part is embedded in struct session and belongs to one file. Other files read its
 * members, and call the functions of that file to change them (build/check-parts.awk).
 * session.c makes sessions and frees them, and session_state.c fills them in for a worker
 * that takes over: these two write all parts.
 */

struct skip {
    uint64_t from, to;
};

/* What the shell runs, or ran last. A part of the stored state: see session_state.c. */
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

/* The answer about a command that ended; also a part of the stored state. */
struct answer {
    char id[LIMIT_ID + 1];
    uint64_t seq, from, to;
    int status;
    bool shell_ended;
    int64_t duration_ms;
};

struct session_answers {
    struct answer kept[ANSWERS_KEPT]; /* for callers that come back */
    unsigned next;
};

/* What the caller asked for when it made the session. */
struct session_given {
    struct buf env; /* owned */
    char shell[256], user[64];
};

/* The callers of commands, and what they were told. */
struct session_run {
    struct list queue;   /* ops that wait for their turn */
    struct list waiters; /* ops that wait for the command */
    struct list logs;    /* readers */
    struct timer flow;   /* a caller is far behind: does it take bytes? */
    uint64_t seq;        /* of the last command typed */
    uint64_t own_seq;    /* the last command of the server's own; 0: none */
    struct buf text;     /* owned: the command, until it has begun */
    bool traced;         /* a bash, whose typed line itself keeps set -x quiet */
    bool shown;          /* set -v may show our trap on EXIT */
    uint64_t seen;       /* output given to callers up to here */
    uint64_t idle_bytes; /* output outside of commands since then */
    uint64_t idle_line;  /* how much of that is the line that has no end yet */
    unsigned idle_step;  /* how much of it is as a line about jobs */
    enum op_state untold; /* how the last command ended, if no caller was told: OP_ENDED,
                             OP_SHELL_ENDED; else OP_NOTHING */
};

/* The search of the output for marks. */
struct session_scan {
    struct task task;
    uint64_t at;         /* searched up to here */
    uint64_t unread;     /* end of what was overwritten unsearched; 0: nothing was */
    uint64_t noise_from; /* set -x or -v was on there: what follows is ours */
    struct skip skips[SKIPS];
    unsigned skips_next;
};

/* How the newest command's end is known and acknowledged. */
struct session_end {
    /*
     * The shell drops input from its mark E until we acknowledge the end. If somebody
     * typed to the command, callers get the answer at the prompt that follows.
     */
    enum end_step {
        END_NONE,
        END_HEARD,    /* the acknowledgement is due */
        END_AT_PROMPT /* a prompt was asked for; PROMPT_WAIT_MS at most */
    } step;
    struct timer prompt;
    uint64_t held; /* the command whose end bash waits to see acknowledged; 0: none */
    uint64_t asked; /* the command after which a prompt was asked for, until its mark P
                       comes, which may be late; 0: none */
    /*
     * An end is believed when the mark and the record in the file r agree. A mark
     * without a record (a full disk) waits here until a look sees the shell reading
     * its terminal, which it does until we acknowledge.
     */
    enum end_proof {
        PROOF_NOTHING,  /* no end waits */
        PROOF_WITHHELD, /* callers see the output before it, until a look decides */
        PROOF_SHOWN     /* it seems that a program wrote the mark; the output goes on */
    } proof;
    struct mark unproved;
    uint64_t unproved_at;
};

/* The shell that ended; the next command's caller is told once. */
struct session_gone {
    enum fresh {
        FRESH_NO,
        FRESH_IDLE, /* a new shell took over, in the state of the last idle moment */
        FRESH_EXIT  /* the same, in the state of the old shell's exit */
    } fresh;
    int status;
    char why[160];      /* why od ended it; "": it did not */
    bool rerun;         /* it ended before its command began: the next one runs it */
    struct timer grace; /* it exited, and something holds its terminal */
};

/* Starting a shell. */
struct session_start {
    enum rc {
        RC_READ,
        RC_LEFT_OUT, /* the shell comes to no prompt with them; no caller was told yet */
        RC_NONE      /* the same, and a caller was told */
    } rc;
    bool lived;          /* a shell came to its prompt */
    bool late;           /* the shell is ended because it came to no prompt */
    const char *slow;    /* the rc file in which it was then; NULL: it was not late */
    unsigned tries;      /* shells started since a command last began */
    uint64_t born;       /* offset of the output when the shell was started */
    char pty_error[256]; /* why there is no terminal */
    struct timer limit;
};

/* The repair of a shell that does not take commands as it should. */
struct session_repair {
    unsigned troubles; /* commands in a row that needed a repair */
    unsigned installs; /* of our code, since the last end */
    bool installing;   /* a new generation was typed */
    enum health {
        HEALTH_GOOD,
        HEALTH_INTERRUPTED, /* the shell was interrupted, so that this command begins */
        HEALTH_CONDEMNED    /* the shell is being ended: nothing is typed to it */
    } health;
    struct timer limit; /* for a command that was typed */
};

/* What the shell reported last: the file r. */
struct session_report {
    uint64_t at; /* offset in the file: read up to here */
    int fd;      /* owned; -1: not open */
    bool sized;  /* `at` is within the file */
    uint64_t seq, end_seq; /* of the last record; of the last E */
    int status, end_status;
    char flags[32];        /* FLAGS of shell.h at the last end */
    bool output_away;      /* flags say that output goes elsewhere */
    char dropped[160];     /* unread input, for the next note; "": none */
    char *cwd;             /* owned; less than SESSION_TEXT_MAX bytes */
    char *path; /* the same: PATH at the last end, cut between two directories */
    pid_t last_background; /* $! then; 0: none */
};

/* Exported variables. */
struct session_env {
    struct buf vars; /* owned; snapshot: NAME=VALUE\0… */
    char lost[200];  /* which of vars a fresh shell lacks, for the next note; "": none */
    struct timer timer;
    struct io io; /* the FIFO e while a snapshot is under way */
    struct timer gather; /* until it is read, when it has something to read */
    struct buf text; /* owned */
    bool begun; /* text is whole so far */
    bool asked; /* until the next command begins: the previous worker may have asked for a
                   snapshot, too */
};

/* What is typed to a command. */
struct session_input {
    struct proc feed; /* the FIFO of its standard input */
    enum feeding {
        FEED_NONE,
        FEED_OPEN,
        FEED_EOF /* closed by us, or to be closed when the command has opened it */
    } feeding;
    char ids[INPUTS_KEPT][LIMIT_ID + 1];
    unsigned ids_next;
    bool named;       /* the next input is stored with its id */
    size_t partial;   /* bytes of input since its last newline */
    struct buf early; /* owned; input for a command that has not begun */
    char early_for[LIMIT_ID + 1]; /* the id of that command */
    bool interrupt;   /* such a command is to be interrupted when it has begun */
    struct timer interrupts; /* INTERRUPT_MS after that, or after a SIGINT */
    struct {
        uint64_t seq;   /* of the command that got it; 0: none is looked after */
        pid_t group;    /* that it was sent to */
        bool early;     /* whose program had not started then */
        unsigned looks; /* since then */
    } sigint;
};

/* A program that listens while it redraws, and how long the looks have seen it so. */
struct look_redraw {
    pid_t pid; /* 0: none */
    int64_t since_ms;
    unsigned seen, missed; /* looks that saw it so; that did not, in a row */
    bool told;             /* it probably waits */
};

/* Does the command wait for input? */
struct session_look {
    struct timer timer;
    bool asking;      /* the reaper was asked, and has not answered */
    bool known;       /* last is of the newest output */
    bool told_feed;   /* NOTE_STDIN was sent */
    unsigned probes;  /* looks in a row that saw the shell at its prompt */
    int64_t wide_after_ms; /* quiet for that long: the next wide look */
    bool strange;     /* the last look was wide, and may have found who waits */
    struct look_redraw redraw;
    int64_t asked_ms; /* when the reaper was asked last */
    struct look last;
    struct look denied;     /* the answer of the user's reaper, while root's is asked */
    int64_t quiet_since_ms; /* the last output or input of the command */
    uint64_t quiet_at;      /* offset when the timer was set */
};

/* The terminal, and people who are attached to it. */
struct session_tty {
    struct list viewers;
    struct list watchers; /* people who see, and change nothing */
    int rows, cols;
    bool attached; /* it echoes and translates newlines */
    enum prompt {
        PROMPT_OFF,    /* the shell prints none */
        PROMPT_COMING, /* LINE_ATTACH was typed: nothing more is typed until mark A */
        PROMPT_ON,
        PROMPT_GOING   /* the same with LINE_DETACH */
    } prompt;
    unsigned switches;  /* how often the line was typed again: its number */
    uint64_t overtaken; /* the end of a mark A that answers an earlier line; 0: none */
    bool dropped;       /* the shell has dropped the line: no other mark A comes */
    uint64_t switch_at; /* offset of the output when it was typed */
    struct timer timer;
    uint64_t echo_at;        /* where the terminal shows what we typed; 0: nowhere */
    struct skip bare[BARES]; /* output of programs whose newlines are bare, for people */
    unsigned bares_next;
};

/* Questions to the terminal, which the screen answers. */
struct session_ask {
    struct question_scan scan;
    bool due;       /* the output up to scan.at may have one that is not answered */
    uint64_t upto;  /* those before this offset are answered, or are another worker's */
    uint64_t drawn; /* the screen shows the output up to here */
    struct picture *screen; /* owned; NULL: the command has not asked */
    struct timer retry;     /* a line is being edited: answers wait */
    unsigned tries;
    char typed[256]; /* the newest answers: unread ones are no lost input */
    size_t typed_n;
};

/* The kills under way. */
struct session_kills {
    struct list list;
    uint64_t told_seq; /* the last command whose end was reported to its killer */
};

/* The state at the keeper. */
struct session_kept {
    uint64_t scanned; /* scan.at, as the keeper has it */
};

#define TIMES_FILE "times-session-%s" /* next to the spool */

struct session {
    struct engine *en; /* borrowed */
    char *name;        /* owned */
    uid_t uid;
    gid_t gid;
    struct proc proc;               /* the shell at the keeper */
    struct times times;             /* of its output */
    enum session_state state;       /* session.c: session_to */
    struct shell sh;                /* session_start.c */
    struct session_start start;     /* session_start.c */
    struct session_given given;     /* session.c */
    struct session_run run;         /* session_run.c */
    struct command cmd;             /* session_command.c */
    struct session_answers answers; /* session_command.c */
    struct session_scan scan;       /* session_marks.c */
    struct session_end end;         /* session_end.c */
    struct session_gone gone;       /* session_gone.c */
    struct session_repair repair;   /* session_repair.c */
    struct session_report report;   /* session_records.c */
    struct session_env env;         /* session_env.c */
    struct session_input input;     /* session_input.c */
    struct session_look look;       /* session_look.c */
    struct session_tty tty;         /* session_tty.c */
    struct session_ask ask;         /* session_ask.c */
    struct session_kills kill;      /* session_kill.c */
    struct session_kept kept;       /* session_state.c */
};

static inline const struct keep_stream *session_out(const struct session *s)
{
    return &s->proc.r.out[0];
}

/* session_start.c */
/* The shell came to its first prompt. */
void session_started(struct session *s);
void session_no_start_limit(struct session *s);
/* A command began: counts shells that are started from now on from 0 again. */
void session_first_try(struct session *s);
/* From now on shells are started without rc files; the next command gets a note. */
void session_leave_rc(struct session *s);
void session_rc_told(struct session *s);
/* Puts the next generation of our code into the file p. */
void session_next_code(struct session *s);
/* Sets sh.tty to the path of master's terminal. */
void session_name_tty(struct session *s, int master);
/* Writes a file of the directory over its old content: O_TRUNC is slow on a disk. */
int session_put_file(struct session *s, const char *name, struct str text, struct err *e);
int session_make_fifo(struct session *s, const char *name);
void session_fail_queue(struct session *s, const struct err *e);
void session_start(struct session *s);
/* From now on the shell has LIMIT_START_MS to come to its first prompt. */
void session_limit_start(struct session *s);

/* session_records.c */
void session_set_cwd(struct session *s, struct str cwd);
void session_dropped_told(struct session *s);
/* Sets the flags of a new shell: a bash edits lines. */
void session_first_flags(struct session *s);
bool session_edits(const struct session *s); /* the shell reads lines by readline */
/* Opens the file, with room in it for an end when the disk is full. */
void session_reserve_records(struct session *s);
/* Closes the file: the next one is read from its beginning. */
void session_drop_records(struct session *s);
/* After `exec >FILE` no output of the shell arrives: sends a note once. */
void session_check_output(struct session *s);
void session_read_records(struct session *s);
/*
 * Empties the file when it has grown. For an idle session only: the read records are
 * stored first, and a worker that takes over at that moment would miss the end of a
 * running command.
 */
void session_empty_records(struct session *s);
/* Sets the PATH that a new shell finds, and no background job. */
void session_first_path(struct session *s);

/* session_tty.c */
struct termios session_termios(bool attached);
void session_set_echo(struct session *s);
void session_restore_tty(struct session *s);
void session_sync_prompt(struct session *s);
/* Does the shell print a prompt, or was it told to? */
bool session_prompts(const struct session *s);
/* Was the shell told to begin or end its prompt, and mark A has not come? */
bool session_switching(const struct session *s);
/* Mark A has come. The line that answers it must be typed before session_tell_keys. */
void session_switched(struct session *s);
/*
 * Is a mark A, which ends at `at`, the answer to an earlier line than the last? The
 * interrupt before the last one ends what that line does: it is not acknowledged, as the
 * shell would take that for the last line's. Another mark A comes, or a record that says
 * that the shell dropped the last line; if the interrupt took that, too, neither comes,
 * and it is typed again.
 */
bool session_switch_overtaken(struct session *s, unsigned asked, uint64_t at);
/* The shell has read a line that the worker typed, and not run it: its records say so. */
void session_switch_dropped(struct session *s);
/* The prompt came or went, by a mark A that ends there: sets the terminal, answers. */
void session_answer_switch(struct session *s, uint64_t end_of_mark);
/* People's keys reach the shell again (NOTE_KEYS). */
void session_tell_keys(struct session *s);
void session_no_prompt(struct session *s);
void session_tty_gone(struct session *s);
/* From this offset on, people do not see the echo of our own line. */
void session_echo_from(struct session *s, uint64_t at);
void session_look_for_echo(struct session *s);
/* The output of a command, from … to, while somebody is attached. */
void session_add_bare(struct session *s, uint64_t from, uint64_t to);
void session_switch_again(struct session *s);
void session_attach_mode(struct session *s, bool on);

/* A shell other than bash that is at its prompt waits in our code from now on. */
void session_hold(struct session *s);

/* session_state.c */
void session_key_name(struct session *s, struct buf *key);
/* Appends the state as it is to be stored now; out has LIMIT_BLOB_MAX. */
void session_pack(struct session *s, struct buf *out);
void session_store(struct session *s, struct str bytes);
/* The same with a command, which a start mark answers; awaited: a caller waits. */
void session_store_command(struct session *s, struct str bytes, bool awaited);
void session_save(struct session *s);
void session_say(struct session *s, enum shell_line what);
/* The same for a line whose answer comes by another way than the keeper. */
void session_say_quietly(struct session *s, enum shell_line what);
/* Appends the line, after one that lets a held shell read on. */
void session_add_line(struct session *s, struct buf *out, enum shell_line what);

/* session_look.c */
void session_look_later(struct session *s, int64_t ms);
/* Output or input came: looks when it stops, or LOOK_BUSY_MS after the last look. */
void session_look_soon(struct session *s);
void session_look_begins(struct session *s); /* a command was typed */
void session_look_runs(struct session *s);   /* it began */
void session_look_quiet(struct session *s);  /* output or input came */
void session_look_fed(struct session *s);    /* input came */

/* session_env.c */
void session_env_done(struct session *s);
/*
 * Appends the variables of the previous shell. Those that the kernel would not pass to a
 * new shell are left out and named in env.lost.
 */
void session_env_add(struct session *s, struct buf *out);
/* Does the whole environment fit what the kernel passes? If not, env.lost says so. */
bool session_env_fits(struct session *s, char *const *env);
void session_env_later(struct session *s);
/* A worker took over: sets the variables; a snapshot may be on its way. */
void session_env_resume(struct session *s, struct str vars);
void session_env_known(struct session *s); /* a command began: no snapshot comes now */
/*
 * Takes the directory and the exported variables that the shell wrote when it exited.
 * False: it wrote none (it was killed, or replaced by exec); those of its last idle
 * moment stay.
 */
bool session_take_left(struct session *s);

/* session_input.c */
/* Types bytes to the running command or the prompt, as far as there is room. */
void session_feed(struct session *s, struct str bytes);
void session_signal_group(struct session *s, pid_t group, int sig);
/* The group in the foreground of its terminal, or the shell's. */
pid_t session_in_front(const struct session *s);

/* The FIFO of the command's standard input. */
void session_feed_changed(struct proc *p);
int session_open_feed(struct session *s, struct err *e);
void session_resume_feed(struct session *s, uint64_t id, bool eof);
void session_forget_feed(struct session *s);
void session_input_begins(struct session *s); /* for the command that is typed now */
void session_input_ends(struct session *s);   /* with the command */
/*
 * Keeps INT until the command has begun and the shell's pid is known. Returns 1 if it is
 * kept, and 0 if the signal can be sent now. Returns -1 and sets *e: NOTFOUND if no
 * command runs or comes next, BUSY for another signal that comes that early.
 */
int session_signal_waits(struct session *s, int sig, struct err *e);
/* The command began: types the input that came for it before. */
void session_feed_early(struct session *s);
/* The group, that of the program in front or the shell, gets SIGINT now: looks soon
 * whether it is lost, and sends another one then. */
void session_interrupts(struct session *s, pid_t group);
/* The command began: interrupts it soon, if that was asked for before. */
void session_interrupt_early(struct session *s);

/* session_command.c */
void session_new_command(struct session *s, const struct op *op);
void session_command_began(struct session *s, uint64_t from);
void session_command_ended(struct session *s, uint64_t to, int status);
void session_command_cut(struct session *s); /* its end will not be known */
void session_command_fed(struct session *s);
void session_command_retyped(struct session *s);
void session_human_command(struct session *s);
void session_keep_answer(struct session *s, bool shell_ended);
/* Borrowed until the next command ends; NULL: none with this id. */
const struct answer *session_answer(const struct session *s, const char *id);
void session_watch_began(struct session *s);
/* failed: why the command never ran; NULL: it ran. shell_ended: it ended its shell. */
void session_watch_ended(struct session *s, bool shell_ended, const struct err *failed);
int session_signal_of(int status);

/* session_ask.c */
/* A command begins, whose output begins there. */
void session_ask_begins(struct session *s, uint64_t from);
/* The command has ended, or the session is freed. */
void session_ask_ends(struct session *s);
/* Searches the next output of the command for questions. */
void session_ask_scan(struct session *s, struct str output);
/* Types the answers to the questions that were found, or does so a little later. */
void session_ask_answer(struct session *s);
/* Is the input that the command left unread an answer of ours? */
bool session_ask_typed(const struct session *s, struct str unread);

/* session_kill.c */
void session_kill_step(struct session *s);
/* Begins the kills that came before the command began, or before it was known that the
 * shell has started. */
void session_kill_started(struct session *s);
/* Is the reaper signalling a command's processes? The next command waits until not. */
bool session_kill_signals(const struct session *s);
/* Is the newest command being ended? Then no other shell runs it. */
bool session_kill_ends(const struct session *s);

/* session.c */
void session_to(struct session *s, enum session_state to);
void session_notify(struct list *ops, enum note_kind kind, const char *text);
struct session *session_make(struct engine *en, struct str name);
void session_copy(char *out, size_t size, struct str s);
/* Replaces an owned text by at most SESSION_TEXT_MAX - 1 bytes of s. */
void session_keep(char **text, struct str s);

/* session_run.c */
/* Notes that callers have the output up to this offset. */
void session_seen(struct session *s, uint64_t upto);
/*
 * Counts output outside of commands, except what a shell says of its jobs: from the first
 * such line to the next mark, at which session_idle_line begins again.
 */
void session_add_idle(struct session *s, struct str output);
void session_idle_line(struct session *s);
void session_no_idle(struct session *s);
/* Keeps how the last command ended until a caller is told; OP_NOTHING: one was. */
void session_set_untold(struct session *s, enum op_state how);
/* The command began, so its text is not needed again. */
void session_command_runs(struct session *s);
/* The line that runs the command. key: readline reads it; fifo: its input is the FIFO. */
enum shell_line session_run_line(const struct session *s, bool fifo, bool key);
/* Writes the command's file for this generation of our code. */
int session_put_command(struct session *s, uint64_t seq, struct err *e);
/* Begins the next command if the shell is idle; starts a shell if there is none. */
void session_next(struct session *s);
void session_stop_waiting(struct session *s, struct op *op, enum op_why why);
/* Fills in how the last command ended. */
void session_tell_end(struct session *s, struct op *op, enum op_state state);
/* Whether the running or last command is the server's own, such as V0's alias. */
bool session_sets_up(const struct session *s);
/* The command that a caller has asked for and that begins next; NULL: one runs, or none
 * waits. */
const struct op *session_comes_next(const struct session *s);
void session_quiet_again(struct session *s);

/* session_marks.c */
void session_noise_from(struct session *s, uint64_t from); /* 0: there is none */
void session_changed(struct proc *p);
void session_on_scan(struct task *t);
/* Delivers output to all who wait for the command. */
void session_pump_waiters(struct session *s);

/* session_repair.c */
/* Installs our code again, which mark I confirms. */
void session_install(struct session *s);
/* Types the command of s->cmd again; its file still exists. */
void session_retype(struct session *s);
/* From now on the shell has LIMIT_TYPED_MS to begin the command that was typed. */
void session_limit_typed(struct session *s);
void session_no_typed_limit(struct session *s);
/* A command ended without a valid mark. */
void session_trouble(struct session *s);
/* A command ended with a valid mark; no trouble unless the shell was interrupted. */
void session_no_trouble(struct session *s);
void session_installed(struct session *s); /* mark I */
void session_repaired(struct session *s);  /* a command ended */
void session_healthy(struct session *s);   /* the shell is gone */
void session_nothing_to_repair(struct session *s); /* a new one is started */

/* session_end.c */
/*
 * Does the idle shell wait in our code? bash does after a command until session_add_line,
 * another shell until LINE_NEXT comes. true may be wrong, which does no harm; false must
 * be right.
 */
bool session_held(const struct session *s);
/* The shell is held no more, or a new one is started. */
void session_released(struct session *s);
/* Its start mark was overwritten before it was read: it began where it was typed. */
void session_missed_start(struct session *s);
/* Sets how the command ended; to: the end of its output. */
void session_end_command(struct session *s, uint64_t to, int status);
/* The command is over and its shell is (or soon will be) at its prompt. */
void session_command_over(struct session *s);
/* The previous worker died between an end and what follows it: does the rest. */
void session_over_again(struct session *s);
/* Is the mark P of command seq the answer to LINE_ACK_ASK? True only once. */
bool session_asked_prompt(struct session *s, uint64_t seq);
/* Answers those who wait for the command, which has ended. */
void session_answer_waiters(struct session *s, enum op_state state);
/* The same; keeps the answer for callers that come back, and calls the watcher. */
void session_tell_over(struct session *s, bool shell_ended);
/* The end was to be answered at the prompt, and the shell ended before that. */
void session_no_prompt_comes(struct session *s);
/* The session is ended, and its command with it. */
void session_abandon_command(struct session *s);
/* A mark E without its record, at that offset. */
void session_doubt(struct session *s, const struct mark *m, uint64_t at);
/* The mark seems not to be the end: callers get the output before it. */
void session_show_unproved(struct session *s);
/* A mark E at that offset, which is believed. */
void session_take_end(struct session *s, const struct mark *m, uint64_t at);
/* The mark without a record is the end after all. */
void session_believe(struct session *s);
/*
 * Ends a command whose mark fell into a gap (a full disk): the shell reads its terminal,
 * and the record has the end. false: there is no such record.
 */
bool session_end_by_record(struct session *s);
/* Has the shell written the record of the command's end, as far as it was read? The mark
 * follows the record, and then the shell reads its terminal until the acknowledgement. */
bool session_end_is_recorded(const struct session *s);

/* session_gone.c */
/* A caller was told of the shell that ended. */
void session_gone_told(struct session *s);
/* od ends the shell; why completes "od ended it, as …". */
void session_gone_because(struct session *s, const char *why);
/*
 * Types again a command that never ran, because its shell ended before the start mark.
 * Returns false if there is none.
 */
bool session_run_again(struct session *s);
/* Ends the command that the shell which is being started would run again, if any. */
void session_no_rerun(struct session *s);
/* The shell exited and its output is drained, or a grace time has passed. */
void session_shell_exit(struct session *s);
/* The previous worker forgot the shell and died before it started the next one. */
void session_shell_lost(struct session *s);

#endif
