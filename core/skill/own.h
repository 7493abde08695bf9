/* SPDX-License-Identifier: MIT */
/* What the files of this room share: a call in flight, and windows. */
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
 * marks[i]. The marks hold for the file that has these facts. It is kept as it is in
 * memory, so nothing in it points anywhere.
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
    struct buf text; /* what is told */
    bool failed;
    struct buf state, picture; /* as in struct skill_result */
    struct json *facts;        /* owned; NULL: none yet */
    char picture_type[32];
    struct json *noted;        /* owned: what a helper told about its text */
    struct changing *changing; /* owned; change.c */
    struct seeking *finding;   /* owned; find.c */
    char watched[PATH_MAX];    /* the file that view shows */
    char here[PATH_MAX];       /* the current folder, for a path that is not there */
    struct task told;          /* it is, at the end of the turn */
    struct timer timer;
    struct window window;         /* of the session, as it is at the beginning */
    struct skills_run *search;    /* one of these is running, */
    struct job *job;              /* or none */
    struct browsing_call *browse; /* or this */
    struct buf raw;               /* of the job */
    struct skill_change *change;  /* owned, while it is checked; edit.c */
    struct viewing *view;         /* owned: what file_editor says; editor.c */
    lint_done_fn *lint_done;
    const char *lint_path; /* borrowed until then */
    struct timer lint_timer;
};

/* ---- skill.c ---- */

/* An argument, or the default; of a string p is NULL if that is null. */
struct str skill_str(const struct skill_run *r, const char *name);
int64_t skill_int(const struct skill_run *r, const char *name);
bool skill_bool(const struct skill_run *r, const char *name);
/* The string as a C string, and as an absolute path; -1: r has failed. */
int skill_path(struct skill_run *r, const char *name, char shown[PATH_MAX],
               char path[PATH_MAX]);
/* The same, with ~ and file: taken; -1: r has failed with a sentence of its own. */
int skill_place(struct skill_run *r, const char *name, char shown[PATH_MAX],
                char path[PATH_MAX]);
/* Never NULL. */
struct json *skill_facts(struct skill_run *r);
/* Sets the text to "ERROR: ", the sentence and a newline. 0, for a skill_fn to return. */
int skill_fail(struct skill_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text is there: it will be told. */
int skill_tell(struct skill_run *r);
void skill_tell_now(struct skill_run *r);
/* Starts r->job, as the user of the call; arg is that of spec's function. -1: *e. */
int skill_job(struct skill_run *r, const struct job_spec *spec, void *arg, struct err *e);
skill_fn skill_search, skill_document;

/* ---- window.c ---- */

void window_load(struct skill_windows *w, const char *session, struct window *out);
void window_store(struct skill_windows *w, const char *session, const struct window *in);
/*
 * Appends lines of a text around a line, with what is above and below, without a
 * newline behind it; from: `line` is the first one, else it is in the middle.
 */
void window_print(struct buf *out, struct str text, int64_t line, int64_t lines,
                  bool from);
/* [File: PATH (N lines TOTAL)] and a newline */
void window_header(struct buf *out, const char *path, int64_t total, const char *words);
skill_fn window_open_file, window_goto_line, window_scroll_up, window_scroll_down;

/* ---- edit.c ---- */

skill_fn edit_create_file, edit_by_replace, edit_insert_content, edit_append_file;
void edit_free(struct skill_run *r); /* what r->change is */

/* ---- editor.c ---- */

skill_fn edit_file_editor;
void editor_free(struct skill_run *r); /* what r->view is */

/* ---- folder.c, near.c: blocking, for helpers ---- */

/* Appends two levels of a folder, and what there is in all. -1: e. */
int folder_show(const char *path, size_t max, struct buf *out, struct buf *state,
                struct err *e);
/* Appends ". Near: PATH, PATH" if there are files with a name like this path's. */
void near_names(struct buf *out, const char *path, const char *cwd);

/* ---- view.c ---- */

skill_fn view_path;
/* Starts what ends the call with a sentence about a path that is not there. -1: e. */
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
/* Matches on their way to out, file by file. */
struct matches {
    struct buf *out;
    struct found_wish wish;
    uint64_t matches, shown, files;
    struct str path; /* of the file at hand; borrowed, as all of them, until the end */
    uint64_t number; /* of its last line that was put */
    bool named;      /* its name was put */
    unsigned after;  /* lines of context since the last match */
    size_t mark;     /* of out: what belongs to the matches that are shown */
    bool full, no_room;
    struct found_count *counts; /* owned */
    size_t counts_n;
};
/* What is asked for, within what there may be. */
unsigned found_context(int64_t lines);
uint64_t found_limit(int64_t matches);
/* Appends that the pattern is plain text, for what e says of it. */
void found_plain(struct buf *out, const struct err *e);
void found_begin(struct matches *f, struct buf *out, const struct found_wish *wish);
void found_release(struct matches *f);
void found_file(struct matches *f, struct str path);
/* context: no match itself; cut: there is more of the line. */
void found_line(struct matches *f, uint64_t number, struct str text, bool context,
                bool cut);
/* Appends how many there are, and how to see those that are not shown. */
void found_tell(struct matches *f, uint64_t searched, struct buf *state);

/* ---- find.c ---- */

skill_fn find_search;
void finding_free(struct skill_run *r);
/* Files that were searched until now. */
uint64_t finding_files(const struct skill_run *r);

/* ---- browse.c ---- */

skill_fn browse_page;

/* ---- lint.c ---- */

/*
 * Tells done what is wrong with a text that is to be this file's, "" for nothing;
 * borrowed during the call, which may come at once. false: there is nothing that could
 * check it, and done is not called. path is borrowed until then.
 */
bool lint_start(struct skill_run *r, const char *path, struct str text,
                lint_done_fn *done);
/* What a checker minds; words are borrowed from its line. */
struct lint_fault {
    uint64_t line, column; /* 0: it does not say */
    bool column_known;
    struct str words;
};
/* Of one line of a checker; false: it names no line, and words are all of it. */
bool lint_take(struct str line, struct str path, struct lint_fault *f);
/* Of several lines: the first line number, and the error's words. */
void lint_first(struct str faults, struct str path, struct lint_fault *f);
/* Appends the lines of now that before does not have, with newlines. */
void lint_subtract(struct buf *out, struct str now, struct str before);

#endif
