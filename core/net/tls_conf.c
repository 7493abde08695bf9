/* SPDX-License-Identifier: MIT */
/* The configuration of handshakes: certificates, keys, and allowed algorithms. */
#include "net/tls_own.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "net/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <mbedtls/psa_util.h>

/*
 * Identifies the version of a file that was read: a changed file differs in one of
 * these.
 */
struct conf_mark {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec changed;
};

struct tls_server {
    struct tls_conf *conf;
    char *cert, *key, *ca; /* owned; key and ca may be NULL */
    struct conf_mark marks[3];
    bool complained; /* conf is NULL, and the reason was logged */
};

struct tls_client {
    struct tls_conf *conf, *older; /* older: NULL until it is needed */
};

/* RFC 7301; the second is for servers, as some clients of HTTP/1.0 send it. */
static const char *protocols[] = {"http/1.1", "http/1.0", NULL};
static const char *client_protocols[] = {"http/1.1", NULL};

/* Forward secrecy and AEAD, which every current server supports. */
static const int server_suites[] = {
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
    MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    0,
};

/*
 * PKCS#1 before PSS: the library offers PSS for TLS 1.3, which has nothing else, and
 * before 3.6.7 does not accept it from a server of TLS 1.2. Such a server that follows
 * the client's order then chooses PKCS#1; for others there is tls_connect_older.
 */
static const uint16_t client_signatures[] = {
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256, MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512, MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384,       MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA256,    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA384,
    MBEDTLS_TLS1_3_SIG_RSA_PSS_RSAE_SHA512,    MBEDTLS_TLS1_3_SIG_NONE,
};

static const uint16_t older_signatures[] = {
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP256R1_SHA256,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP384R1_SHA384,
    MBEDTLS_TLS1_3_SIG_ECDSA_SECP521R1_SHA512,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA256,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA384,
    MBEDTLS_TLS1_3_SIG_RSA_PKCS1_SHA512,
    MBEDTLS_TLS1_3_SIG_NONE,
};

/* ---- life ---- */

struct tls_conf *tls_conf_ref(struct tls_conf *c)
{
    c->refs++;
    return c;
}

void tls_conf_unref(struct tls_conf *c)
{
    if (!c || --c->refs > 0)
        return;
    mbedtls_ssl_config_free(&c->ssl);
    mbedtls_x509_crt_free(&c->chain);
    mbedtls_x509_crt_free(&c->ca);
    mbedtls_pk_free(&c->key);
    mbedtls_ssl_ticket_free(&c->tickets);
    if (!c->base)
        trust_free(c->trust);
    tls_conf_unref(c->base);
    free(c);
}

static struct tls_conf *new_conf(int role)
{
    struct tls_conf *c = xnew(struct tls_conf);
    c->refs = 1;
    mbedtls_ssl_config_init(&c->ssl);
    mbedtls_x509_crt_init(&c->chain);
    mbedtls_x509_crt_init(&c->ca);
    mbedtls_pk_init(&c->key);
    mbedtls_ssl_ticket_init(&c->tickets);
    if (mbedtls_ssl_config_defaults(&c->ssl, role, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0)
        xalloc_failed(sizeof(c->ssl));
    mbedtls_ssl_conf_min_tls_version(&c->ssl, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_rng(&c->ssl, mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    mbedtls_ssl_conf_alpn_protocols(
        &c->ssl, role == MBEDTLS_SSL_IS_CLIENT ? client_protocols : protocols);
    return c;
}

/* ---- files ---- */

/* Overwrites the bytes of a secret file before they are freed. */
static void wipe(struct buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->n);
    buf_release(b);
}

static int say_library(struct err *e, const char *what, const char *path, int rc)
{
    char why[TLS_WHY];
    tls_library_words(rc, why);
    return err_set(e, ERR_INVALID, "cannot use %s %s: %s", what, path, why);
}

static int read_certs(mbedtls_x509_crt *crt, const char *what, const char *path,
                      struct err *e)
{
    struct buf text = BUF_INIT(LIMIT_PEM_MAX + (32 << 10));
    int rc = trust_read(path, what, &text, e);
    int got = 0;
    if (rc == 0 && str_find(buf_str(&text), STR("-----BEGIN CERTIFICATE-----")) < 0)
        rc = err_set(e, ERR_INVALID,
                     "cannot use %s %s: there is no PEM certificate in it", what, path);
    if (rc == 0)
        got = mbedtls_x509_crt_parse(crt, (unsigned char *)text.p, text.n + 1);
    if (got < 0)
        rc = say_library(e, what, path, got);
    else if (got > 0)
        rc = err_set(e, ERR_INVALID,
                     "cannot use %s %s: %d of its certificates cannot be read", what,
                     path, got);
    buf_release(&text);
    return rc;
}

static int read_key(mbedtls_pk_context *key, const char *path, struct err *e)
{
    struct buf text = BUF_INIT(LIMIT_PEM_MAX + (32 << 10));
    int rc = trust_read(path, "the key", &text, e);
    if (rc == 0) {
        int got = mbedtls_pk_parse_key(key, (unsigned char *)text.p, text.n + 1, NULL, 0,
                                       mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
        bool locked = got == MBEDTLS_ERR_PK_PASSWORD_REQUIRED ||
                      got == MBEDTLS_ERR_PK_PASSWORD_MISMATCH ||
                      str_find(buf_str(&text), STR("ENCRYPTED PRIVATE KEY")) >= 0;
        if (got != 0 && locked)
            rc = err_set(e, ERR_INVALID,
                         "cannot use the key %s: it is encrypted; take the password "
                         "off it: openssl pkey -in %s -out NEW",
                         path, path);
        else if (got == MBEDTLS_ERR_PK_KEY_INVALID_FORMAT)
            rc = err_set(e, ERR_INVALID,
                         "cannot use the key %s: there is no PEM key in it, of RSA or EC",
                         path);
        else if (got != 0)
            rc = say_library(e, "the key", path, got);
    }
    wipe(&text);
    return rc;
}

static int check_dates(const mbedtls_x509_crt *crt, const char *path, struct err *e)
{
    char then[20], now[20];
    mbedtls_x509_time at;
    tls_now(&at);
    tls_date(&at, now);
    if (mbedtls_x509_time_is_past(&crt->valid_to)) {
        tls_date(&crt->valid_to, then);
        return err_set(e, ERR_INVALID,
                       "cannot use the certificate %s: it expired at %s UTC, and this "
                       "machine's clock says %s",
                       path, then, now);
    }
    if (mbedtls_x509_time_is_future(&crt->valid_from)) {
        tls_date(&crt->valid_from, then);
        return err_set(e, ERR_INVALID,
                       "cannot use the certificate %s: it is valid from %s UTC on, and "
                       "this machine's clock says %s",
                       path, then, now);
    }
    return 0;
}

static int read_own(struct tls_conf *c, const char *cert, const char *key, struct err *e)
{
    if (!key)
        key = cert;
    if (read_certs(&c->chain, "the certificate", cert, e) < 0 ||
        read_key(&c->key, key, e) < 0 || check_dates(&c->chain, cert, e) < 0)
        return -1;
    if (mbedtls_pk_check_pair(&c->chain.pk, &c->key, mbedtls_psa_get_random,
                              MBEDTLS_PSA_RANDOM_STATE) != 0)
        return err_set(e, ERR_INVALID,
                       "cannot use the certificate %s with the key %s: they do not "
                       "belong together; the first certificate in the file has to be "
                       "that of the key",
                       cert, key);
    int rc = mbedtls_ssl_conf_own_cert(&c->ssl, &c->chain, &c->key);
    return rc == 0 ? 0 : say_library(e, "the certificate", cert, rc);
}

/* ---- server ---- */

/*
 * Lets a client resume its session without a certificate and a signature (RFC 8446 2.2,
 * RFC 5077). The keys of the tickets are in this memory alone and end with the
 * certificate that was proved.
 */
static void give_tickets(struct tls_conf *c)
{
    if (mbedtls_ssl_ticket_setup(&c->tickets, mbedtls_psa_get_random,
                                 MBEDTLS_PSA_RANDOM_STATE, MBEDTLS_CIPHER_AES_256_GCM,
                                 LIMIT_TLS_TICKET_S) == 0)
        mbedtls_ssl_conf_session_tickets_cb(&c->ssl, mbedtls_ssl_ticket_write,
                                            mbedtls_ssl_ticket_parse, &c->tickets);
}

static struct tls_conf *server_conf(const struct tls_server *t, struct err *e)
{
    struct tls_conf *c = new_conf(MBEDTLS_SSL_IS_SERVER);
    mbedtls_ssl_conf_ciphersuites(&c->ssl, server_suites);
    mbedtls_ssl_conf_authmode(&c->ssl, t->ca ? MBEDTLS_SSL_VERIFY_REQUIRED
                                             : MBEDTLS_SSL_VERIFY_NONE);
    int rc = read_own(c, t->cert, t->key, e);
    if (rc == 0 && t->ca)
        rc = read_certs(&c->ca, "the clients' authorities", t->ca, e);
    if (rc == 0 && t->ca)
        mbedtls_ssl_conf_ca_chain(&c->ssl, &c->ca, NULL);
    if (rc == 0 && !t->ca) /* a client that is verified proves its key each time */
        give_tickets(c);
    if (rc == 0)
        return c;
    tls_conf_unref(c);
    return NULL;
}

static struct conf_mark mark_of(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return (struct conf_mark){.size = -1};
    return (struct conf_mark){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

static bool same_mark(const struct conf_mark *a, const struct conf_mark *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* Returns true if one of them has changed since the last look. */
static bool look_at_files(struct tls_server *t)
{
    const char *paths[] = {t->cert, t->key, t->ca};
    bool changed = false;
    for (int i = 0; i < 3; i++) {
        struct conf_mark now = mark_of(paths[i]);
        changed = changed || !same_mark(&now, &t->marks[i]);
        t->marks[i] = now;
    }
    return changed;
}

struct tls_server *tls_server_later(const struct tls_files *f)
{
    struct tls_server *t = xnew(struct tls_server);
    t->cert = xstrdup(f->cert);
    t->key = f->key ? xstrdup(f->key) : NULL;
    t->ca = f->ca ? xstrdup(f->ca) : NULL;
    return t;
}

struct tls_server *tls_server_new(const struct tls_files *f, struct err *e)
{
    if (trust_begin(e) < 0)
        return NULL;
    struct tls_server *t = tls_server_later(f);
    look_at_files(t);
    t->conf = server_conf(t, e);
    if (t->conf)
        return t;
    tls_server_free(t);
    return NULL;
}

struct tls_server *tls_server_made(struct str pem, struct err *e)
{
    if (trust_begin(e) < 0)
        return NULL;
    struct tls_conf *c = new_conf(MBEDTLS_SSL_IS_SERVER);
    char *z = xstrndup(pem.p, pem.n);
    mbedtls_ssl_conf_ciphersuites(&c->ssl, server_suites);
    mbedtls_ssl_conf_authmode(&c->ssl, MBEDTLS_SSL_VERIFY_NONE);
    int rc = mbedtls_x509_crt_parse(&c->chain, (unsigned char *)z, pem.n + 1);
    rc = rc ? rc
            : mbedtls_pk_parse_key(&c->key, (unsigned char *)z, pem.n + 1, NULL, 0,
                                   mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE);
    rc = rc ? rc : mbedtls_ssl_conf_own_cert(&c->ssl, &c->chain, &c->key);
    explicit_bzero(z, pem.n);
    free(z);
    if (rc) {
        say_library(e, "the certificate", "that was made", rc);
        tls_conf_unref(c);
        return NULL;
    }
    give_tickets(c);
    struct tls_server *t = xnew(struct tls_server);
    t->conf = c;
    look_at_files(t); /* there are none, and none will have changed */
    return t;
}

void tls_server_free(struct tls_server *t)
{
    if (!t)
        return;
    tls_conf_unref(t->conf);
    free(t->cert);
    free(t->key);
    free(t->ca);
    free(t);
}

/* Logged once, until the files change. */
static struct tls_conf *first_conf(struct tls_server *t, bool changed)
{
    struct err e = ERR_INIT;
    if (trust_begin(&e) == 0)
        t->conf = server_conf(t, &e);
    if (!t->conf && (changed || !t->complained))
        log_error("%s; connections by TLS are closed until it can be used", e.text);
    t->complained = !t->conf;
    return t->conf;
}

struct tls_conf *tls_server_conf(struct tls_server *t)
{
    struct err e = ERR_INIT;
    bool changed = look_at_files(t);
    if (!t->conf)
        return first_conf(t, changed);
    if (!changed)
        return t->conf;
    struct tls_conf *c = server_conf(t, &e);
    if (!c) {
        log_warn("%s; the previous certificate is still in use", e.text);
        return t->conf;
    }
    log_info("read the certificate %s again", t->cert);
    tls_conf_unref(t->conf);
    t->conf = c;
    return c;
}

/* ---- client ---- */

struct tls_client *tls_client_new(struct trust *take, const struct tls_files *own,
                                  struct err *e)
{
    struct tls_conf *c = new_conf(MBEDTLS_SSL_IS_CLIENT);
    ASSERT(take);
    c->trust = take;
    mbedtls_ssl_conf_authmode(&c->ssl, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_sig_algs(&c->ssl, client_signatures);
    mbedtls_ssl_conf_ca_chain(&c->ssl, trust_chain(take), NULL);
    if (own && own->cert && read_own(c, own->cert, own->key, e) < 0) {
        tls_conf_unref(c);
        return NULL;
    }
    struct tls_client *t = xnew(struct tls_client);
    t->conf = c;
    return t;
}

void tls_client_free(struct tls_client *t)
{
    if (!t)
        return;
    tls_conf_unref(t->conf);
    tls_conf_unref(t->older);
    free(t);
}

struct tls_conf *tls_client_conf(struct tls_client *t) { return t->conf; }

struct tls_conf *tls_client_older_conf(struct tls_client *t)
{
    if (t->older)
        return t->older;
    struct tls_conf *c = new_conf(MBEDTLS_SSL_IS_CLIENT), *base = t->conf;
    c->base = tls_conf_ref(base);
    c->trust = base->trust;
    mbedtls_ssl_conf_authmode(&c->ssl, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_max_tls_version(&c->ssl, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_sig_algs(&c->ssl, older_signatures);
    mbedtls_ssl_conf_ca_chain(&c->ssl, trust_chain(c->trust), NULL);
    if (base->chain.raw.p &&
        mbedtls_ssl_conf_own_cert(&c->ssl, &base->chain, &base->key) != 0)
        xalloc_failed(sizeof(c->ssl));
    t->older = c;
    return c;
}
