/* SPDX-License-Identifier: MIT */
/*
 * Requests that a helper of core/file serves: reading about files, sending files, and
 * storing bodies as files, whole or from parts of a form. The bytes are neither logged
 * nor collected in memory: they pass between request and helper at the pace of the slower
 * one. With ask.source, sending, receiving or removing is an action in the log
 * (action/files.h): its arguments and its end, not the bytes. A form is one action, with
 * the arguments of its first file; its end lists all files.
 *
 *   request ─▶ transfer_look ─────────────▶ done or fail answer it
 *           ─▶ transfer_send ─▶ head ─▶ bytes of the file, or 304
 *           ─▶ transfer_take ─▶ the body, one file ──────▶ done or fail
 *           ─▶ transfer_form ─▶ part, text, end ─▶ files ─▶ done or fail
 *
 * If the client disconnects or the action is cancelled, the helper ends and leaves
 * nothing incomplete.
 */
#ifndef OD_FRONT_TRANSFER_TRANSFER_H
#define OD_FRONT_TRANSFER_TRANSFER_H

#include "base/json.h"
#include "front/front.h"
#include "http/multipart.h"
#include "setup/sandbox.h"

struct engine;

/* How a front-end answers. arg is ask.arg. */
struct transfer_words {
    /* Answers r with the helper's result, a JSON object. May start another transfer of
     * r. */
    void (*done)(struct req *r, void *arg, struct str result);
    /* Answers r with an error. One in the form itself is INVALID. */
    void (*fail)(struct req *r, void *arg, const struct err *e);
    /*
     * transfer_send: adds fields to the answer. about: {"size", "mode", "etag", "mtime",
     * "from", "length"}. Accept-Ranges, ETag and Content-Range are already added. May be
     * NULL.
     */
    void (*head)(struct req *r, void *arg, const struct json *about);
    /* transfer_send: answers r, whose range begins at or after the end, size. NULL: fail,
     * with INVALID. */
    void (*unsatisfied)(struct req *r, void *arg, uint64_t size);
};

struct transfer_ask {
    struct engine *en;
    const char *verb;        /* of file/fileact.h */
    const struct json *args; /* NULL: none */
    const struct sandbox_place *place;
    const char *root;   /* as in struct fileact_spec */
    const char *type;   /* the media type of the file sent */
    const char *source; /* static: the front-end's name in the log; NULL: no action */
    const struct transfer_words *words;
    void *arg;               /* taken, even on failure */
    void (*free)(void *arg); /* NULL: arg is nobody's */
};

/* Each answers r, now or later, and borrows the ask and what it points to during the
 * call. */
void transfer_look(struct req *r, const struct transfer_ask *q);
void transfer_send(struct req *r, const struct transfer_ask *q);
/* Gives the body of r, whose route has .body, to the helper as its input. */
void transfer_take(struct req *r, const struct transfer_ask *q);

/* A whole folder as JSON in a front-end's form: head, its entries with commas, tail. */
struct transfer_list {
    struct engine *en;
    const struct sandbox_place *place;
    const char *root;      /* as in struct fileact_spec */
    const char *type;      /* static */
    struct str head, tail; /* tail: static */
    /* Appends an entry of `list`. Returns false to leave it out. */
    bool (*put)(struct buf *out, const struct json *entry, void *arg);
    void (*fail)(struct req *r, void *arg, const struct err *e);
    void *arg;               /* taken */
    void (*free)(void *arg); /* NULL: arg is nobody's */
};
/* Takes the arguments of the verb `list`, and answers r. */
void transfer_list(struct req *r, struct json *take_args, const struct transfer_list *q);

/* ---- forms ---- */

enum transfer_part {
    PART_SKIP,
    PART_TEXT, /* its bytes go to `text`, at most TRANSFER_TEXT_MAX */
    PART_FILE  /* it is a file */
};
enum { TRANSFER_TEXT_MAX = 64 << 10 };

/* Each returns -1 and sets *e to refuse the form; its rest is then skipped. */
struct transfer_form {
    /* A part begins. PART_FILE: sets *args, arguments of the verb receive, taken. */
    int (*part)(void *arg, const struct multipart_part *p, struct json **args,
                struct err *e);
    int (*text)(void *arg, struct str bytes, struct err *e);
    /* The form is whole. May be NULL. */
    int (*end)(void *arg, struct err *e);
};

/*
 * Serves r, whose route has .body and whose body is a form (RFC 7578): a helper stores
 * its files (verb receive_all, which q need not name). done gets {"files":[…]}.
 */
void transfer_form(struct req *r, const struct transfer_ask *q,
                   const struct transfer_form *form);

/* ---- paths, ranges ---- */

/*
 * Adds a path to args as NAME, and if its bytes are not UTF-8 also as NAME_base64, which
 * the helper then uses.
 */
void transfer_path(struct json *args, const char *name, struct str path);

/*
 * Adds the first range of a Range field in bytes to args of the verb send: offset and
 * length, or suffix (RFC 9110 14.1). Returns 1; 0 if r asks for no range, or If-Range
 * names another file; -1 if the range is malformed.
 */
int transfer_range(const struct req *r, struct json *args);

#endif
