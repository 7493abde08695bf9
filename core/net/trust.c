/* SPDX-License-Identifier: MIT */
/* Certificates of authorities: where they are, and how they are read. */
#include "net/trust.h"

#include "base/enc.h"
#include "base/hash.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "net/authorities.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>

enum { CERTS_MAX = 4096 };

struct trust {
    mbedtls_x509_crt chain;
    unsigned count;
    char *source;
};

static const char *const usual_files[] = {
    "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Alpine, Arch, Nix */
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, Red Hat */
    "/etc/pki/tls/certs/ca-bundle.crt",                  /* Red Hat, older */
    "/etc/ssl/ca-bundle.pem",                            /* SUSE */
    "/var/lib/ca-certificates/ca-bundle.pem",            /* SUSE */
    "/etc/ssl/cert.pem",                                 /* Alpine */
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",  /* Arch */
};

int trust_begin(struct err *e)
{
    psa_status_t rc = psa_crypto_init();
    if (rc == PSA_SUCCESS)
        return 0;
    return err_set(e, ERR_INTERNAL, "cannot start the TLS library: error %d", (int)rc);
}

/* ---- files ---- */

int trust_read(const char *path, const char *what, struct buf *out, struct err *e)
{
    size_t before = out->n;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno, "cannot open %s %s", what, path);
    for (;;) {
        char *p = buf_reserve(out, 16 << 10);
        if (!p || out->n - before > LIMIT_PEM_MAX) {
            close(fd);
            return err_set(e, ERR_LIMIT, "cannot read %s %s: it has more than %d bytes",
                           what, path, LIMIT_PEM_MAX);
        }
        ssize_t n = read(fd, p, 16 << 10);
        if (n < 0 && errno == EINTR)
            continue;
        int why = errno;
        buf_commit(out, n > 0 ? (size_t)n : 0);
        if (n > 0)
            continue;
        close(fd);
        if (n < 0)
            return err_sys(e, why, "cannot read %s %s", what, path);
        if (out->n == before)
            return err_set(e, ERR_INVALID, "cannot use %s %s: it is empty", what, path);
        return 0;
    }
}

static unsigned count_certs(const mbedtls_x509_crt *c)
{
    unsigned n = 0;
    for (; c && c->raw.p; c = c->next)
        n++;
    return n;
}

static int add_file(struct trust *t, const char *path, struct err *e)
{
    struct buf text = BUF_INIT(LIMIT_PEM_MAX + (32 << 10));
    int rc = trust_read(path, "the trusted certificates", &text, e);
    if (rc == 0)
        mbedtls_x509_crt_parse(&t->chain, (unsigned char *)text.p, text.n + 1);
    /* DER has no terminator to count. */
    if (rc == 0 && count_certs(&t->chain) == t->count)
        mbedtls_x509_crt_parse_der(&t->chain, (unsigned char *)text.p, text.n);
    buf_release(&text);
    unsigned count = count_certs(&t->chain);
    if (rc == 0 && count == t->count)
        rc = err_set(e, ERR_INVALID,
                     "cannot use the trusted certificates in %s: there is no "
                     "certificate in it, as PEM or DER",
                     path);
    t->count = count;
    return rc;
}

/* Reads every file of a folder; other files than certificates are skipped. */
static int add_folder(struct trust *t, const char *path, struct err *e)
{
    DIR *d = opendir(path);
    if (!d)
        return err_sys(e, errno, "cannot open the folder of trusted certificates %s",
                       path);
    struct buf name = BUF_INIT(8192);
    for (struct dirent *f; (f = readdir(d)) && t->count < CERTS_MAX;) {
        buf_reset(&name);
        if (f->d_name[0] != '.' && buf_addf(&name, "%s/%s", path, f->d_name) == 0)
            add_file(t, buf_z(&name), NULL);
    }
    buf_release(&name);
    closedir(d);
    return 0;
}

static int add_folders(struct trust *t, const char *list, struct err *e)
{
    struct str rest = str_of(list);
    while (rest.n > 0 && t->count < CERTS_MAX) {
        struct str one = str_cut(&rest, ':');
        char *path = xstrndup(one.p, one.n);
        int rc = one.n > 0 ? add_folder(t, path, e) : 0;
        free(path);
        if (rc < 0)
            return -1;
    }
    if (t->count == 0)
        return err_set(e, ERR_NOTFOUND,
                       "cannot use the trusted certificates in SSL_CERT_DIR=%s: there "
                       "is no certificate",
                       list);
    return 0;
}

static void add_der(void *arg, struct str der)
{
    struct trust *t = arg;
    if (mbedtls_x509_crt_parse_der(&t->chain, (const unsigned char *)der.p, der.n) == 0)
        t->count++;
}

static int add_ours(struct trust *t, struct err *e)
{
    struct buf source = BUF_INIT(100);
    int rc = authorities_each(add_der, t, e);
    buf_addf(&source, "od itself (Mozilla's of %s)", authorities_date());
    t->source = xstrdup(buf_z(&source));
    buf_release(&source);
    return rc;
}

static int add_usual(struct trust *t, const char *root, struct err *e)
{
    struct buf path = BUF_INIT(8192);
    int rc = -1;
    for (size_t i = 0; i < sizeof(usual_files) / sizeof(*usual_files) && rc < 0; i++) {
        buf_reset(&path);
        rc = buf_addf(&path, "%s%s", root, usual_files[i]);
        if (rc == 0)
            rc = access(buf_z(&path), F_OK) == 0 ? add_file(t, buf_z(&path), e) : -1;
    }
    if (rc == 0)
        t->source = xstrdup(buf_z(&path));
    buf_release(&path);
    return rc == 0 ? 0 : add_ours(t, e);
}

/* ---- from outside ---- */

struct trust *trust_new(const struct trust_where *where, struct err *e)
{
    char *(*env)(const char *) = where->env ? where->env : getenv;
    const char *file = where->ca ? where->ca : env("SSL_CERT_FILE");
    const char *folders = env("SSL_CERT_DIR");
    struct trust *t = xnew(struct trust);
    mbedtls_x509_crt_init(&t->chain);
    int rc = trust_begin(e);
    if (rc < 0) {
        ;
    } else if (file && (where->ca || *file)) {
        rc = add_file(t, file, e);
        t->source = xstrdup(file);
    } else if (folders && *folders) {
        rc = add_folders(t, folders, e);
        t->source = xstrdup(folders);
    } else {
        rc = add_usual(t, where->root ? where->root : "", e);
    }
    if (rc == 0)
        return t;
    trust_free(t);
    return NULL;
}

void trust_free(struct trust *t)
{
    if (!t)
        return;
    mbedtls_x509_crt_free(&t->chain);
    free(t->source);
    free(t);
}

const char *trust_source(const struct trust *t) { return t->source; }
unsigned trust_count(const struct trust *t) { return t->count; }
struct mbedtls_x509_crt *trust_chain(struct trust *t) { return &t->chain; }

int trust_print(const struct trust *t, struct buf *out, struct err *e)
{
    enum { LINE = 64 }; /* RFC 7468, 2 */
    struct buf text = BUF_INIT(LIMIT_PEM_MAX);
    for (const mbedtls_x509_crt *c = &t->chain; c && c->raw.p; c = c->next) {
        buf_reset(&text);
        enc_base64(&text, str_n(c->raw.p, c->raw.len));
        buf_addz(out, "-----BEGIN CERTIFICATE-----\n");
        for (size_t at = 0; at < text.n; at += LINE) {
            buf_adds(out, str_sub(buf_str(&text), at, LINE));
            buf_addc(out, '\n');
        }
        buf_addz(out, "-----END CERTIFICATE-----\n");
    }
    bool full = buf_full(out) || buf_full(&text);
    buf_release(&text);
    return full ? err_set(e, ERR_LIMIT, "there are too many trusted certificates") : 0;
}

/* A number of n bytes, high byte first. */
static void put_number(struct buf *out, uint64_t v, int n)
{
    for (int i = n - 1; i >= 0; i--)
        buf_addc(out, (char)(v >> (8 * i)));
}

static void put_word(struct buf *out, const char *word)
{
    put_number(out, strlen(word), 2);
    buf_addz(out, word);
}

int trust_print_java(const struct trust *t, struct buf *out, struct err *e)
{
    static const char password[] = "changeit", salt[] = "Mighty Aphrodite";
    enum { MAGIC = 0xFEEDFEED, VERSION = 2, CERTIFICATE = 2 };
    struct hash h;
    uint8_t digest[HASH_SHA1_SIZE];
    size_t from = out->n;
    unsigned number = 0;
    put_number(out, MAGIC, 4);
    put_number(out, VERSION, 4);
    put_number(out, t->count, 4);
    for (const mbedtls_x509_crt *c = &t->chain; c && c->raw.p; c = c->next) {
        char alias[16];
        snprintf(alias, sizeof(alias), "%u", ++number);
        put_number(out, CERTIFICATE, 4);
        put_word(out, alias);
        put_number(out, 0, 8); /* when it came */
        put_word(out, "X.509");
        put_number(out, c->raw.len, 4);
        buf_adds(out, str_n(c->raw.p, c->raw.len));
    }
    hash_begin_sha1(&h);
    for (const char *p = password; *p; p++)
        hash_add(&h, str_n((char[2]){0, *p}, 2));
    hash_add(&h, str_of(salt));
    hash_add(&h, str_sub(buf_str(out), from, out->n));
    hash_end(&h, digest);
    buf_adds(out, str_n(digest, sizeof(digest)));
    return buf_full(out)
               ? err_set(e, ERR_LIMIT, "there are too many trusted certificates")
               : 0;
}
