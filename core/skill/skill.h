/* SPDX-License-Identifier: MIT */
/*
 * The functions that agents know from Python (OpenHands' runtime/plugins/agent_skills),
 * in one table: windows onto files, searches, edits, documents. The command line, the
 * Python module and the server all use it, so their texts are the same.
 *
 * The result is the text that the function prints. A failure is a text, too: "ERROR: "
 * and a sentence, or the function's own form.
 *
 * The functions of view.c, change.c and find.c are not among these: they are for models
 * that call tools. Their text is the requested text, and a last line in brackets with
 * what happened and how to continue; a failure is a sentence with its remedy.
 */
#ifndef OD_SKILL_SKILL_H
#define OD_SKILL_SKILL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/param.h"
#include "edit/edit.h"
#include "io/loop.h"

enum {
    SKILL_WINDOW = 100,     /* lines shown at once */
    SKILL_TIME_MS = 120000, /* of one call */
    SKILL_TEXT_MAX = 33 << 20,
    SKILL_WINDOWS_MAX = 256,    /* sessions, if kept in memory */
    SKILL_ANSWER = 16000,       /* default bytes of view and search */
    SKILL_LINES = 1500,         /* lines of a text, as clients cut an answer at 2,000 */
    SKILL_LINE_SHOWN = 2000,    /* bytes of a line, by these */
    SKILL_PICTURE_MAX = 700000, /* bytes of a picture as base64 */
};

/* ---- the table ---- */

struct engine;
struct skill_run;
typedef int skill_fn(struct skill_run *r, struct err *e);

struct skill {
    const char *name;
    skill_fn *run;
    bool shared;  /* needs the session's window or the history of edits */
    bool returns; /* in Python it returns the text instead of printing it */
    /* about is one line. Types: STRING, TEXT, INT, INTS, BOOL. An optional one has a
     * default, which may be "null". */
    struct param_list takes;
    int kind; /* of a search (search.h) or document (document/document.h) */
};

/* Returns NULL if there is none. */
const struct skill *skill_find(struct str name);
/* Returns the first for NULL; NULL after the last. */
const struct skill *skill_next(const struct skill *s);
/* Returns whether only a server can run the skill, so that one must be started. */
bool skill_needs_server(const struct skill *s);
/*
 * Appends a JSON array with a function for each, as models that call tools take
 * them: {"type": "function", "function": {"name", "description", "parameters"}}.
 */
int skill_schema(struct buf *out);

/* ---- the file that a session has open ---- */

struct skill_windows;
/*
 * dir: the folder with a file for each session, made when needed; NULL: in memory. One
 * process at a time writes it; the last one wins.
 */
struct skill_windows *skill_windows_new(const char *dir);
void skill_windows_free(struct skill_windows *w); /* NULL is fine */
/* Returns the engine's, in its state directory, made by the first call. Never NULL. */
struct skill_windows *skill_windows_of(struct engine *en);

/* ---- a call ---- */

/* All of it is borrowed: args, cwd and home during skill_start, others until done. */
struct skill_call {
    const struct skill *skill;
    const struct json *args; /* an object; null means not given */
    const char *cwd;         /* absolute: what paths are relative to */
    const char *home;        /* what ~ stands for, or NULL */
    const char *token;       /* names this call, which is done only once; or NULL */
    struct edits *edits;     /* NULL: no undo */
    struct skill_windows *windows;
    const char *session;
    struct engine *engine; /* the owner of browsers; NULL: none */
    size_t bytes;          /* of the text of view and search; 0: SKILL_ANSWER */
    bool lint;             /* edits of 2024: refused if they cause a syntax error */
    /*
     * Helpers run as this user, as in struct job_spec, who also owns new files. An
     * edited file is written by this process and keeps its owner.
     */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    struct loop *loop;
};

/* All of it is borrowed during the call. */
struct skill_result {
    struct str text; /* printed by the function */
    bool failed;
    /*
     * Of view, replace, insert, create, undo and search: the last line of the text
     * without its brackets, empty after a failure; and facts for programs.
     */
    struct str state;
    const struct json *facts; /* an object; NULL: none */
    struct str picture;       /* base64; empty: none */
    const char *picture_type;
};

typedef void skill_done_fn(void *arg, const struct skill_result *result);

/*
 * Starts a call; done is called once, never before this returns, unless it is cancelled.
 * Returns NULL and sets *e if an argument is missing, unknown or of a wrong type.
 */
struct skill_run *skill_start(const struct skill_call *q, skill_done_fn *done, void *arg,
                              struct err *e);
void skill_cancel(struct skill_run *r);
/* The number of files that `search` has searched so far; 0 for another skill. */
uint64_t skill_files(const struct skill_run *r);
/*
 * Like skill_cancel, but a browser call goes on: a repeated request with that token gets
 * its answer.
 */
void skill_leave(struct skill_run *r);

/*
 * For programs without a loop; q->loop is ignored. Appends the text. Returns -1 and sets
 * *e.
 */
int skill_wait(const struct skill_call *q, struct buf *out, bool *failed, struct err *e);

#endif
