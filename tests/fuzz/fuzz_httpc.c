/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the answer of a server that then hangs up: the same is told at
 * once, byte by byte, and to an owner who takes one byte at a time. The first
 * byte chooses the method.
 */
#include "base/log.h"
#include "http/httpc.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { IN_MAX = 4096, INPUT_MAX = 3000 };

static struct loop *loop;
static struct buf *told;
static bool little;
static int dones;

static void on_head(struct httpc *c)
{
    BUG_ON(c->head.status < 101 || c->head.status > 599);
    BUG_ON(buf_addf(told, "%d", c->head.status) < 0);
    for (int i = 0; i < c->head.nfields; i++) {
        const struct http_field *f = &c->head.fields[i];
        BUG_ON(f->name.p < c->text.p || f->value.p + f->value.n > c->text.p + c->text.n);
        BUG_ON(buf_addc(told, '|') < 0 || buf_adds(told, f->name) < 0);
        BUG_ON(buf_addc(told, '=') < 0 || buf_adds(told, f->value) < 0);
    }
    BUG_ON(buf_addc(told, '[') < 0);
}

static size_t on_body(struct httpc *c, struct str piece)
{
    size_t n = little ? 1 : piece.n;
    BUG_ON(c->head.status == 204 || piece.n == 0);
    BUG_ON(buf_add(told, piece.p, n) < 0);
    return n;
}

static void on_done(struct httpc *c, const struct err *e)
{
    (void)c;
    dones++;
    BUG_ON(buf_addf(told, "]%s", e ? err_name(e->code) : "ok") < 0);
}

static const struct httpc_events events = {
    .on_head = on_head, .on_body = on_body, .on_done = on_done};

static void pass(const char *method, struct str bytes, size_t step)
{
    int p[2];
    struct stream s;
    struct httpc c;
    static const struct stream_events nothing;
    struct httpc_request q = {.method = method, .target = STR("/"), .host = STR("h")};
    BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) < 0);
    BUG_ON(stream_open(&s, loop, p[0], IN_MAX, 4096, &nothing) < 0);
    httpc_start(&c, &s, 0, &events);
    dones = 0;
    BUG_ON(httpc_send(&c, &q, NULL) < 0);
    while (bytes.n > 0 && dones == 0) {
        struct str some = str_sub(bytes, 0, step);
        BUG_ON(buf_adds(&c.s.in, some) < 0);
        bytes = str_sub(bytes, some.n, bytes.n);
        c.s.ev->on_data(&c.s);
        while (dones == 0 && c.stalled) {
            httpc_more(&c);
            task_cancel(&c.more);
            c.more.fn(&c.more);
        }
    }
    if (dones == 0)
        c.s.ev->on_end(&c.s, 0);
    BUG_ON(dones != 1);
    httpc_release(&c);
    close(p[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "CONNECT"};
    static const struct {
        bool little;
        size_t step;
    } ways[] = {{false, INPUT_MAX}, {false, 1}, {true, INPUT_MAX}};
    if (n == 0 || n > INPUT_MAX)
        return 0;
    if (!loop)
        loop = loop_new();
    struct buf logs[3];
    for (size_t i = 0; i < 3; i++) {
        buf_init(&logs[i], 1 << 20);
        told = &logs[i];
        little = ways[i].little;
        pass(methods[data[0] & 3], str_n(data + 1, n - 1), ways[i].step);
        BUG_ON(!str_eq(buf_str(&logs[0]), buf_str(&logs[i])));
    }
    for (size_t i = 0; i < 3; i++)
        buf_release(&logs[i]);
    return 0;
}
