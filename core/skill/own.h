/* SPDX-License-Identifier: MIT */
/* What the files of this room share: a running call, and windows. */
#ifndef OD_SKILL_OWN_H
#define OD_SKILL_OWN_H

#include "io/job.h"
#include "skill/find.h"
#include "skill/search.h"
#include "skill/show.h"
#include "skill/skill.h"

#include <limits.h>

enum { WINDOW_MARKS = 512 };

/*
 * A session's open file, and where some of its lines begin: line 1 + i * step at
 * marks[i]. The marks are valid for the file with these facts. The struct is stored as
 * its bytes, so it has no pointers.
 */
struct window {
    char magic[8];
    char path[PATH_MAX]; /* absolute; "": none */
    char token[72];      /* of the call that moved it last */
    int64_t line;
    uint64_t dev, ino, size, mtime_ns;
    int64_t total; /* lines; at least 1 */
    uint64_t step, marks_n, marks[WINDOW_MARKS];
};

struct skill_change;
struct changing;
struct seeking;
typedef void lint_done_fn(struct skill_run *r, struct str errors);

struct skill_run {
    struct skill_call q;
    skill_done_fn *done;
    void *arg;
    struct buf text; /* the text of the result */
    bool failed;
    struct buf state, picture; /* as in struct skill_result */
    struct json *facts;        /* owned; NULL: none yet */
    char picture_type[32];
    struct json *noted;        /* owned: facts from a helper about its text */
    struct changing *changing; /* owned; change.c */
    struct seeking *finding;   /* owned; find.c */
    char watched[PATH_MAX];    /* the file that view shows */
    char here[PATH_MAX];       /* the current folder, for a path that is not there */
    struct task told;          /* reports the result at the end of the turn */
    struct timer timer;
    struct window window;         /* of the session, at the beginning of the call */
    struct skills_run *search;    /* one of these runs, */
    struct job *job;              /* or none */
    struct browsing_call *browse; /* or this */
    struct buf raw;               /* of the job */
    struct skill_change *change;  /* owned, while it is checked; edit.c */
    struct viewing *view;         /* owned: the answer of file_editor; editor.c */
    lint_done_fn *lint_done;
    const char *lint_path; /* borrowed until then */
    struct timer lint_timer;
};

/* ---- skill.c ---- */

/* Return an argument, or its default; p of a string is NULL if that is null. */
struct str skill_str(const struct skill_run *r, const char *name);
int64_t skill_int(const struct skill_run *r, const char *name);
bool skill_bool(const struct skill_run *r, const char *name);
/* Gets the argument as a C string, and as an absolute path. Returns -1 after r failed. */
int skill_path(struct skill_run *r, const char *name, char shown[PATH_MAX],
               char path[PATH_MAX]);
/*
 * The same, but accepts ~ and file:. Returns -1 after r failed with a sentence of its
 * own.
 */
int skill_place(struct skill_run *r, const char *name, char shown[PATH_MAX],
                char path[PATH_MAX]);
/* Never NULL. */
struct json *skill_facts(struct skill_run *r);
/* Sets the text to "ERROR: ", the sentence and a newline. Returns 0, for a skill_fn. */
int skill_fail(struct skill_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports the text, which is complete, at the end of the turn. */
int skill_tell(struct skill_run *r);
void skill_tell_now(struct skill_run *r);
/*
 * Starts r->job as the user of the call; arg is for spec's function. Returns -1 and sets
 * *e.
 */
int skill_job(struct skill_run *r, const struct job_spec *spec, void *arg, struct err *e);
skill_fn skill_search, skill_document;

/* ---- window.c ---- */

void window_load(struct skill_windows *w, const char *session, struct window *out);
void window_store(struct skill_windows *w, const char *session, const struct window *in);
/*
 * Appends lines of a text and the counts of those above and below, without a final
 * newline; from: `line` is the first one, else it is in the middle.
 */
void window_print(struct buf *out, struct str text, int64_t line, int64_t lines,
                  bool from);
/* [File: PATH (N lines TOTAL)] and a newline */
void window_header(struct buf *out, const char *path, int64_t total, const char *words);
skill_fn window_open_file, window_goto_line, window_scroll_up, window_scroll_down;

/* ---- edit.c ---- */

skill_fn edit_create_file, edit_by_replace, edit_insert_content, edit_append_file;
void edit_free(struct skill_run *r); /* frees r->change */

/* ---- editor.c ---- */

skill_fn edit_file_editor;
void editor_free(struct skill_run *r); /* frees r->view */

/* ---- folder.c, near.c: blocking, for helpers ---- */

/* Appends two levels of a folder, and to state the totals. Returns -1 and sets *e. */
int folder_show(const char *path, size_t max, struct buf *out, struct buf *state,
                struct err *e);
/*
 * Appends ". Near: PATH, PATH" if there are files with similar names, none of them in the
 * state of a server of ours.
 */
void near_names(struct buf *out, const char *path, const char *cwd);

/* ---- view.c ---- */

skill_fn view_path;
/*
 * Starts a helper that ends the call with a sentence about a missing path. Returns -1
 * and sets *e.
 */
int view_missing(struct skill_run *r, const char *path, struct err *e);

/* ---- change.c ---- */

skill_fn change_replace, change_insert, change_create, change_undo;
void changing_free(struct skill_run *r);

/* ---- found.c ---- */

enum { FOUND_LIMIT_MAX = 1000 };

struct found_wish {
    uint64_t limit;   /* matches that are shown */
    unsigned context; /* lines around each */
    size_t bytes;     /* of the text */
};
struct found_count {
    struct str path; /* borrowed */
    uint64_t n;
};
/* Appends matches to out, file by file. */
struct matches {
    struct buf *out;
    struct found_wish wish;
    uint64_t matches, shown, files;
    struct str path; /* of the current file; all paths are borrowed until the end */
    uint64_t number; /* of its last printed line */
    bool named;      /* its name was printed */
    unsigned after;  /* lines of context since the last match */
    size_t mark;     /* of out: the end of the last shown match */
    bool full, no_room;
    struct found_count *counts; /* owned */
    size_t counts_n;
};
/* The requested number, within its limits. */
unsigned found_context(int64_t lines);
uint64_t found_limit(int64_t matches);
/* Appends a note that the pattern is taken as plain text, because of e. */
void found_plain(struct buf *out, const struct err *e);
void found_begin(struct matches *f, struct buf *out, const struct found_wish *wish);
void found_release(struct matches *f);
void found_file(struct matches *f, struct str path);
/* context: not a match itself; cut: the line is longer. */
void found_line(struct matches *f, uint64_t number, struct str text, bool context,
                bool cut);
/* Appends the number of matches, and how to see those not shown. */
void found_tell(struct matches *f, uint64_t searched, struct buf *state);

/* ---- find.c ---- */

skill_fn find_search;
void finding_free(struct skill_run *r);
/* The number of files searched so far. */
uint64_t finding_files(const struct skill_run *r);

/* ---- browse.c ---- */

skill_fn browse_page;

/* ---- lint.c ---- */

/*
 * Checks a new text of this file, and calls done, perhaps at once, with its faults (""
 * for none), borrowed during that call. Returns false, and does not call done, if there
 * is no checker. path is borrowed until done.
 */
bool lint_start(struct skill_run *r, const char *path, struct str text,
                lint_done_fn *done);
/* A fault that a checker reports; words are borrowed from its line. */
struct lint_fault {
    uint64_t line, column; /* 0: unknown */
    bool column_known;
    struct str words;
};
/*
 * Parses one line of a checker. Returns false if it has no line number; then words is
 * all of it.
 */
bool lint_take(struct str line, struct str path, struct lint_fault *f);
/* Parses several lines: the first line number, and the words of the error. */
void lint_first(struct str faults, struct str path, struct lint_fault *f);
/* Appends the lines of `now` that are not in `before`, with newlines. */
void lint_subtract(struct buf *out, struct str now, struct str before);

#endif
