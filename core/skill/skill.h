/* SPDX-License-Identifier: MIT */
/*
 * The functions that agents know from Python (OpenHands' runtime/plugins/agent_skills),
 * in one table: windows onto files, searches, edits, documents. The command line, the
 * Python module and the server meet here, so that they say the same.
 *
 * What comes out is the text that the function prints. A failure is a text, too:
 * "ERROR: " and a sentence, or what the function has in its place.
 *
 * The functions of view.c, change.c and find.c are not of that table: they are for models
 * that call tools. Their text is what was asked for, and a last line in brackets with
 * what happened and how to go on; a failure is a sentence with its repair.
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
    SKILL_WINDOW = 100,     /* lines that are shown at once */
    SKILL_TIME_MS = 120000, /* of one call */
    SKILL_TEXT_MAX = 33 << 20,
    SKILL_WINDOWS_MAX = 256, /* sessions, where they are kept in memory */
    SKILL_ANSWER = 16000,    /* bytes that view and search show, unless asked otherwise */
    SKILL_LINE_SHOWN = 2000, /* of one line, by these */
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
    bool returns; /* in Python it returns the text, and prints nothing */
    /* about is one line. Types: STRING, TEXT, INT, INTS, BOOL. What is not required has a
     * default, which may be "null". */
    struct param_list takes;
    int kind; /* of a search (search.h) or document (document/document.h) */
};

/* NULL: there is none. */
const struct skill *skill_find(struct str name);
/* The first one for NULL; NULL behind the last one. */
const struct skill *skill_next(const struct skill *s);
/* Only a server has what it needs, so one is to be started. */
bool skill_needs_server(const struct skill *s);
/*
 * Appends a JSON array with a function for each, as models that call tools take
 * them: {"type": "function", "function": {"name", "description", "parameters"}}.
 */
int skill_schema(struct buf *out);

/* ---- the file that a session has open ---- */

struct skill_windows;
/*
 * dir: where it is kept, a file for each session, made when it is needed; NULL: in
 * memory. One process at a time writes it, the last one wins.
 */
struct skill_windows *skill_windows_new(const char *dir);
void skill_windows_free(struct skill_windows *w); /* NULL is fine */
/* The engine's, made at the first call, in its state directory. Never NULL. */
struct skill_windows *skill_windows_of(struct engine *en);

/* ---- a call ---- */

/* All of it is borrowed: args, cwd and home by the call that starts it, others until
 * done. */
struct skill_call {
    const struct skill *skill;
    const struct json *args; /* an object; members that are null are not given */
    const char *cwd;         /* absolute: what paths are relative to */
    const char *home;        /* what ~ stands for, or NULL */
    const char *token;   /* names this call: the same one is not done twice; or NULL */
    struct edits *edits; /* NULL: no undo */
    struct skill_windows *windows;
    const char *session;
    struct engine *engine; /* what keeps browsers; NULL: nobody does */
    size_t bytes;          /* of the text of view and search; 0: SKILL_ANSWER */
    bool lint;             /* edits of 2024: not if they make a syntax error */
    /*
     * Helpers are this user's, as in struct job_spec, and so is a file that is made. What
     * is edited is written by this process, and keeps its owner.
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
    struct str text; /* what the function prints */
    bool failed;
    /*
     * Of view, replace, insert, create, undo and search: the last line of the text,
     * without the brackets around it, empty when it failed; and what programs want to
     * know.
     */
    struct str state;
    const struct json *facts; /* an object; NULL: none */
    struct str picture;       /* base64; empty: none */
    const char *picture_type;
};

typedef void skill_done_fn(void *arg, const struct skill_result *result);

/*
 * Starts it; done is called once, never before this returns, unless it is
 * cancelled. NULL with e: an argument is missing, unknown or of a wrong type.
 */
struct skill_run *skill_start(const struct skill_call *q, skill_done_fn *done, void *arg,
                              struct err *e);
void skill_cancel(struct skill_run *r);
/* Of `search`: how many files it has searched until now; 0: none, or another skill. */
uint64_t skill_files(const struct skill_run *r);
/* The same, but a browser goes on: who asks again with that token gets the answer. */
void skill_leave(struct skill_run *r);

/* For programs without a loop; q->loop is not looked at. Appends the text. -1: e. */
int skill_wait(const struct skill_call *q, struct buf *out, bool *failed, struct err *e);

#endif
