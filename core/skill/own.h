/* SPDX-License-Identifier: MIT */
/* What the files of this room share: a call in flight, and windows. */
#ifndef OD_SKILL_OWN_H
#define OD_SKILL_OWN_H

#include "io/job.h"
#include "skill/search.h"
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

struct change;
typedef void lint_done_fn(struct skill_run *r, struct str errors);

struct skill_run {
    struct skill_call q;
    skill_done_fn *done;
    void *arg;
    struct buf text; /* what is told */
    bool failed;
    struct task told; /* it is, at the end of the turn */
    struct timer timer;
    struct window window;         /* of the session, as it is at the beginning */
    struct skills_run *search;    /* one of these is running, */
    struct job *job;              /* or none */
    struct browsing_call *browse; /* or this */
    struct buf raw;               /* of the job */
    struct change *change;        /* owned, while it is checked; edit.c */
    struct viewing *view;         /* owned: what file_editor says; editor.c */
    lint_done_fn *lint_done;
    const char *lint_path; /* borrowed until then */
    struct timer lint_timer;
};

/* ---- skill.c ---- */

/* An argument, or the default; of a string p is NULL if that is null. */
struct str skill_str(const struct skill_run *r, const char *name);
int64_t skill_int(const struct skill_run *r, const char *name);
/* The string as a C string, and as an absolute path; -1: r has failed. */
int skill_path(struct skill_run *r, const char *name, char shown[PATH_MAX],
               char path[PATH_MAX]);
/* Sets the text to "ERROR: ", the sentence and a newline. 0, for a skill_fn to return. */
int skill_fail(struct skill_run *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The text is there: it will be told. */
int skill_tell(struct skill_run *r);
void skill_tell_now(struct skill_run *r);

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
/* Appends the lines of now that before does not have, with newlines. */
void lint_subtract(struct buf *out, struct str now, struct str before);

#endif
