/* SPDX-License-Identifier: MIT */
/*
 * What od types to a shell, and what the shell reports.
 *
 * The shell is an ordinary interactive one on a terminal without echo. Only
 * short fixed lines are typed to it; the command itself lies in a file that the
 * typed line reads into a variable and evaluates, so it may be any text up to
 * LIMIT_COMMAND_MAX. The shell reports by marks in its output, which are private
 * operating system commands that any terminal ignores:
 *
 *   ESC ] 7723 ; NONCE ; S ; SEQ BEL          command SEQ begins, output follows
 *   ESC ] 7723 ; NONCE ; E ; SEQ ; STATUS BEL the command ended
 *   ESC ] 7723 ; NONCE ; P ; SEQ ; STATUS BEL a prompt that follows no E: the line
 *                                             was thrown out, or not run at all
 *   ESC ] 7723 ; NONCE ; I ; GEN ; SEQ ; STATUS BEL  our code was installed;
 *                                    SEQ: the last command of the previous generation
 *   ESC ] 7723 ; NONCE ; H ; SEQ BEL          an attached person typed a line
 *   ESC ] 7723 ; NONCE ; A ; SEQ ; ASKED BEL  attached or detached: set the terminal;
 *                                    ASKED: the number that LINE_ATTACH or _DETACH had
 *   ESC ] 7723 ; NONCE ; U ; SEQ BEL          the user's hooks at the prompt have run
 *   ESC ] 7723 ; NONCE ; N ; 1 BEL            bash has reported its jobs
 *
 * Marks go to /dev/tty, so redirections of the shell do not lose them. The shell also
 * appends records to the file `r` of its directory, whose fields end in NUL: "E" or
 * "P", SEQ STATUS FLAGS CWD LASTBG PATH (FLAGS: $-, `!` when line editing is on, `@`
 * when standard output is not a terminal, `=` when a trap on DEBUG, ERR or RETURN is
 * set; LASTBG: $!; PATH: its first 4 KiB), or "D" TEXT: a line of unread input that would
 * have been run as a command. A bash adds to the FLAGS of an E: `+` if it waits for
 * LINE_RUN_HELD, too, `*` if extglob is on.
 *
 * When the shell exits, a trap on EXIT writes the file `x`: SEQ NUL CWD NUL, then the
 * exported variables as LINE_ENV has them, then NUL. bash puts it before a trap of the
 * user's, found through the file `t` with each LINE_ENV.
 *
 * After an E (and an A) the shell drops input until it sees the acknowledgement,
 * so input that a program left unread cannot become a command. A shell other than
 * bash is held there, in its builtin `read`, until our next line comes: busybox
 * without ECHO reads its prompt by fgets, which takes the signal of an ending job
 * for the end of its input, and exits. While somebody is attached, the shell is at
 * its prompt.
 *
 * All names begin with a prefix that holds a generation: commands of the user may
 * unset, redefine or lock the names of one generation, but not those of the next.
 */
#ifndef OD_SHELL_SHELL_H
#define OD_SHELL_SHELL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdint.h>

enum shell_kind { SHELL_BASH, SHELL_BASH_OLD /* before 4.4 */, SHELL_POSIX };

/* What the code of one shell is made from. */
struct shell {
    enum shell_kind kind;
    char nonce[9]; /* in the marks; children never see it */
    char tag[9];   /* OD_SESSION_TAG of what it starts */
    unsigned gen;
    bool pty;
    bool no_null;  /* there is no /dev/null: input comes from the empty file n */
    bool same_env; /* OD_OP is the session's name and does not change */
    char tty[32];  /* the terminal's path, where /dev/tty is of no use; "": unknown */
    char dir[256];  /* the session's directory: c, h, q, r, i, e, t, x lie there */
    char path[256]; /* the shell's own file */
};

/* Can a program of that name run a session? */
bool shell_usable(const char *name);
/*
 * Finds the shell to run: the wanted one, else bash, sh, ash, dash, ksh or mksh, in PATH,
 * whose empty and relative entries are below cwd, and in the usual places. Sets kind (by
 * name; the code for bash tests the version itself) and path. Returns -1 and
 * ERR_NOTFOUND with the places that were searched.
 */
int shell_find(struct shell *sh, const char *wanted, const char *path_var,
               const char *cwd, struct err *e);

/*
 * The code to be sourced at the start (with_rc: after the user's own rc file)
 * or to install the next generation. seq: the last command begun.
 */
int shell_code(struct buf *out, const struct shell *sh, uint64_t seq, bool start,
               bool with_rc);
/* argv and what must be added to the environment of a new shell. */
int shell_argv(const struct shell *sh, char *argv[8], struct buf *space,
               struct buf *env_extra);

/* The content of the file `c` for command seq. -1: out is full. */
int shell_command_file(struct buf *out, const struct shell *sh, uint64_t seq,
                       struct str command);

/* The lines that are typed; with their final newline. */
enum shell_line {
    LINE_RUN,      /* run the command file on the terminal */
    LINE_RUN_KEY,  /* the same by one key, where line editing is on (FLAGS has `!`) */
    LINE_RUN_FIFO, /* the same with standard input from `i` */
    LINE_RUN_NULL, /* from /dev/null */
    /* The same four where FLAGS has one of FLAGS_LOUD: slower, and shows nothing. */
    LINE_RUN_LOUD,
    LINE_RUN_KEY_LOUD,
    LINE_RUN_FIFO_LOUD,
    LINE_RUN_NULL_LOUD,
    LINE_RUN_HELD,  /* acknowledge the end of seq, and run the command file, where bash
                       waits for that (FLAGS has `+`); as LINE_RUN at a prompt */
    LINE_ACK,       /* acknowledge the end of seq */
    LINE_ACK_ASK,   /* the same, and print a P when unread input was dropped */
    LINE_ACK_SHOWN, /* the same for the mark A of a prompt: run as a command there, after
                       an interrupt, it ends with a P, as any command of a person */
    LINE_NEXT,      /* to a shell that is held: a line of ours follows */
    LINE_HOLD,      /* to a shell at its prompt: be held until LINE_NEXT */
    LINE_INSTALL,   /* source the code file `p`, whatever is half typed */
    LINE_SOURCE,    /* the same to a shell that reads a pipe */
    LINE_ENV,       /* write SHELL_ENV_BEGINS and the exported variables to `e`, each
                       followed by NUL */
    LINE_ENV_KEY,   /* the same by one key, where line editing is on */
    LINE_CLEAR,     /* not a line but a key: drop what was typed and not entered */
    LINE_ATTACH,    /* a person is there: prompt, echo */
    LINE_DETACH
};
/* Of FLAGS: commands of ours would show, run a trap, or end the shell. */
#define FLAGS_LOUD "exT="
int shell_line(struct buf *out, const struct shell *sh, enum shell_line what,
               uint64_t seq);
/*
 * Precedes a text of variables. No such text ends with it, so that a worker which reads
 * only the rest of a text does not take that for a whole one.
 */
#define SHELL_ENV_BEGINS "+"

struct mark {
    char kind; /* S E P I H A U N */
    uint64_t seq;
    unsigned gen;
    int status;     /* of an A: ASKED; INT_MAX: an older shell did not print it */
    size_t at, len; /* where it stands in the bytes searched */
};
/*
 * Finds the first mark in bytes. true: *m is set. false: there is none, and the bytes
 * from *keep on may be the beginning of one.
 */
bool shell_mark(const struct shell *sh, struct str bytes, struct mark *m,
                size_t *keep);

/*
 * Returns where the trace of our own code begins in the last bytes of a command's output;
 * output.n: there is none. In bash only a command that turns set -x on leaves one. In
 * other shells the trace is the last lines with a name of ours; shell_mark holds them
 * back.
 */
size_t shell_trace(const struct shell *sh, struct str output);

/*
 * A line of ours that the terminal echoed to people who are attached: its place
 * and length, which is 0 while its newline has not come. false: none.
 */
bool shell_echo(const struct shell *sh, struct str bytes, size_t *at, size_t *len);

/*
 * The first line of our trap on EXIT, which set -v shows as it runs: returns how many of
 * the bytes follow its beginning, and sets *len to its length. 0: there is none.
 */
size_t shell_exit_echo(const struct shell *sh, struct str bytes, uint64_t *len);

/*
 * Parses what LINE_ENV wrote (`declare -px` or `export -p`) into NAME=VALUE
 * strings, each ending in NUL, without our own names and those that a new shell sets
 * itself. -1: malformed, or out is full.
 */
int shell_parse_env(struct buf *out, struct str text);

/* Could this text make the shell itself read its terminal (read, select, …)? */
bool shell_text_reads(struct str command);
/* Could it set one of FLAGS_LOUD (set, trap, source)? A wrong answer costs little. */
bool shell_text_traces(struct str command);

#endif
