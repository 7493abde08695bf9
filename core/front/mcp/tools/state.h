/* SPDX-License-Identifier: MIT */
/* clang-format off: the grammar has its own lines */
/*
 * The state line, which is the last line of an answer: what happened, and the calls that
 * continue it, in a form that can be copied. All lines of the tools are made here, in one
 * grammar (skills, such as read and edit, make their own). Pure functions;
 * front/mcp/result.c adds the brackets around the line.
 *
 *     line    = what *("; " more) [". " calls]
 *     what    = ended | cell | waits | runs | page | act | other
 *     ended   = "exit " N [" in " TIME]
 *             | "killed by " SIGNAL " after " TIME
 *             | "the shell ended (exit " N ")"
 *     cell    = "ok in " TIME
 *             | "raised " ERROR " after " TIME
 *             | "the kernel died" [" (" WHY ")"]
 *     waits   = "waiting for input" ["without echo, …"] ": " who
 *             | "perhaps waiting for input: " who ", … quiet for " TIME
 *             | "full screen program: " PROGRAM
 *     runs    = "still running after " TIME [", this call waited " TIME] ": " who
 *               ", " N " lines so far"
 *               [", quiet for " TIME]
 *     who     = PROGRAM [" (pid " N ")"] [", command " N] | "cell " N
 *     page    = [tab "; "] [where "; "] [STATUS ", "] N " elements with refs"
 *               [console] "; " URL
 *     where   = "part " N " of " N … | "around " QUOTED …
 *             | "nothing here says " QUOTED … | "there is no part " N …
 *             | "picture " SIZE … | "downloaded, …"
 *     act     = "page changed: " URL … | [done "; "] counts [console] ["; " tab]
 *     tab     = ["the tab was closed, this is "] "tab " N " of " N
 *             | "in the new tab " N " of " N ". Back: " calls
 *     counts  = N " changed, " N " new, " N " gone" | "nothing changed" …
 *     other   = "dialog " QUOTED " is open: press …"
 *             | N " sessions" | "no session yet" …
 *             | "the first " N " of " N " lines"
 *             | "events " N " to " N | "no event after " N …
 *             | DONE " " PATH [" to " PATH] … | PATH " was there"
 *             | "applied: " N " changes in " N " files" …
 *             | N " changes in " TIME | "nothing changed in " TIME
 *             | "stdout " N " lines, stderr " N " lines"
 *     more    = "no output" | "now in " DIR
 *             | "it has bytes that are not UTF-8"
 *             | N " bytes of it are no longer kept"
 *             | "rest: read path=\"@" N "\" …" | "picture " SIZE …
 *             | "more: " ARGUMENT
 *     calls   = TOOL *(" " ARGUMENT "=" VALUE) …
 *     TIME    = "0.02 s" | "2.1 s" | "14 s" | "4 min"
 *
 * It is one line. Foreign text in it (names, titles, paths, errors) has no control
 * character, and no bracket where it could end the line; a program's name has only
 * letters.
 */
/* clang-format on */
#ifndef OD_FRONT_MCP_TOOLS_STATE_H
#define OD_FRONT_MCP_TOOLS_STATE_H

#include "base/buf.h"

#include <stdint.h>

enum { STATE_MAX = 8192 }; /* the most bytes that any of these lines has */

/* ---- what ran in a shell ---- */

enum run_state { RUN_ENDED, RUN_WAITING, RUN_MAYBE, RUN_RUNNING };

struct run_line {
    enum run_state state;
    const char *session;
    const char *other; /* a free session, as a proposal */
    uint64_t command;  /* the action; 0: not known */
    bool input;        /* the answer of shell_input, which also names the command */
    int exit, signo;   /* ENDED; signo 0: no signal ended it */
    bool shell_ended;
    int64_t ms;        /* the command's time */
    int64_t waited_ms; /* RUNNING: the time of the call, if it did not begin it; else 0 */
    int64_t quiet_ms; /* time since its last output */
    const char *program, *how; /* the program that waits or runs; "": not known */
    int pid;                   /* 0: not known */
    bool hidden;               /* input is not echoed */
    bool screen;               /* it shows a full screen */
    bool empty;                /* it has no output at all */
    const char *cwd;           /* the new directory; NULL: the same */
    uint64_t lines, cut_from, gone;
    bool bent;
};

/* Appends the line without its brackets, as all functions here do. */
void run_line(struct buf *out, const struct run_line *r);

/* ---- a cell of a kernel ---- */

enum code_state { CODE_OK, CODE_RAISED, CODE_DIED, CODE_WAITING, CODE_RUNNING };

struct cell_line {
    enum code_state state;
    const char *session;
    uint64_t cell;    /* the action */
    int64_t ms, waited_ms; /* as in run_line */
    struct str error; /* RAISED: its name and message */
    struct str why;   /* DIED: the reason; empty: not known */
    bool hidden;      /* WAITING */
    bool empty;       /* it has no output, and no picture */
    bool leaves;      /* the kernel ended with it */
    bool renewed;     /* the kernel is a new one */
    uint64_t lines, cut_from;
    struct str pictures; /* texts of state_picture for each */
};

void cell_line(struct buf *out, const struct cell_line *l);
/* Appends "; picture 640x480, also PATH". width 0: not known; path "": there is no file.
 */
void state_picture(struct buf *out, unsigned width, unsigned height, bool shown,
                   const char *path);

/* ---- a page ---- */

struct page_line {
    struct str find; /* the searched text; empty: none */
    int64_t part, parts, places, shown;
    struct str near; /* a similar text of the page */
    bool shot;       /* a picture of the page was taken */
    int64_t width, height;
    struct str picture; /* file of the picture; empty: none */
    bool downloaded;
    int status; /* status of HTTP; 0: none */
    const char *reason;
    int64_t refs, console_errors;
    struct str console; /* the first message of the console */
    bool text_browser;
    struct str url;
    int64_t tab, tabs;   /* the position of the shown tab, from 1, and their number */
    bool dialog, prompt; /* a dialog is open; it asks for a text */
    struct str dialog_text;
    /* of an act */
    struct str waited; /* the text that was waited for and appeared; empty: none */
    struct str scrolled, disabled;
    int64_t added, removed, changed;
    bool watched;        /* changes were watched for a while */
    bool moved;          /* the page is another one */
    bool went;           /* the address changed */
    int64_t opened_from; /* the act opened the tab: the previous one; 0: it did not */
    bool tab_closed;     /* the tab of the act was closed */
};

/* Append the line about the result of browse, and of an act. */
void page_line(struct buf *out, const struct page_line *p);
void act_line(struct buf *out, const struct page_line *p);

/* ---- others ---- */

void sessions_line(struct buf *out, unsigned n);
/* Appends the line for a text that has more lines than fit in an answer. path: the text's
 * file, or empty. */
void parts_line(struct buf *out, uint64_t shown, uint64_t lines, struct str path);
struct events_line {
    uint64_t first, last; /* of the shown events; 0: none */
    uint64_t since;       /* they come after this one */
    uint64_t newest;      /* in the log */
    int64_t waited_ms;    /* time of the wait for the first of them; 0: no wait */
};
void events_line(struct buf *out, const struct events_line *l);

struct files_line {
    const char *done;    /* "copied" */
    struct str path, to; /* to: empty if there is none */
    int64_t n, bytes;    /* of files; -1: not known */
    bool there;          /* there was nothing to do */
};
void files_line(struct buf *out, const struct files_line *l);
/*
 * Appends the line about changes that a watch saw within that time. ended: the watched
 * file or folder is gone.
 */
void watch_line(struct buf *out, uint64_t changes, int64_t ms, bool ended);

struct patch_line {
    unsigned changes, files;
};
void patch_line(struct buf *out, const struct patch_line *l);

/* A process, and its output until now. */
struct process_line {
    bool ended;
    const char *name;
    int exit, signo;   /* signo 0: no signal ended it */
    int64_t ms, waited_ms; /* as in run_line */
    uint64_t out, err; /* lines of its two outputs, all of them */
    uint64_t action;   /* 0: not known */
    bool cut;          /* not all new output was shown */
};
void process_line(struct buf *out, const struct process_line *l);

/* ---- parts of lines, also for sentences ---- */

/* "0.02 s", "2.1 s", "14 s", "4 min" */
void put_seconds(struct buf *out, int64_t ms);
/*
 * Appends a program's name, at most 80 letters, with "?" for other characters; "the
 * command" for an empty one.
 */
void put_program(struct buf *out, const char *name);
/* Appends "SIGTERM", or for a number without a name "signal 40". */
void put_signal(struct buf *out, int signo);
/* Appends the arguments that a call begins with: "" for main, else ` session="web"`. */
void put_session(struct buf *out, const char *session);
/*
 * Appends the call that leaves a program which waits for input, such as `shell_input
 * key="q"`.
 */
void put_leave(struct buf *out, const char *session, const char *program);
/* Appends a text on one line, at most max bytes of it. */
void put_plain(struct buf *out, struct str s, size_t max);
/* Appends an error's text: one line, at most 120 bytes, without brackets. */
void put_error(struct buf *out, struct str s);

#endif
