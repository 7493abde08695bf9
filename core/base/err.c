/* SPDX-License-Identifier: MIT */
/*
 * Codes, sentences and errno. A sentence too long for the struct is cut, never
 * between the bytes of a character, and never at the cost of the reason that
 * err_sys puts at its end.
 */
#include "base/err.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define CUT_MARK "..."

static const struct err_words words[ERR_COUNT] = {
#define ERR_CODE(name, http, jsonrpc, connect, exit, sentence) \
    [ERR_##name] = {#name, http, jsonrpc, connect, exit, sentence},
#include "base/errcodes.def"
#undef ERR_CODE
};

/* Formats into the first `size` bytes of e->text; a cut is marked. */
static size_t put_sentence(struct err *e, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

static size_t put_sentence(struct err *e, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(e->text, size, fmt, ap);
    if (n < 0) {
        e->text[0] = '\0';
        return 0;
    }
    if ((size_t)n < size)
        return (size_t)n;
    size_t at = utf8_cut(str_n(e->text, size - 1), size - sizeof(CUT_MARK));
    memcpy(e->text + at, CUT_MARK, sizeof(CUT_MARK));
    return at + sizeof(CUT_MARK) - 1;
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    if (!e)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    put_sentence(e, sizeof(e->text), fmt, ap);
    va_end(ap);
    e->code = code;
    return -1;
}

int err_sys(struct err *e, int errnum, const char *fmt, ...)
{
    if (!e)
        return -1;
    char reason[128];
    int n = snprintf(reason, sizeof(reason), ": %s", strerror(errnum));
    size_t have = n < 0 ? 0 : (size_t)n;
    if (have >= sizeof(reason))
        have = sizeof(reason) - 1;
    va_list ap;
    va_start(ap, fmt);
    size_t at = put_sentence(e, sizeof(e->text) - have, fmt, ap);
    va_end(ap);
    memcpy(e->text + at, reason, have);
    e->text[at + have] = '\0';
    e->code = err_from_errno(errnum);
    return -1;
}

const struct err_words *err_words(enum err_code code)
{
    bool known = code > ERR_NONE && (unsigned)code < ERR_COUNT;
    return &words[known ? code : ERR_INTERNAL];
}

const char *err_name(enum err_code code)
{
    return code == ERR_NONE ? "NONE" : err_words(code)->name;
}

enum err_code err_from_name(const char *name)
{
    for (int i = 0; i < ERR_COUNT; i++)
        if (strcmp(name, err_name((enum err_code)i)) == 0)
            return (enum err_code)i;
    return ERR_INTERNAL;
}

enum err_code err_from_errno(int errnum)
{
    switch (errnum) {
    case EINVAL:
    case EISDIR:
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case EBADF:
    case ENOEXEC:
        return ERR_INVALID;
    case ENOENT:
    case ESRCH:
    case ENODEV:
    case ENXIO:
        return ERR_NOTFOUND;
    case EEXIST:
    case ENOTEMPTY:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case EBUSY:
    case ETXTBSY:
    case EADDRINUSE:
        return ERR_BUSY;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case EAGAIN: /* the error of fork and of a PTY when a limit is reached */
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case E2BIG:
    case EMSGSIZE:
    case ENOBUFS:
        return ERR_LIMIT;
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED:
    case ENOTCONN:
    case ESTALE:
        return ERR_GONE;
    case ENOSYS:
    case EOPNOTSUPP:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
        return ERR_UNSUPPORTED;
    case ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_IO;
    }
}
