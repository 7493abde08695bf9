/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server of one loop, for tests: a route for each thing that a
 * front-end does with http/httpd.h. Included once by a program of its own
 * (httpd_echo.c) and by t_httpd.c, which runs it in a child.
 *
 *   /hello               hello            /two/hello    of another front
 *   /echo /small         the body back, at most 1 MiB or 10 bytes of it
 *   /stream/N /sized/N   N bytes by pieces, without and with a length
 *   /sink /slow          counts a body by pieces; /slow takes 7 bytes a turn
 *   /lazy                counts too, once /go was asked
 *   /both                the body back by pieces, while it comes
 *   /early               answers at the head, and leaves the body
 *   /file                the file that was given, or a range of it
 *   /wait /go            /wait is answered when /go was asked; no body is taken
 *   /abort /short        an answer that is not whole
 *   /params/A/B /rest/…  what was in the path; /query?x=… in the query
 *   /header              the field X-Test, as it came
 *   /log                 a line for each `gone`, each receipt, and who waits
 *   /upgrade             the bytes back, whatever they are, up to the end
 *   /secret              refused
 */
#ifndef OD_TESTS_ECHO_H
#define OD_TESTS_ECHO_H

#include "base/log.h"
#include "base/xalloc.h"
#include "http/httpd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { ECHO_MAX = 1 << 20 };

struct echo {
    struct loop *loop;
    struct httpd *httpd;
    const char *file;
    struct buf log;
    struct list waiting; /* of struct piece */
    int connections;
};

/* A request in progress, and the rest of its work. */
struct piece {
    struct list node;
    struct echo *e;
    struct req *r;
    struct task task;
    uint64_t left, count;
    unsigned sum;
    bool lazy;
};

static struct echo *echo_of(struct req *r) { return req_arg(r); }

static void echo_free(struct piece *p)
{
    list_del(&p->node);
    task_cancel(&p->task);
    free(p);
}

static void echo_gone(struct req *r, void *owner)
{
    struct piece *p = owner;
    (void)r;
    buf_addz(&p->e->log, "gone\n");
    echo_free(p);
}

static void echo_delivered(void *owner, bool whole)
{
    struct echo *e = owner;
    buf_addz(&e->log, whole ? "delivered\n" : "lost\n");
}

static struct piece *echo_piece(struct req *r, task_fn *fn)
{
    struct piece *p = xnew(struct piece);
    p->e = echo_of(r);
    p->r = r;
    list_init(&p->node);
    task_init(&p->task, fn);
    req_own(r, p, echo_gone);
    return p;
}

static void echo_text(struct req *r, int status, const char *text)
{
    req_answer(r, status, "text/plain", str_of(text));
}

/* ---- whole answers ---- */

static void echo_hello(struct req *r) { echo_text(r, 200, "hello\n"); }

static void echo_nothing(struct req *r) { req_answer(r, 204, NULL, STR("")); }

static void echo_echo(struct req *r)
{
    req_on_delivered(r, echo_delivered, echo_of(r));
    req_answer(r, 200, "application/octet-stream", req_body(r));
}

static void echo_params(struct req *r)
{
    struct buf b = BUF_INIT(ECHO_MAX);
    struct str a = req_param(r, "a"), c = req_param(r, "b"), rest = req_param(r, "*");
    buf_addf(&b, "a=%.*s b=%.*s rest=%.*s\n", STR_ARG(a), STR_ARG(c), STR_ARG(rest));
    req_answer_take(r, 200, "text/plain", &b);
}

static void echo_query(struct req *r)
{
    struct buf x = BUF_INIT(100), b = BUF_INIT(200);
    buf_addf(&b, "%d ", req_query(r, "x", &x));
    buf_adds(&b, buf_str(&x));
    buf_release(&x);
    req_answer_take(r, 200, "text/plain", &b);
}

static void echo_header(struct req *r)
{
    struct str x = req_header(r, "X-Test"), host = req_header(r, "Host");
    struct buf b = BUF_INIT(64 << 10);
    buf_addf(&b, "host=%.*s x=%.*s", STR_ARG(host), STR_ARG(x));
    req_header_add(r, "X-Back", "1\r\nX-Forged: 2");
    req_answer_take(r, 200, "text/plain", &b);
}

static void echo_log(struct req *r)
{
    req_answer(r, 200, "text/plain", buf_str(&echo_of(r)->log));
}

static void echo_file(struct req *r)
{
    int fd = open(echo_of(r)->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        echo_text(r, 404, "no such file\n");
    else
        req_answer_file(r, fd, "text/plain");
}

/* ---- answers later, and by pieces ---- */

static void echo_wait(struct req *r)
{
    struct piece *p = echo_piece(r, NULL);
    list_add_tail(&p->e->waiting, &p->node);
    buf_addz(&p->e->log, "waits\n");
}

static void echo_go(struct req *r)
{
    struct echo *e = echo_of(r);
    while (!list_empty(&e->waiting)) {
        struct piece *p = list_first(&e->waiting, struct piece, node);
        struct req *w = p->r;
        if (p->lazy) {
            p->lazy = false;
            list_del(&p->node);
            req_body_more(w);
            continue;
        }
        echo_free(p);
        echo_text(w, 200, "waited\n");
    }
    echo_text(r, 200, "gone\n");
}

/* Sends the alphabet repeatedly. */
static void echo_more(struct req *r, void *owner)
{
    struct piece *p = owner;
    char some[26 * 1000];
    for (size_t i = 0; i < sizeof(some); i++)
        some[i] = (char)('a' + i % 26);
    while (p->left > 0) {
        size_t at = p->count % 26, n = sizeof(some) - at;
        if (n > p->left)
            n = (size_t)p->left;
        size_t took = req_send(r, str_n(some + at, n));
        p->count += took;
        p->left -= took;
        if (took < n)
            return;
    }
    echo_free(p);
    req_end(r);
}

static void echo_pieces(struct req *r, bool sized)
{
    struct piece *p = echo_piece(r, NULL);
    str_to_u64(req_param(r, "n"), &p->left);
    req_on_room(r, echo_more);
    req_on_delivered(r, echo_delivered, p->e);
    req_begin(r, 200, "text/plain", sized ? (int64_t)p->left : -1);
    echo_more(r, p);
}

static void echo_stream(struct req *r) { echo_pieces(r, false); }
static void echo_sized(struct req *r) { echo_pieces(r, true); }

static void echo_no_memory(struct req *r)
{
    (void)r;
    xalloc_failed(12345);
}

static void echo_abort(struct req *r)
{
    req_begin(r, 200, "text/plain", -1);
    req_send(r, STR("this is not"));
    req_abort(r);
}

static void echo_short(struct req *r)
{
    req_begin(r, 200, "text/plain", 10);
    req_send(r, STR("12345"));
    req_end(r);
}

/* ---- bodies by pieces ---- */

static size_t echo_count(struct req *r, struct str bytes, void *owner)
{
    struct piece *p = owner;
    (void)r;
    for (size_t i = 0; i < bytes.n; i++)
        p->sum = p->sum * 31 + (unsigned char)bytes.p[i];
    p->count += bytes.n;
    return bytes.n;
}

static void echo_counted(struct req *r, void *owner)
{
    struct piece *p = owner;
    struct buf b = BUF_INIT(100);
    buf_addf(&b, "%llu bytes, %08x\n", (unsigned long long)p->count, p->sum);
    echo_free(p);
    req_answer_take(r, 200, "text/plain", &b);
}

static void echo_again(struct task *t)
{
    req_body_more(container_of(t, struct piece, task)->r);
}

static size_t echo_few(struct req *r, struct str bytes, void *owner)
{
    struct piece *p = owner;
    task_defer(p->e->loop, &p->task);
    return echo_count(r, str_sub(bytes, 0, 7), owner);
}

static void echo_sink(struct req *r)
{
    echo_piece(r, NULL);
    req_on_body(r, echo_count, echo_counted);
}

static void echo_slow(struct req *r)
{
    echo_piece(r, echo_again);
    req_on_body(r, echo_few, echo_counted);
}

static size_t echo_none(struct req *r, struct str bytes, void *owner)
{
    const struct piece *p = owner;
    return p->lazy ? 0 : echo_count(r, bytes, owner);
}

static void echo_lazy(struct req *r)
{
    struct piece *p = echo_piece(r, NULL);
    p->lazy = true;
    list_add_tail(&p->e->waiting, &p->node);
    buf_addz(&p->e->log, "waits\n");
    req_on_body(r, echo_none, echo_counted);
}

static size_t echo_send(struct req *r, struct str bytes, void *owner)
{
    (void)owner;
    return req_send(r, bytes);
}

static void echo_room(struct req *r, void *owner)
{
    (void)owner;
    req_body_more(r);
}

static void echo_sent(struct req *r, void *owner)
{
    echo_free(owner);
    req_end(r);
}

static void echo_both(struct req *r)
{
    echo_piece(r, NULL);
    req_on_room(r, echo_room);
    req_on_body(r, echo_send, echo_sent);
    req_begin(r, 200, "application/octet-stream", -1);
}

/* ---- not HTTP any more ---- */

struct echo_tunnel {
    struct stream s;
    struct echo *e;
};

static void echo_tunnel_close(struct echo_tunnel *t)
{
    struct loop *l = t->e->loop;
    buf_addz(&t->e->log, "closed\n");
    stream_close(&t->s);
    loop_bury(l, t, free);
}

static void echo_tunnel_data(struct stream *s)
{
    if (stream_write(s, buf_str(&s->in)) == 0)
        buf_reset(&s->in);
}

static void echo_tunnel_end(struct stream *s, int errnum)
{
    (void)errnum;
    echo_tunnel_close(container_of(s, struct echo_tunnel, s));
}

static const struct stream_events echo_tunnel_events = {echo_tunnel_data, NULL,
                                                        echo_tunnel_end, NULL};

static void echo_upgrade(struct req *r)
{
    struct echo_tunnel *t = xnew(struct echo_tunnel);
    t->e = echo_of(r);
    req_header_add(r, "X-Back", "1");
    if (req_upgrade(r, "echo", &t->s, &echo_tunnel_events) < 0) {
        free(t);
        echo_text(r, 400, "no\n");
    } else if (t->s.in.n > 0) {
        echo_tunnel_data(&t->s);
    }
}

/* ---- the server ---- */

static void echo_fail(struct req *r, int status, const char *text)
{
    struct buf b = BUF_INIT(1000);
    buf_addf(&b, "%d: %s\n", status, text);
    req_answer_take(r, status, "text/plain", &b);
}

static void echo_fail_two(struct req *r, int status, const char *text)
{
    (void)text;
    echo_text(r, status, "two\n");
}

static bool echo_allow(struct req *r, void *arg)
{
    (void)arg;
    if (!str_eq(req_head(r)->path, STR("/secret")))
        return true;
    echo_text(r, 403, "no\n");
    return false;
}

static void echo_connections(void *arg, int change)
{
    struct echo *e = arg;
    e->connections += change;
}

static const struct route echo_routes[] = {
    {.methods = HTTP_GET, .path = "/hello", .run = echo_hello},
    {.methods = HTTP_GET, .path = "/", .run = echo_hello},
    {.methods = HTTP_DELETE, .path = "/hello", .run = echo_nothing},
    {.methods = HTTP_POST | HTTP_PUT,
     .path = "/echo",
     .run = echo_echo,
     .body_max = ECHO_MAX},
    {.methods = HTTP_POST, .path = "/small", .run = echo_echo, .body_max = 10},
    {.methods = HTTP_POST, .path = "/secret", .run = echo_echo, .body_max = 10},
    {.methods = HTTP_GET, .path = "/params/{a}/{b}", .run = echo_params},
    {.methods = HTTP_GET, .path = "/rest/*", .run = echo_params},
    {.methods = HTTP_GET, .path = "/query", .run = echo_query},
    {.methods = HTTP_GET, .path = "/header", .run = echo_header},
    {.methods = HTTP_GET, .path = "/log", .run = echo_log},
    {.methods = HTTP_GET, .path = "/file", .run = echo_file},
    {.methods = HTTP_GET | HTTP_POST, .path = "/wait", .run = echo_wait},
    {.methods = HTTP_GET, .path = "/go", .run = echo_go},
    {.methods = HTTP_GET, .path = "/upgrade", .run = echo_upgrade},
    {.methods = HTTP_GET, .path = "/stream/{n}", .run = echo_stream},
    {.methods = HTTP_GET, .path = "/sized/{n}", .run = echo_sized},
    {.methods = HTTP_GET, .path = "/abort", .run = echo_abort},
    {.methods = HTTP_GET, .path = "/memory", .run = echo_no_memory},
    {.methods = HTTP_GET, .path = "/short", .run = echo_short},
    {.methods = HTTP_POST, .path = "/sink", .body = echo_sink},
    {.methods = HTTP_POST, .path = "/slow", .body = echo_slow},
    {.methods = HTTP_POST, .path = "/lazy", .body = echo_lazy},
    {.methods = HTTP_POST, .path = "/both", .body = echo_both},
    {.methods = HTTP_POST, .path = "/early", .body = echo_hello},
};

static const struct route echo_routes_two[] = {
    {.methods = HTTP_GET, .path = "/two/hello", .run = echo_hello},
};

/* Fills missing members of the config. file may be NULL. */
static void echo_open(struct echo *e, struct loop *l, struct httpd_config c,
                      const char *file)
{
    static struct http_front one = {echo_routes, 0, echo_fail, NULL, false, NULL};
    static struct http_front two = {echo_routes_two, 1, echo_fail_two, NULL, false, NULL};
    static const struct http_front *const fronts[] = {&one, &two};
    one.nroutes = sizeof(echo_routes) / sizeof(echo_routes[0]);
    one.arg = two.arg = e;
    *e = (struct echo){.loop = l, .file = file ? file : "/nonexistent"};
    buf_init(&e->log, ECHO_MAX);
    list_init(&e->waiting);
    c.fronts = fronts;
    c.nfronts = 2;
    c.allow = echo_allow;
    c.count = echo_connections;
    c.arg = e;
    e->httpd = httpd_open(l, &c);
}

static void echo_close(struct echo *e)
{
    httpd_close(e->httpd);
    BUG_ON(e->connections != 0 || !list_empty(&e->waiting));
    buf_release(&e->log);
}

#endif
