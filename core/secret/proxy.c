/* SPDX-License-Identifier: MIT */
/*
 * A connection:
 *
 *   program ══ TLS of ours ══ client ── requests, rewritten ──▶ server ══ TLS ══ host
 *                                    ◀── bytes, masked ──
 *
 * Requests are parsed one after the other, so that nothing but a head or a body of them
 * passes. Of answers only the bytes count, except the head after a request to change the
 * protocol, which says whether requests follow.
 */
#include "secret/proxy.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "http/dial.h"
#include "io/loop.h"
#include "io/stream.h"
#include "net/issuer.h"
#include "net/tls.h"
#include "net/trust.h"
#include "reach/address.h"
#include "reach/names.h"
#include "reach/notify.h"
#include "reach/opened.h"
#include "reach/rules.h"
#include "reach/supervisor.h"
#include "secret/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LINKS_MAX = 1000,
    HOSTS_MAX = 256,   /* names with a certificate */
    BUFFER = 64 << 10, /* bytes each way, beside the kernel's */
    HELD_MS = 100,     /* for what may be the beginning of a secret */
    END_MS = 10000,    /* for a peer to take what is left */
    PIECE = 16 << 10,  /* of a body at a time */
    BASICS_MAX = 4,    /* forms of credentials that a connection has used */
    BASIC_BYTES = 2 * 12000
};

struct secret {
    char *name, *value, *placeholder; /* owned */
    bool bodies;
    struct reach *hosts; /* owned */
};

/* A name that was connected to. */
struct secret_host {
    char name[REACH_NAME_MAX + 1];
    struct tls_server *tls; /* owned */
};

struct proxy_self {
    struct loop *loop;
    struct io in;
    struct json *config;
    struct reach *rules;
    struct issuer *issuer;
    struct tls_client *trust; /* NULL: not read yet */
    struct secret *secrets;
    unsigned secrets_n;
    struct secret_host hosts[HOSTS_MAX];
    unsigned hosts_n, links;
    struct http_head head;
};

enum link_state {
    LINK_HEAD,   /* a request's head is next */
    LINK_LENGTH, /* bytes of a body */
    LINK_CHUNKS,
    LINK_ASKED,  /* to change the protocol; the answer decides */
    LINK_THROUGH /* the protocol was changed */
};

struct secret_link {
    struct proxy_self *p;
    struct reach_opened what;
    struct stream client, server;
    struct dial *dial; /* NULL: it is over */
    struct timer held, last;
    bool greeted; /* TLS towards the program is open */
    bool server_open, server_over, broken, first, over;
    enum link_state state;
    uint64_t left; /* of a body */
    struct http_chunks chunks;
    struct swap put[SWAPS_MAX], bodies[SWAPS_MAX], mask[SWAPS_MAX + BASICS_MAX];
    unsigned puts, bodies_n, masks, basics;
    char *basic[BASICS_MAX]; /* owned: both forms, one after the other */
};

/* ---- ends ---- */

static void link_free(void *p)
{
    struct secret_link *k = p;
    for (unsigned i = 0; i < k->basics; i++)
        free(k->basic[i]);
    free(k);
}

static void link_close(struct secret_link *k)
{
    if (k->over)
        return;
    k->over = true;
    k->p->links--;
    timer_stop(&k->held);
    timer_stop(&k->last);
    if (k->dial)
        dial_cancel(k->dial);
    k->dial = NULL;
    stream_close(&k->client);
    if (k->server_open)
        stream_close(&k->server);
    loop_bury(k->p->loop, k, link_free);
}

static void on_last(struct timer *t)
{
    link_close(container_of(t, struct secret_link, last));
}

/* The client gets what is queued, and then its end; or the break that the host made. */
static void link_end(struct secret_link *k)
{
    if (k->over)
        return;
    if (k->broken) {
        stream_break(&k->client);
        link_close(k);
        return;
    }
    stream_shutdown(&k->client);
    if (!timer_active(&k->last))
        timer_begin(k->p->loop, &k->last, END_MS, on_last);
}

/* Says to the supervisor, and so to the log and the agent, why this was refused. */
static void say(struct secret_link *k, const char *why)
{
    struct reach_opened_refused r = {.what = k->what};
    snprintf(r.why, sizeof(r.why), "%s", why);
    /* A supervisor that is behind, or gone, needs no more of them. */
    send(SECRET_SOCKET, &r, sizeof(r), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Answers instead of the host; why: a sentence without its full stop. */
static void answer(struct secret_link *k, int status, const char *why)
{
    struct buf text = BUF_INIT(2048);
    buf_addf(&text,
             "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
             "Content-Length: %zu\r\nConnection: close\r\n\r\nod's fence: %s.\n",
             status, http_reason(status), strlen("od's fence: .\n") + strlen(why), why);
    stream_write(&k->client, buf_str(&text));
    buf_release(&text);
    if (k->server_open)
        stream_close(&k->server);
    k->server_open = false;
    k->server_over = true;
    buf_reset(&k->client.in);
    stream_pause(&k->client);
    link_end(k);
}

/* The program's request is at fault. */
static void refuse(struct secret_link *k, int status, const char *why)
{
    say(k, why);
    answer(k, status, why);
}

/* ---- requests ---- */

static void add_basic(void *arg, struct str with_secret, struct str without)
{
    struct secret_link *k = arg;
    if (k->basics == BASICS_MAX || 2 * with_secret.n > BASIC_BYTES)
        return;
    for (unsigned i = 0; i < k->masks; i++) {
        if (str_eq(k->mask[i].from, with_secret))
            return;
    }
    char *both = xcalloc(2, with_secret.n);
    memcpy(both, with_secret.p, with_secret.n);
    memcpy(both + with_secret.n, without.p, without.n);
    k->basic[k->basics++] = both;
    k->mask[k->masks++] = (struct swap){str_n(both, with_secret.n),
                                        str_n(both + with_secret.n, without.n)};
}

/* Passes a head on. Returns whether it was there. */
static bool pass_head(struct secret_link *k)
{
    struct http_head *h = &k->p->head;
    struct http_error bad;
    struct buf out = BUF_INIT(2 * HTTP_HEAD_MAX);
    const char *why = NULL;
    size_t used;
    struct secret_head s = {.host = str_of(k->what.name),
                            .port = k->what.port,
                            .may_upgrade = k->first,
                            .v = k->put,
                            .n = k->puts,
                            .basic = add_basic,
                            .arg = k};
    if (k->client.in.n == 0 || buf_room(&k->server.out) < 2 * HTTP_HEAD_MAX)
        return false;
    int r = http_parse_head(buf_str(&k->client.in), h, &used, &bad);
    if (r == 0)
        return false;
    int status = r < 0 ? bad.status : secret_head(&s, h, &out, &why);
    if (status) {
        refuse(k, status, r < 0 ? bad.why : why);
        buf_release(&out);
        return false;
    }
    bool asks = k->first && http_field(h, "Upgrade").p;
    k->first = false;
    k->left = h->has_length ? h->length : 0;
    k->chunks = (struct http_chunks){0};
    k->state = h->chunked ? LINK_CHUNKS : k->left > 0 ? LINK_LENGTH : LINK_HEAD;
    if (asks && k->state == LINK_HEAD)
        k->state = LINK_ASKED;
    buf_consume(&k->client.in, used);
    stream_write(&k->server, buf_str(&out));
    buf_release(&out);
    return true;
}

static bool pass_length(struct secret_link *k)
{
    struct buf *in = &k->client.in;
    size_t n = in->n < k->left ? in->n : (size_t)k->left, room = buf_room(&k->server.out);
    n = n < room ? n : room;
    if (n > 0)
        n = swap_bytes(k->bodies, k->bodies_n, in->p, n, n == k->left || n == in->max);
    if (n == 0)
        return false;
    stream_write(&k->server, str_n(in->p, n));
    buf_consume(in, n);
    k->left -= n;
    if (k->left == 0)
        k->state = LINK_HEAD;
    return true;
}

/* Chunks are made anew, so what surrounds their bytes is ours. */
static bool pass_chunk(struct secret_link *k)
{
    struct buf *in = &k->client.in, out = BUF_INIT(2 * PIECE);
    struct str data;
    size_t used;
    if (in->n == 0 || buf_room(&k->server.out) < 2 * PIECE)
        return false;
    if (http_chunk(&k->chunks, str_sub(buf_str(in), 0, PIECE), &data, &used) < 0) {
        refuse(k, 400, "A chunk of the request's body is malformed");
        return false;
    }
    if (data.n > 0) {
        /* Within one piece: a secret does not go over the border of two. */
        swap_bytes(k->bodies, k->bodies_n, in->p + (data.p - in->p), data.n, true);
        buf_addf(&out, "%zx\r\n", data.n);
        buf_adds(&out, data);
        buf_addz(&out, "\r\n");
    }
    if (k->chunks.state == CHUNK_DONE) {
        buf_addz(&out, "0\r\n\r\n");
        k->state = LINK_HEAD;
    }
    buf_consume(in, used);
    stream_write(&k->server, buf_str(&out));
    buf_release(&out);
    return used > 0;
}

static bool pass_through(struct secret_link *k)
{
    size_t n = k->client.in.n, room = buf_room(&k->server.out);
    n = n < room ? n : room;
    if (n == 0)
        return false;
    stream_write(&k->server, str_n(k->client.in.p, n));
    buf_consume(&k->client.in, n);
    return true;
}

static void pass_requests(struct secret_link *k)
{
    static bool (*const step[])(struct secret_link *) = {
        [LINK_HEAD] = pass_head,       [LINK_LENGTH] = pass_length,
        [LINK_CHUNKS] = pass_chunk,    [LINK_ASKED] = NULL,
        [LINK_THROUGH] = pass_through,
    };
    if (!k->server_open || k->server_over)
        return;
    while (!k->over && step[k->state] && step[k->state](k))
        ;
    if (!k->over && !k->client.paused)
        stream_resume(&k->client);
}

/* ---- answers ---- */

static void pass_answers(struct secret_link *k, bool all);

static void on_held(struct timer *t)
{
    pass_answers(container_of(t, struct secret_link, held), true);
}

/*
 * The answer to the request to change the protocol: a status of 101 does. False: more of
 * it is needed.
 */
static bool take_status(struct secret_link *k, struct str s)
{
    if (s.n < 12 && !k->server_over)
        return false;
    k->state = str_starts(s, STR("HTTP/1.1 101")) ? LINK_THROUGH : LINK_HEAD;
    return true;
}

/* all: what is held as well */
static void pass_answers(struct secret_link *k, bool all)
{
    struct buf *in = &k->server.in;
    size_t room = buf_room(&k->client.out), n = in->n < room ? in->n : room;
    if (k->over || !k->server_open)
        return;
    timer_stop(&k->held);
    if (k->state == LINK_ASKED && in->n > 0 && !take_status(k, buf_str(in)))
        return;
    bool last = all || k->server_over || n == in->max;
    n = n > 0 ? swap_bytes(k->mask, k->masks, in->p, n, last && n == in->n) : 0;
    if (n > 0) {
        stream_write(&k->client, str_n(in->p, n));
        buf_consume(in, n);
    }
    if (k->server_over && in->n == 0) {
        link_end(k);
        return;
    }
    if (in->n > 0 && buf_room(&k->client.out) > in->n)
        timer_begin(k->p->loop, &k->held, HELD_MS, on_held);
    if (!k->server_over)
        stream_resume(&k->server);
    pass_requests(k);
}

/* ---- the streams ---- */

static struct secret_link *of_client(struct stream *s)
{
    return container_of(s, struct secret_link, client);
}
static struct secret_link *of_server(struct stream *s)
{
    return container_of(s, struct secret_link, server);
}

static void client_data(struct stream *s) { pass_requests(of_client(s)); }
static void client_room(struct stream *s) { pass_answers(of_client(s), false); }

static void client_end(struct stream *s, int errnum)
{
    struct secret_link *k = of_client(s);
    const struct err *e = stream_error(s);
    char why[OPENED_WHY_MAX];
    if (errnum && !k->greeted && e && e->text[0]) {
        snprintf(why, sizeof(why),
                 "the fence opens TLS to put a secret in, and the program ended the "
                 "handshake: %.160s; a program must trust the certificates in "
                 "SSL_CERT_FILE, and speak HTTP/1.1",
                 e->text);
        say(k, why);
    }
    link_close(k);
}

static void client_eof(struct stream *s)
{
    struct secret_link *k = of_client(s);
    if (k->server_open)
        stream_shutdown(&k->server);
    else
        link_close(k);
}

static void server_data(struct stream *s) { pass_answers(of_server(s), false); }
static void server_room(struct stream *s) { pass_requests(of_server(s)); }

static void server_end(struct stream *s, int errnum)
{
    struct secret_link *k = of_server(s);
    k->server_over = true;
    k->broken = errnum != 0;
    pass_answers(k, true);
}

static const struct stream_events client_events = {client_data, client_room, client_end,
                                                   client_eof};
static const struct stream_events server_events = {server_data, server_room, server_end,
                                                   NULL};

/* ---- the host ---- */

/* An address of the host that no rule forbids: as reach/supervisor.c judges it. */
static bool may_dial(void *owner, const struct sockaddr *sa)
{
    struct secret_link *k = owner;
    unsigned char a[16];
    const struct sockaddr_in *v4 = (const void *)sa;
    const struct sockaddr_in6 *v6 = (const void *)sa;
    if (sa->sa_family == AF_INET)
        address_of_ipv4(a, &v4->sin_addr);
    else
        memcpy(a, &v6->sin6_addr, 16);
    const struct reach *r = k->p->rules;
    return !reach_limits(r) || !reach_is_private(a) ||
           reach_address(r, a, k->what.port) || names_in_hosts(r, a, k->what.port);
}

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct secret_link *k = dial_owner(d);
    k->dial = NULL;
    if (!s) {
        answer(k, 502, e->text);
        return;
    }
    stream_move(&k->server, s, &server_events);
    k->server_open = true;
    tls_take_cut(&k->server);
    pass_requests(k);
    if (!k->over)
        pass_answers(k, false);
}

static char *trust_env_file, *trust_env_dir;

static char *trust_env(const char *name)
{
    return strcmp(name, "SSL_CERT_FILE") == 0  ? trust_env_file
           : strcmp(name, "SSL_CERT_DIR") == 0 ? trust_env_dir
                                               : NULL;
}

static char *text_or_null(const struct json *o, const char *name)
{
    struct str s = json_str(o, name, "");
    return s.n > 0 ? xstrndup(s.p, s.n) : NULL;
}

static struct tls_client *trust(struct proxy_self *p, struct err *e)
{
    const struct trust_where where = {.env = trust_env};
    if (p->trust)
        return p->trust;
    struct trust *t = trust_new(&where, e);
    p->trust = t ? tls_client_new(t, NULL, e) : NULL;
    return p->trust;
}

static void dial(struct secret_link *k)
{
    struct err e = ERR_INIT;
    struct dial_spec spec = {.host = str_of(k->what.name),
                             .port = (uint16_t)k->what.port,
                             .in_max = BUFFER,
                             .out_max = 4 * BUFFER,
                             .allow = may_dial,
                             .on_done = on_dialled,
                             .owner = k};
    spec.tls = trust(k->p, &e);
    k->dial = spec.tls ? dial_start(k->p->loop, &spec, &e) : NULL;
    if (!k->dial)
        answer(k, 502, e.text);
}

/* ---- connections ---- */

static void on_greeted(struct stream *s) { of_client(s)->greeted = true; }

static struct secret_host *host_for(struct proxy_self *p, const char *name)
{
    struct err e = ERR_INIT;
    struct buf pem = BUF_INIT(3 * ISSUER_PEM_MAX);
    for (unsigned i = 0; i < p->hosts_n; i++) {
        if (strcmp(p->hosts[i].name, name) == 0)
            return &p->hosts[i];
    }
    if (p->hosts_n == HOSTS_MAX) { /* the first one goes; its connections live on */
        tls_server_free(p->hosts[0].tls);
        p->hosts_n--;
        memmove(p->hosts, p->hosts + 1, p->hosts_n * sizeof(p->hosts[0]));
    }
    struct secret_host *h = &p->hosts[p->hosts_n];
    h->tls = NULL;
    if (issuer_leaf(p->issuer, name, &pem, &e) == 0) {
        /* The authority's, too: a Chromium looks for its key among what it is sent. */
        buf_adds(&pem, json_str(json_get(p->config, "ca"), "cert", ""));
        h->tls = tls_server_made(buf_str(&pem), &e);
    }
    if (pem.p)
        explicit_bzero(pem.p, pem.n);
    buf_release(&pem);
    snprintf(h->name, sizeof(h->name), "%s", name);
    p->hosts_n += h->tls != NULL;
    return h->tls ? h : NULL;
}

/* Which secrets belong to it. */
static void take_secrets(struct secret_link *k)
{
    struct proxy_self *p = k->p;
    for (unsigned i = 0; i < p->secrets_n && k->puts < SWAPS_MAX; i++) {
        struct secret *s = &p->secrets[i];
        struct str value = str_of(s->value), holder = str_of(s->placeholder);
        if (!reach_opens(s->hosts, str_of(k->what.name), k->what.port))
            continue;
        k->put[k->puts++] = (struct swap){holder, value};
        k->mask[k->masks++] = (struct swap){value, holder};
        if (s->bodies)
            k->bodies[k->bodies_n++] = (struct swap){holder, value};
    }
}

static void link_new(struct proxy_self *p, const struct reach_opened *what, int fd)
{
    struct secret_host *h = p->links < LINKS_MAX ? host_for(p, what->name) : NULL;
    struct secret_link *k = xnew(struct secret_link);
    k->p = p;
    k->what = *what;
    k->first = true;
    take_secrets(k);
    if (!h ||
        stream_open(&k->client, p->loop, fd, BUFFER, 2 * BUFFER, &client_events) < 0) {
        say(k, h ? "the connection cannot be watched"
                 : "too many connections are open, or no certificate can be made");
        close(fd);
        free(k);
        return;
    }
    p->links++;
    if (tls_accept(h->tls, &k->client, 0, on_greeted) < 0) {
        link_close(k);
        return;
    }
    dial(k);
}

static void on_message(struct io *io, uint32_t events)
{
    struct proxy_self *p = container_of(io, struct proxy_self, in);
    struct reach_opened what;
    int fd;
    ssize_t n = notify_take(SECRET_SOCKET, &what, sizeof(what), &fd);
    (void)events;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_stop(p->loop);
        return;
    }
    if (n != sizeof(what) || fd < 0) {
        if (n > 0 && fd >= 0)
            close(fd);
        return;
    }
    what.name[sizeof(what.name) - 1] = 0;
    int on = 1; /* a handshake is small pieces, each way in turn */
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    link_new(p, &what, fd);
}

/* ---- the start ---- */

/* The rules of this secret alone. */
static struct reach *hosts_of(const struct json *rules, struct str name)
{
    struct json *own = json_array();
    for (const struct json *x = json_first(rules); x; x = json_next(x)) {
        if (str_eq(json_str(x, "do", ""), STR("secret")) &&
            str_eq(json_str(x, "name", ""), name))
            json_push(own, json_copy(x));
    }
    struct reach *r = reach_load(own);
    json_free(own);
    return r;
}

static void load_secrets(struct proxy_self *p)
{
    const struct json *list = json_get(p->config, "secrets"), *x = json_first(list);
    p->secrets = xcalloc((size_t)json_count(list) + 1, sizeof(p->secrets[0]));
    for (; x; x = json_next(x)) {
        struct secret *s = &p->secrets[p->secrets_n];
        s->name = text_or_null(x, "name");
        s->value = text_or_null(x, "value");
        s->placeholder = text_or_null(x, "placeholder");
        s->bodies = json_bool(x, "bodies", false);
        if (!s->name || !s->value || !s->placeholder ||
            strlen(s->value) != strlen(s->placeholder))
            continue;
        s->hosts = hosts_of(json_get(p->config, "rules"), str_of(s->name));
        p->secrets_n++;
    }
}

int secret_proxy_main(void)
{
    static struct proxy_self one; /* it ends with its process */
    struct proxy_self *p = &one;
    struct err e = ERR_INIT;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    p->loop = loop_new();
    p->config = supervisor_read(SECRET_RULES);
    const struct json *ca = json_get(p->config, "ca"),
                      *env = json_get(p->config, "trust");
    if (!p->loop || !p->config)
        return 1;
    p->issuer = issuer_open(json_str(ca, "cert", ""), json_str(ca, "key", ""), &e);
    p->rules = reach_load(json_get(p->config, "rules"));
    trust_env_file = text_or_null(env, "SSL_CERT_FILE");
    trust_env_dir = text_or_null(env, "SSL_CERT_DIR");
    load_secrets(p);
    fcntl(SECRET_SOCKET, F_SETFL, O_NONBLOCK);
    fcntl(SECRET_SOCKET, F_SETFD, FD_CLOEXEC);
    if (!p->issuer || io_start(p->loop, &p->in, SECRET_SOCKET, EPOLLIN, on_message) < 0)
        return 1;
    return loop_run(p->loop) < 0;
}
