/* SPDX-License-Identifier: MIT */
/* Options about a backend: how they are stored, its secret and its certificates. */
#ifndef OD_FRONT_BACKEND_SECRET_H
#define OD_FRONT_BACKEND_SECRET_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct options; /* base/option.h */
struct tls_client;

enum { BACKEND_SECRET_MAX = 8192 };

/* Fills o for the worker; own: the values of the rows. Returns -1 and sets *e. */
typedef int backend_put_fn(struct json *o, const struct options *given,
                           const struct json *own, struct err *e);
/*
 * For the function `prepare` of a table: replaces *own by the object that put fills, or
 * by NULL if the option `name` was not given. Returns -1 and sets *e.
 */
int backend_prepare(const struct options *given, const char *name, backend_put_fn *put,
                    struct json **own, struct err *e);
/*
 * Replaces out by the token or password in the first line of a file, or of a pipe if pipe
 * is set (it blocks). Returns -1 and sets *e, which names the file.
 */
int backend_read_secret(const char *path, bool pipe, struct buf *out, struct err *e);
/*
 * Reads the file once in the same way, and adds its path to o as `name` if the file can
 * be read again.
 */
int backend_put_secret(struct json *o, const char *name, const char *path,
                       struct buf *out, struct err *e);
/*
 * Adds a file's absolute path to o, because the worker has another working directory.
 * path NULL: does nothing. Returns -1 and sets *e, which names the option.
 */
int backend_put_file(struct json *o, const char *name, const char *option,
                     const char *path, struct err *e);
/*
 * Returns a TLS client that trusts ca, or the authorities that net/trust.h finds, and
 * presents cert; each may be "". Reads the files now. Returns NULL and sets *e, which
 * names the file.
 */
struct tls_client *backend_tls(const char *ca, const char *cert, const char *key,
                               struct err *e);
/* Adds SSL_CERT_FILE and SSL_CERT_DIR, if they are set, to o as `env`. */
void backend_put_env(struct json *o);
/*
 * Sets these variables in this process, which began without an environment (net/trust.h).
 */
void backend_take_env(const struct json *o);

#endif
