/* SPDX-License-Identifier: MIT */
#include "front/backend/secret.h"

#include "base/option.h"
#include "net/tls.h"
#include "net/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int backend_prepare(const struct options *given, const char *name, backend_put_fn *put,
                    struct json **own, struct err *e)
{
    struct json *o = option_text(given, name) ? json_object() : NULL;
    int rc = o ? put(o, given, *own, e) : 0;
    json_free(*own);
    *own = o;
    return rc;
}

static int take_token(const char *path, struct str text, struct buf *out, struct err *e)
{
    struct str token = str_trim(str_cut(&text, '\n'));
    if (token.n == 0)
        return err_set(e, ERR_INVALID, "the first line of %.200s holds no token", path);
    if (token.n > BACKEND_SECRET_MAX)
        return err_set(e, ERR_LIMIT, "the token in %.200s is longer than %d bytes", path,
                       BACKEND_SECRET_MAX);
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > 0x7e)
            return err_set(e, ERR_INVALID,
                           "the token in %.200s has a byte that no header can carry: it "
                           "takes printable ASCII without blanks",
                           path);
    }
    buf_reset(out);
    return buf_adds(out, token);
}

int backend_read_secret(const char *path, bool pipe, struct buf *out, struct err *e)
{
    char text[BACKEND_SECRET_MAX + 64];
    size_t have = 0;
    ssize_t n = 1;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | (pipe ? 0 : O_NONBLOCK));
    if (fd >= 0 && !pipe && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return err_set(e, ERR_INVALID,
                       "cannot read the token again: %.200s is not a file", path);
    }
    while (fd >= 0 && n > 0 && have < sizeof(text) && !memchr(text, '\n', have)) {
        n = read(fd, text + have, sizeof(text) - have);
        have += n > 0 ? (size_t)n : 0;
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (fd < 0 || n < 0)
        return err_sys(e, why, "cannot read the token from %.200s", path);
    int rc = take_token(path, str_n(text, have), out, e);
    explicit_bzero(text, sizeof(text));
    return rc;
}

int backend_put_secret(struct json *o, const char *name, const char *path,
                       struct buf *out, struct err *e)
{
    struct stat st;
    char full[PATH_MAX];
    if (backend_read_secret(path, true, out, e) < 0)
        return -1;
    if (realpath(path, full) && stat(full, &st) == 0 && S_ISREG(st.st_mode))
        json_put_z(o, name, full);
    return 0;
}

int backend_put_file(struct json *o, const char *name, const char *option,
                     const char *path, struct err *e)
{
    char full[PATH_MAX];
    if (!path)
        return 0;
    if (!realpath(path, full))
        return err_sys(e, errno, "cannot use %s %.200s", option, path);
    json_put_z(o, name, full);
    return 0;
}

struct tls_client *backend_tls(const char *ca, const char *cert, const char *key,
                               struct err *e)
{
    struct trust_where at = {.ca = ca[0] ? ca : NULL};
    struct tls_files own = {.cert = cert, .key = key[0] ? key : NULL};
    struct trust *trust = trust_new(&at, e);
    return trust ? tls_client_new(trust, cert[0] ? &own : NULL, e) : NULL;
}

static const char *const variables[] = {"SSL_CERT_FILE", "SSL_CERT_DIR", NULL};

void backend_put_env(struct json *o)
{
    char full[PATH_MAX];
    struct json *env = json_object();
    for (size_t i = 0; variables[i]; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            json_put_z(env, variables[i],
                       !strchr(value, ':') && realpath(value, full) ? full : value);
    }
    json_put(o, "env", env);
}

void backend_take_env(const struct json *o)
{
    for (size_t i = 0; variables[i]; i++) {
        struct str value = json_str(json_get(o, "env"), variables[i], "");
        if (value.n > 0)
            setenv(variables[i], value.p, 1);
    }
}
