/* SPDX-License-Identifier: MIT */
/*
 * Exceptions: {"swerexception": {"message", "class_path", "traceback", "extra_info"}}
 * with status 511, which the client raises as its class class_path (swe-rex,
 * src/swerex/runtime/remote.py).
 */
#include "front/swerex/own.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* The class for each error code, unless a more specific one is known. */
static const char *const classes[ERR_COUNT] = {
    [ERR_INVALID] = "builtins.ValueError",
    [ERR_NOTFOUND] = "builtins.FileNotFoundError",
    [ERR_EXISTS] = "builtins.FileExistsError",
    [ERR_DENIED] = "builtins.PermissionError",
    [ERR_BUSY] = SWEREX_CLASS "CommandTimeoutError",
    [ERR_TIMEOUT] = SWEREX_CLASS "CommandTimeoutError",
    [ERR_LIMIT] = "builtins.OSError",
    [ERR_GONE] = "builtins.RuntimeError",
    [ERR_UNSUPPORTED] = "builtins.NotImplementedError",
    [ERR_CANCELLED] = "builtins.RuntimeError",
    [ERR_IO] = "builtins.OSError",
    [ERR_INTERNAL] = "builtins.RuntimeError",
};

/* Python's classes of OSError by errno (docs.python.org, "OS exceptions"). */
static const struct {
    int errnum;
    const char *class_path;
} os_classes[] = {
    {ENOENT, "builtins.FileNotFoundError"}, {EEXIST, "builtins.FileExistsError"},
    {EISDIR, "builtins.IsADirectoryError"}, {ENOTDIR, "builtins.NotADirectoryError"},
    {EACCES, "builtins.PermissionError"},   {EPERM, "builtins.PermissionError"},
    {EINTR, "builtins.InterruptedError"},   {EAGAIN, "builtins.BlockingIOError"},
    {EPIPE, "builtins.BrokenPipeError"},    {ETIMEDOUT, "builtins.TimeoutError"},
};

/* Errors whose text ends with that of errno (base/err.h), which has the number here. */
static int errno_of(const struct err *e)
{
    static const int known[] = {ENOENT, EEXIST,       EISDIR, ENOTDIR, EACCES, EPERM,
                                EROFS,  ENAMETOOLONG, ELOOP,  ENOSPC,  EDQUOT, EFBIG,
                                EBUSY,  ETXTBSY,      EIO,    EINVAL,  ENOMEM, EMFILE};
    struct str text = str_of(e->text);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_ends(text, str_of(strerror(known[i]))))
            return known[i];
    }
    return e->code == ERR_NOTFOUND ? ENOENT
           : e->code == ERR_EXISTS ? EEXIST
           : e->code == ERR_DENIED ? EACCES
           : e->code == ERR_LIMIT  ? EFBIG
                                   : 0;
}

void swerex_raise(struct req *r, const char *class_path, struct str message,
                  struct json *take_extra)
{
    struct buf b = BUF_INIT(6 * (size_t)SWEREX_MESSAGE_MAX);
    buf_addz(&b, "{\"swerexception\":{\"message\":\"");
    swerex_put_json(&b, message);
    buf_addf(&b,
             "\",\"class_path\":\"%s\",\"traceback\":\"\",\"extra_info\":", class_path);
    if (!take_extra || json_print(&b, take_extra) < 0)
        buf_addz(&b, "{}");
    buf_addz(&b, "}}");
    json_free(take_extra);
    if (buf_full(&b)) {
        buf_release(&b);
        swerex_raisef(r, class_path, "the message is too long to be sent");
        return;
    }
    req_answer_take(r, 511, "application/json", &b);
}

void swerex_raisef(struct req *r, const char *class_path, const char *format, ...)
{
    struct buf text = BUF_INIT(SWEREX_KEPT_MAX);
    va_list ap;
    va_start(ap, format);
    buf_addv(&text, format, ap);
    va_end(ap);
    swerex_raise(r, class_path, buf_str(&text), NULL);
    buf_release(&text);
}

void swerex_raise_err(struct req *r, const struct err *e)
{
    const char *class_path = e->code < ERR_COUNT ? classes[e->code] : NULL;
    swerex_raise(r, class_path ? class_path : "builtins.RuntimeError", str_of(e->text),
                 NULL);
}

void swerex_raise_errno(struct req *r, int errnum, struct str path)
{
    const char *class_path = "builtins.OSError";
    struct buf b = BUF_INIT(64 << 10);
    for (size_t i = 0; i < sizeof(os_classes) / sizeof(os_classes[0]); i++) {
        if (os_classes[i].errnum == errnum)
            class_path = os_classes[i].class_path;
    }
    buf_addf(&b, "[Errno %d] %s: ", errnum, strerror(errnum));
    swerex_put_repr(&b, str_sub(path, 0, utf8_cut(path, 4096)));
    swerex_raise(r, class_path, buf_str(&b), NULL);
    buf_release(&b);
}

void swerex_raise_file(struct req *r, const struct err *e, struct str path)
{
    int errnum = errno_of(e);
    if (errnum)
        swerex_raise_errno(r, errnum, path);
    else
        swerex_raise_err(r, e);
}
