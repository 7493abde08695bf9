/* SPDX-License-Identifier: MIT */
/*
 * A failure: one code of a closed list, and one sentence.
 *
 * The sentence says what was tried, on what, why it failed, and where it
 * helps, what to do: "cannot open notes.txt: Permission denied". The code is
 * for programs: errcodes.def lists the codes with their HTTP status, JSON-RPC code,
 * Connect code and exit status.
 */
#ifndef OD_BASE_ERR_H
#define OD_BASE_ERR_H

enum err_code {
    ERR_NONE,
#define ERR_CODE(name, ...) ERR_##name,
#include "base/errcodes.def"
#undef ERR_CODE
    ERR_COUNT
};

struct err {
    enum err_code code;
    char text[512];
};

#define ERR_INIT \
    { \
        ERR_NONE, "" \
    }

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

/* What a code is in each protocol. */
struct err_words {
    const char *name;     /* as err_name */
    int http;             /* status */
    int jsonrpc;          /* error.code */
    const char *connect;  /* Connect-RPC's code */
    int exit;             /* status of an applet */
    const char *sentence; /* what the code means */
};

/* Borrowed, never NULL. Of ERR_NONE and of unknown codes: ERR_INTERNAL's. */
const struct err_words *err_words(enum err_code code);

#endif
