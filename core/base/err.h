/* SPDX-License-Identifier: MIT */
/*
 * A failure: one code of a closed list, and one sentence.
 *
 * The sentence says what was tried, on what, why it failed, and where it
 * helps, what to do: "cannot open notes.txt: Permission denied". The code is
 * for programs: each front-end has one table from it to its protocol.
 */
#ifndef OD_BASE_ERR_H
#define OD_BASE_ERR_H

enum err_code {
    ERR_NONE,
    ERR_INVALID,     /* the request makes no sense */
    ERR_NOTFOUND,    /* no such thing */
    ERR_EXISTS,      /* there is one already */
    ERR_DENIED,      /* not allowed */
    ERR_BUSY,        /* somebody else is using it */
    ERR_TIMEOUT,     /* a time limit passed */
    ERR_LIMIT,       /* a limit of ours or of the machine */
    ERR_GONE,        /* it was there and is no more */
    ERR_UNSUPPORTED, /* not on this machine, or not in this version */
    ERR_CANCELLED,   /* the caller or a shutdown took it back */
    ERR_IO,          /* the system refused for another reason */
    ERR_INTERNAL,    /* our fault */
    ERR_COUNT
};

struct err {
    enum err_code code;
    char text[512];
};

#define ERR_INIT {ERR_NONE, ""}

/* Fill e (NULL is allowed) and return -1, so that `return err_set(…)` reads well. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with the code that fits errnum, and ": strerror" appended. */
int err_sys(struct err *e, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* "INVALID", "NOTFOUND", … */
const char *err_name(enum err_code code);
/* From a name; ERR_INTERNAL when unknown. */
enum err_code err_from_name(const char *name);
enum err_code err_from_errno(int errnum);

#endif
