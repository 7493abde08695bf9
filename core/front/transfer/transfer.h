/* SPDX-License-Identifier: MIT */
/*
 * Requests that a helper of core/file serves: what only looks at files, files that go
 * out, and bodies that become files, as a whole or in parts of a form. The bytes are in
 * no log and not in memory: they go from the request to the helper and back as both keep
 * up. With ask.source, what is sent, received or removed is an action in the log
 * (action/files.h): its arguments and its end, not the bytes. A form is one action, with
 * the arguments of its first file; its end has all of them.
 *
 *   request ─▶ transfer_look ─────────────▶ done or fail answer it
 *           ─▶ transfer_send ─▶ head ─▶ bytes of the file, or 304
 *           ─▶ transfer_take ─▶ the body, one file ──────▶ done or fail
 *           ─▶ transfer_form ─▶ part, text, end ─▶ files ─▶ done or fail
 *
 * A client that goes, or a cancelled action, ends its helper, and nothing half is left.
 */
#ifndef OD_FRONT_TRANSFER_TRANSFER_H
#define OD_FRONT_TRANSFER_TRANSFER_H

#include "base/json.h"
#include "front/front.h"
#include "http/multipart.h"
#include "setup/sandbox.h"

struct engine;

/* How a front-end answers; what it needs for that is ask.arg. */
struct transfer_words {
    /* The helper's result, a JSON object: answers r. May start another transfer of r. */
    void (*done)(struct req *r, void *arg, struct str result);
    /* Answers r. An error of a form itself is INVALID. */
    void (*fail)(struct req *r, void *arg, const struct err *e);
    /*
     * transfer_send: adds fields to the answer. about: {"size", "mode", "etag", "mtime",
     * "from", "length"}. Accept-Ranges, ETag and Content-Range are there already. May be
     * NULL.
     */
    void (*head)(struct req *r, void *arg, const struct json *about);
    /* transfer_send: the range begins at or after the end, size; NULL: fail, with
     * INVALID. */
    void (*unsatisfied)(struct req *r, void *arg, uint64_t size);
};

struct transfer_ask {
    struct engine *en;
    const char *verb;        /* of file/fileact.h */
    const struct json *args; /* NULL: none */
    const struct sandbox_place *place;
    const char *border; /* as in struct fileact_spec */
    const char *type;   /* the media type of what goes out */
    const char *source; /* static: the front-end in the log; NULL: it is not logged */
    const struct transfer_words *words;
    void *arg;               /* taken, also on failure */
    void (*free)(void *arg); /* NULL: arg is nobody's */
};

/* Each answers r, now or later. The ask and what it points to are borrowed for the call.
 */
void transfer_look(struct req *r, const struct transfer_ask *q);
void transfer_send(struct req *r, const struct transfer_ask *q);
/* The body of r, whose route has .body, is the input of the helper. */
void transfer_take(struct req *r, const struct transfer_ask *q);

/* A folder as a whole, as JSON of a front-end: head, its entries with commas, tail. */
struct transfer_list {
    struct engine *en;
    const struct sandbox_place *place;
    const char *border;    /* as in struct fileact_spec */
    const char *type;      /* static */
    struct str head, tail; /* tail: static */
    /* Appends an entry of `list`; false: it is left out. */
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
    PART_TEXT, /* its bytes come to `text`, at most TRANSFER_TEXT_MAX */
    PART_FILE  /* it is a file */
};
enum { TRANSFER_TEXT_MAX = 64 << 10 };

/* Each returns -1 and sets *e to refuse the form; then the rest of it is passed over. */
struct transfer_form {
    /* A part begins. PART_FILE: sets *args, arguments of the verb receive, taken. */
    int (*part)(void *arg, const struct multipart_part *p, struct json **args,
                struct err *e);
    int (*text)(void *arg, struct str bytes, struct err *e);
    /* The form is whole. May be NULL. */
    int (*end)(void *arg, struct err *e);
};

/*
 * The body of r, whose route has .body, is a form (RFC 7578), whose files a helper takes
 * (verb receive_all, which q need not name). done gets {"files":[…]}.
 */
void transfer_form(struct req *r, const struct transfer_ask *q,
                   const struct transfer_form *form);

/* ---- paths, ranges ---- */

/*
 * Adds a path to args, as NAME, and as NAME_base64 too if its bytes are not UTF-8: the
 * helper then takes those.
 */
void transfer_path(struct json *args, const char *name, struct str path);

/*
 * Adds the first range of a Range field in bytes to args of the verb send: offset and
 * length, or suffix (RFC 9110 14.1). Returns 1; 0 if r asks for no range, or If-Range
 * names another file; -1 if the range is malformed.
 */
int transfer_range(const struct req *r, struct json *args);

#endif
