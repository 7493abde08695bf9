/* SPDX-License-Identifier: MIT */
/*
 * One connection: the library's calls behind those of a stream's layer.
 *
 *   GREETING ─ handshake over ─▶ OPEN ─ release ─▶ freed at the end of the turn
 *       └── failed, late ──▶ the stream's on_end
 */
#include "net/tls_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "net/trust.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <mbedtls/net_sockets.h>

/* Half the time of a long turn, as the last step may take as long again. */
enum { SLICE_US = 2000 };

static struct tls *tls_of(const struct stream_layer *l)
{
    return container_of(l, struct tls, layer);
}

/* ---- the descriptor ---- */

/*
 * The library asks for the header of a record, then for the rest of it. With the rest
 * comes the header of the next one, which makes one call of the kernel for a record. No
 * event is missed by this: a header alone is nothing that can be processed.
 */
static ssize_t receive(struct tls *t, unsigned char *p, size_t n)
{
    struct iovec to[] = {{p, n}, {t->ahead, n > sizeof(t->ahead) ? sizeof(t->ahead) : 0}};
    struct msghdr msg = {.msg_iov = to, .msg_iovlen = 2};
    ssize_t got;
    do
        got = recvmsg(t->layer.s->io.fd, &msg, 0);
    while (got < 0 && errno == EINTR);
    if (got <= (ssize_t)n)
        return got;
    t->ahead_n = (unsigned char)((size_t)got - n);
    return (ssize_t)n;
}

static size_t take_ahead(struct tls *t, unsigned char *p, size_t n)
{
    n = n < t->ahead_n ? n : t->ahead_n;
    memcpy(p, t->ahead, n);
    t->ahead_n -= (unsigned char)n;
    memmove(t->ahead, t->ahead + n, t->ahead_n);
    return n;
}

static int from_peer(void *arg, unsigned char *p, size_t n)
{
    struct tls *t = arg;
    if (t->ahead_n > 0)
        return (int)take_ahead(t, p, n);
    if (t->budget == 0)
        return MBEDTLS_ERR_SSL_WANT_READ; /* the descriptor stays readable */
    n = n < t->budget ? n : t->budget;
    ssize_t got = receive(t, p, n);
    if (got < 0 && errno == EAGAIN)
        return MBEDTLS_ERR_SSL_WANT_READ;
    if (got < 0) {
        t->errnum = errno;
        return MBEDTLS_ERR_NET_RECV_FAILED;
    }
    t->budget -= (size_t)got;
    for (ssize_t i = 0; i < got && t->first_n < sizeof(t->first); i++)
        t->first[t->first_n++] = p[i];
    return (int)got;
}

static int to_peer(void *arg, const unsigned char *p, size_t n)
{
    struct tls *t = arg;
    ssize_t sent;
    do
        sent = send(t->layer.s->io.fd, p, n, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno == EAGAIN)
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    if (sent >= 0)
        return (int)sent;
    /* A peer that refuses us sends an alert and closes; the alert must still be read. */
    t->unsent = errno;
    if (!t->layer.ready)
        return (int)n;
    return MBEDTLS_ERR_NET_SEND_FAILED;
}

/* RFC 8446 4.6.3: the library knows no KeyUpdate, and sends no alert. */
static void say_unexpected(struct tls *t, int rc)
{
    if (t->layer.ready && rc == MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE)
        mbedtls_ssl_send_alert_message(&t->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                       MBEDTLS_SSL_ALERT_MSG_UNEXPECTED_MESSAGE);
}

/* Returns errno for the library's error, and makes a text for an error of TLS. */
static ssize_t refuse(struct tls *t, int rc)
{
    if (rc == MBEDTLS_ERR_SSL_WANT_READ || rc == MBEDTLS_ERR_SSL_WANT_WRITE) {
        t->layer.want_out = t->layer.want_out || rc == MBEDTLS_ERR_SSL_WANT_WRITE;
        errno = EAGAIN;
        return -1;
    }
    t->failed = true;
    timer_stop(&t->late);
    if (rc == MBEDTLS_ERR_NET_SEND_FAILED ||
        (rc == MBEDTLS_ERR_SSL_CONN_EOF && t->unsent))
        t->errnum = t->unsent;
    t->wants_older = t->client && !t->older && rc == MBEDTLS_ERR_SSL_ILLEGAL_PARAMETER &&
                     t->ssl.MBEDTLS_PRIVATE(state) == MBEDTLS_SSL_SERVER_KEY_EXCHANGE;
    tls_explain(t, rc);
    say_unexpected(t, rc);
    TRACE(TRACE_WIRE, "tls: %s", t->e.text);
    errno = t->errnum ? t->errnum : EPROTO;
    return -1;
}

/* ---- the layer's calls ---- */

static void on_late(struct timer *timer)
{
    struct tls *t = container_of(timer, struct tls, late);
    t->failed = true;
    if (t->client)
        err_set(&t->e, ERR_TIMEOUT,
                "cannot reach %s: it did not finish the TLS handshake in %d ms", t->host,
                t->ms);
    else
        err_set(&t->e, ERR_TIMEOUT, "a client did not finish the TLS handshake in %d ms",
                t->ms);
    stream_fail(t->layer.s, ETIMEDOUT);
}

/*
 * RFC 8446 7.3: after its Finished a server writes with the keys of the application. The
 * library does so only when it has the client's, so a client refused before that could
 * not read the reason. It sends nothing else in between, so the count of records stays
 * right.
 */
static void take_keys(struct tls *t)
{
    int state = t->ssl.MBEDTLS_PRIVATE(state);
    mbedtls_ssl_transform *keys = t->ssl.MBEDTLS_PRIVATE(transform_application);
    bool answers = state == MBEDTLS_SSL_CLIENT_CERTIFICATE ||
                   state == MBEDTLS_SSL_CLIENT_CERTIFICATE_VERIFY ||
                   state == MBEDTLS_SSL_CLIENT_FINISHED;
    if (t->client || !answers || !keys || keys == t->ssl.MBEDTLS_PRIVATE(transform_out))
        return;
    t->ssl.MBEDTLS_PRIVATE(transform_out) = keys;
    memset(t->ssl.MBEDTLS_PRIVATE(cur_out_ctr), 0,
           sizeof(t->ssl.MBEDTLS_PRIVATE(cur_out_ctr)));
}

/* RFC 5246 7.4.6: with TLS 1.2 the library sends no alert if there is no certificate. */
static void say_refusal(struct tls *t, int rc)
{
    if (rc == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE &&
        mbedtls_ssl_get_version_number(&t->ssl) == MBEDTLS_SSL_VERSION_TLS1_2)
        mbedtls_ssl_send_alert_message(&t->ssl, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                       MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE);
}

static int greet(struct stream_layer *l)
{
    struct tls *t = tls_of(l);
    int64_t end = clock_us() + SLICE_US;
    t->budget = LIMIT_READ_PER_TURN;
    while (!mbedtls_ssl_is_handshake_over(&t->ssl)) {
        if (clock_us() > end) {
            task_defer(l->s->io.loop, &l->again);
            errno = EAGAIN;
            return -1;
        }
        int rc = mbedtls_ssl_handshake_step(&t->ssl);
        if (rc == 0) {
            take_keys(t);
            continue;
        }
        say_refusal(t, rc);
        return (int)refuse(t, rc);
    }
    if (t->downgraded)
        return (int)refuse(t, MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION);
    timer_stop(&t->late);
    /*
     * The next read sends the tickets of a server (RFC 8446 4.6.1). Without them nothing
     * acknowledges the client's Finished at once, and a client with Nagle's algorithm
     * keeps its request back for 40 ms.
     */
    if (!t->client)
        task_defer(l->s->io.loop, &l->again);
    return 0;
}

static void greeted(struct stream_layer *l)
{
    struct tls *t = tls_of(l);
    if (t->ready)
        t->ready(l->s);
}

static ssize_t read_plain(struct stream_layer *l, void *p, size_t n)
{
    struct tls *t = tls_of(l);
    t->budget = LIMIT_READ_PER_TURN;
    int rc;
    do
        rc = mbedtls_ssl_read(&t->ssl, p, n);
    while (rc == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET);
    if (rc == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY)
        return 0;
    if (rc == 0)
        rc = MBEDTLS_ERR_SSL_CONN_EOF;
    if (rc == MBEDTLS_ERR_SSL_CONN_EOF && t->cut_is_end && !t->unsent)
        return 0;
    return rc > 0 ? rc : refuse(t, rc);
}

/*
 * For a peer that does not read any more: returns the error of its alert, if it sent one;
 * else rc.
 */
static int last_words(struct tls *t, int rc)
{
    unsigned char dropped[1024];
    int got, times = 0;
    t->budget = LIMIT_READ_PER_TURN;
    do
        got = mbedtls_ssl_read(&t->ssl, dropped, sizeof(dropped));
    while (got > 0 && ++times < 64);
    return got == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE ? got : rc;
}

/*
 * The library encrypts a record, then writes it. If the descriptor does not take all of
 * it, the call must be repeated with the same length: it returns the length that it is
 * given, not that of the record.
 */
static ssize_t write_plain(struct stream_layer *l, const void *p, size_t n)
{
    struct tls *t = tls_of(l);
    n = t->owed                           ? t->owed
        : n < MBEDTLS_SSL_OUT_CONTENT_LEN ? n
                                          : MBEDTLS_SSL_OUT_CONTENT_LEN;
    int rc = mbedtls_ssl_write(&t->ssl, p, n);
    t->owed = rc == MBEDTLS_ERR_SSL_WANT_WRITE ? n : 0;
    if (rc == MBEDTLS_ERR_NET_SEND_FAILED)
        rc = last_words(t, rc);
    return rc >= 0 ? rc : refuse(t, rc);
}

static int say_close(struct stream_layer *l)
{
    struct tls *t = tls_of(l);
    if (t->closed || t->failed || t->owed)
        return 0;
    int rc = mbedtls_ssl_close_notify(&t->ssl);
    if (rc == 0)
        t->closed = true;
    return rc == 0 ? 0 : (int)refuse(t, rc);
}

static bool holds(const struct stream_layer *l)
{
    return mbedtls_ssl_get_bytes_avail(&tls_of(l)->ssl) > 0;
}

static void free_tls(void *p)
{
    struct tls *t = p;
    mbedtls_ssl_free(&t->ssl);
    tls_conf_unref(t->conf);
    free(t);
}

static void release(struct stream_layer *l, bool whole)
{
    struct tls *t = tls_of(l);
    timer_stop(&t->late);
    if (l->ready && whole)
        say_close(l);
    /* We may be within a call of the library. */
    loop_bury(l->s->io.loop, t, free_tls);
}

static const struct err *error(const struct stream_layer *l)
{
    const struct tls *t = tls_of(l);
    return t->e.code != ERR_NONE ? &t->e : NULL;
}

static const struct stream_layer_calls calls = {
    .greet = greet,
    .greeted = greeted,
    .read = read_plain,
    .write = write_plain,
    .shutdown = say_close,
    .holds = holds,
    .release = release,
    .error = error,
};

/* ---- beginnings ---- */

static struct tls *new_tls(struct tls_conf *c, int ms)
{
    struct tls *t = xnew(struct tls);
    *t = (struct tls){.conf = tls_conf_ref(c)};
    t->layer.calls = &calls;
    t->ms = ms > 0 ? ms : LIMIT_TLS_HANDSHAKE_MS;
    mbedtls_ssl_init(&t->ssl);
    if (mbedtls_ssl_setup(&t->ssl, &c->ssl) != 0)
        xalloc_failed(MBEDTLS_SSL_IN_CONTENT_LEN + MBEDTLS_SSL_OUT_CONTENT_LEN);
    mbedtls_ssl_set_bio(&t->ssl, t, to_peer, from_peer, NULL);
    mbedtls_ssl_set_verify(&t->ssl, tls_look_at, t);
    return t;
}

/*
 * A flight is several records, each with a write of its own: none may wait for an
 * acknowledgement.
 */
static void put_under(struct tls *t, struct stream *s)
{
    setsockopt(s->io.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    timer_begin(s->io.loop, &t->late, t->ms, on_late);
    stream_put_layer(s, &t->layer);
}

int tls_accept(struct tls_server *server, struct stream *s, int ms,
               void (*ready)(struct stream *s))
{
    struct tls_conf *c = tls_server_conf(server);
    if (!c)
        return -1;
    struct tls *t = new_tls(c, ms);
    t->ready = ready;
    put_under(t, s);
    return 0;
}

void tls_take_cut(struct stream *s)
{
    BUG_ON(!tls_is_under(s));
    tls_of(s->layer)->cut_is_end = true;
}

/* RFC 8446 4.1.3: what a server of 1.3 ends its random bytes with when it speaks 1.2. */
static void on_randoms(void *arg, mbedtls_ssl_key_export_type type,
                       const unsigned char *k, size_t n, const unsigned char client[32],
                       const unsigned char server[32], mbedtls_tls_prf_types prf)
{
    struct tls *t = arg;
    (void)type, (void)k, (void)n, (void)client, (void)prf;
    t->downgraded = memcmp(server + 24, "DOWNGRD\1", 8) == 0;
}

/*
 * We compare an address ourselves and do not send it: it is not a server name (RFC 6066
 * 3).
 */
static int ask_for(struct tls *t, const char *host)
{
    if (inet_pton(AF_INET, host, t->ip) == 1)
        t->ip_n = 4;
    else if (inet_pton(AF_INET6, host, t->ip) == 1)
        t->ip_n = 16;
    return mbedtls_ssl_set_hostname(&t->ssl, t->ip_n ? NULL : host);
}

static int connect_by(struct tls_conf *conf, struct stream *s, const char *host, int ms,
                      void (*ready)(struct stream *s), struct err *e)
{
    size_t n = strlen(host);
    struct tls *t;
    if (n == 0 || n >= sizeof(t->host))
        return err_set(e, ERR_INVALID,
                       "cannot ask for \"%.300s\" by TLS: a name has 1 to 255 bytes",
                       host);
    t = new_tls(conf, ms);
    t->client = true;
    t->ready = ready;
    memcpy(t->host, host, n + 1);
    if (ask_for(t, host) != 0) {
        free_tls(t);
        return err_set(e, ERR_INVALID, "cannot ask for \"%s\" by TLS: it is not a name",
                       host);
    }
    t->older = conf->base != NULL;
    if (t->older)
        mbedtls_ssl_set_export_keys_cb(&t->ssl, on_randoms, t);
    t->layer.want_out = true; /* a client speaks first */
    put_under(t, s);
    return 0;
}

int tls_connect(struct tls_client *t, struct stream *s, const char *host, int ms,
                void (*ready)(struct stream *s), struct err *e)
{
    return connect_by(tls_client_conf(t), s, host, ms, ready, e);
}

int tls_connect_older(struct tls_client *t, struct stream *s, const char *host, int ms,
                      void (*ready)(struct stream *s), struct err *e)
{
    return connect_by(tls_client_older_conf(t), s, host, ms, ready, e);
}

bool tls_wants_older(const struct stream *s)
{
    return tls_is_under(s) && tls_of(s->layer)->wants_older;
}

enum tls_fault tls_fault(const struct stream *s)
{
    return tls_is_under(s) ? tls_of(s->layer)->fault : TLS_FAULT_NONE;
}

/* ---- of a stream ---- */

bool tls_is_under(const struct stream *s)
{
    return s->layer && s->layer->calls == &calls;
}
