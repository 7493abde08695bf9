/* SPDX-License-Identifier: MIT */
#include "secret/values.h"

#include "base/buf.h"
#include "net/issuer.h"
#include "net/trust.h"
#include "os/file.h"
#include "secret/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUNDLE_MAX = 8 << 20 };

/* The variables by which programs find the certificates to trust. */
static const char *const trust_variables[] = {
    "SSL_CERT_FILE",      /* OpenSSL, Go, rustls, Python */
    "CURL_CA_BUNDLE",     /* curl */
    "REQUESTS_CA_BUNDLE", /* Python's requests */
    "PIP_CERT",           "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "DENO_CERT",
    "GIT_SSL_CAINFO",     "CARGO_HTTP_CAINFO",   "AWS_CA_BUNDLE",
};

static void wipe(struct buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
    buf_release(b);
}

/* Appends the value that the rule names. */
static int read_value(const struct json *rule, const char *what, struct buf *out,
                      struct err *e)
{
    struct str file = json_str(rule, "file", ""), name = json_str(rule, "name", "");
    const char *set = getenv(name.p);
    if (file.n == 0 && (!set || !*set))
        return err_set(e, ERR_NOTFOUND,
                       "cannot read %s: the variable is not set where the server is "
                       "started; set it there, or write: from FILE",
                       what);
    if (file.n == 0)
        buf_addz(out, set);
    else if (file_read(file.p, SECRET_MAX + 2, out, e) < 0)
        return -1;
    while (out->n > 0 && (out->p[out->n - 1] == '\n' || out->p[out->n - 1] == '\r'))
        buf_truncate(out, out->n - 1);
    return 0;
}

static int take_secret(const struct json *rule, struct json *secrets, struct err *e)
{
    struct buf value = BUF_INIT(SECRET_MAX + 2), holder = BUF_INIT(SECRET_MAX);
    struct str name = json_str(rule, "name", "");
    char what[100];
    snprintf(what, sizeof(what), "the secret %.*s", STR_ARG(name));
    int rc = read_value(rule, what, &value, e);
    if (rc == 0)
        rc = secret_placeholder(buf_str(&value), what, &holder, e);
    if (rc == 0) {
        struct json *o = json_object();
        json_put_str(o, "name", name);
        json_put_str(o, "value", buf_str(&value));
        json_put_str(o, "placeholder", buf_str(&holder));
        json_put_bool(o, "bodies", json_bool(rule, "bodies", false));
        json_push(secrets, o);
        setenv(name.p, buf_z(&holder), 1);
    }
    wipe(&value);
    buf_release(&holder);
    return rc;
}

/* Adds a rule that hides the file, unless it is the last rule's. */
static void hide_file(struct json *rules, const struct json *of)
{
    struct str file = json_str(of, "file", "");
    struct json *hide = json_object();
    json_put_z(hide, "do", "hide");
    json_put_str(hide, "path", file);
    json_put_z(hide, "option", "the secret's file");
    json_push(rules, hide);
}

/* ---- the certificates that programs trust ---- */

static int write_file(const char *path, struct str text, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), rc = 0;
    if (fd < 0 || file_write_all(fd, text) < 0)
        rc = err_sys(e, errno, "cannot write the trusted certificates %s", path);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Is the file one of those before the variable i? */
static bool is_repeated(const struct trust *t, const char *path, size_t i)
{
    bool same = strcmp(trust_source(t), path) == 0;
    while (!same && --i > 0) {
        const char *other = getenv(trust_variables[i]);
        same = other && strcmp(other, path) == 0;
    }
    return same;
}

static int write_bundle(const char *path, struct str authority, struct err *e)
{
    struct buf all = BUF_INIT(BUNDLE_MAX);
    struct trust *t = trust_new(&(struct trust_where){0}, e);
    int rc = t ? trust_print(t, &all, e) : -1;
    /* Those that people set for some programs alone are of use to all of them. */
    for (size_t i = 1; t && i < sizeof(trust_variables) / sizeof(*trust_variables); i++) {
        struct err ignored = ERR_INIT;
        const char *other = getenv(trust_variables[i]);
        if (other && *other && !is_repeated(t, other, i))
            trust_read(other, "certificates", &all, &ignored);
        if (all.n > 0 && all.p[all.n - 1] != '\n')
            buf_addc(&all, '\n');
    }
    trust_free(t);
    buf_adds(&all, authority);
    if (rc == 0 && buf_full(&all)) /* without the authority nothing would work */
        rc = err_set(e, ERR_LIMIT, "the trusted certificates are more than %d bytes",
                     BUNDLE_MAX);
    rc = rc == 0 ? write_file(path, buf_str(&all), e) : rc;
    buf_release(&all);
    return rc;
}

/* The same certificates for Java, which reads no PEM. */
static int write_java(const char *path, const char *bundle, struct err *e)
{
    struct buf all = BUF_INIT(BUNDLE_MAX);
    struct trust *t = trust_new(&(struct trust_where){.ca = bundle}, e);
    int rc = t ? trust_print_java(t, &all, e) : -1;
    rc = rc == 0 ? write_file(path, buf_str(&all), e) : rc;
    trust_free(t);
    buf_release(&all);
    return rc;
}

/* After what is there already. */
static void set_java(const char *path)
{
    const char *old = getenv("JAVA_TOOL_OPTIONS");
    struct buf value = BUF_INIT(64 << 10);
    buf_addf(&value,
             "%s%s-Djavax.net.ssl.trustStore=%s -Djavax.net.ssl.trustStoreType=JKS",
             old ? old : "", old ? " " : "", path);
    if (!buf_full(&value))
        setenv("JAVA_TOOL_OPTIONS", buf_z(&value), 1);
    buf_release(&value);
}

static int make_authority(const char *folder, struct json *config, struct err *e)
{
    struct buf cert = BUF_INIT(ISSUER_PEM_MAX), key = BUF_INIT(ISSUER_PEM_MAX),
               path = BUF_INIT(8192), java = BUF_INIT(8192), hash = BUF_INIT(64);
    struct json *ca = json_object(), *trust = json_object();
    const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
    json_put_z(trust, "SSL_CERT_FILE", file ? file : "");
    json_put_z(trust, "SSL_CERT_DIR", dir ? dir : "");
    buf_addf(&path, "%s/bundle.pem", folder);
    buf_addf(&java, "%s/bundle.jks", folder);
    int rc = issuer_make("od's fence, this server only", &cert, &key, e);
    if (rc == 0)
        rc = write_bundle(buf_z(&path), buf_str(&cert), e);
    if (rc == 0)
        rc = write_java(buf_z(&java), buf_z(&path), e);
    if (rc == 0)
        set_java(buf_z(&java));
    if (rc == 0)
        rc = issuer_key_hash(buf_str(&cert), &hash, e);
    if (rc == 0)
        setenv("OD_FENCE_AUTHORITY", buf_z(&hash), 1);
    for (size_t i = 0; i < sizeof(trust_variables) / sizeof(*trust_variables) && rc == 0;
         i++)
        setenv(trust_variables[i], buf_z(&path), 1);
    if (rc == 0)
        unsetenv("SSL_CERT_DIR"); /* what is in there is in the file, too */
    json_put_str(ca, "cert", buf_str(&cert));
    json_put_str(ca, "key", buf_str(&key));
    json_put(config, "ca", ca);
    json_put(config, "trust", trust);
    buf_release(&cert);
    wipe(&key);
    buf_release(&path);
    buf_release(&java);
    buf_release(&hash);
    return rc;
}

int secret_values(struct json *rules, const char *folder, struct json *config,
                  struct err *e)
{
    struct json *secrets = json_array(), *x;
    struct str last = {0};
    int rc = 0;
    for (x = json_first(rules); x && rc == 0; x = json_next(x)) {
        struct str name = json_str(x, "name", "");
        /* A secret's rules, one for each host, follow one another. */
        if (!str_eq(json_str(x, "do", ""), STR("secret")) || str_eq(name, last))
            continue;
        last = name;
        rc = take_secret(x, secrets, e);
        if (rc == 0 && json_has(x, "file"))
            hide_file(rules, x);
    }
    if (rc == 0 && json_count(secrets) > 0)
        rc = make_authority(folder, config, e);
    json_put(config, "secrets", secrets);
    return rc;
}
