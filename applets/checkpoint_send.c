/* SPDX-License-Identifier: MIT */
#include "checkpoint_send.h"

#include "exec_copy.h"
#include "os/sig.h"

#include <errno.h>
#include <signal.h>

enum { TARGET_MAX = 4 << 10, ANSWER_MAX = 2 << 20 };

struct checkpoint_asking {
    struct copy_link link; /* at: how much of the body was sent */
    const char *path;
    struct str body;
    struct json *answer;
};

static void pump(struct httpc *h)
{
    struct checkpoint_asking *a = copy_arg(h);
    size_t n = httpc_put(h, str_sub(a->body, a->link.at, a->body.n));
    if (n > 0)
        copy_got(&a->link, n);
}

static void ask(void *arg)
{
    struct checkpoint_asking *a = arg;
    struct buf target = BUF_INIT(TARGET_MAX);
    a->link.at = 0;
    remote_target(&a->link.remote, a->path, &target);
    struct httpc_request q = {.method = "POST",
                              .target = buf_str(&target),
                              .streams = true,
                              .length = a->body.n};
    copy_send(&a->link, &q, STR("Content-Type: application/octet-stream\r\n"));
    buf_release(&target);
    if (!a->link.over)
        pump(&a->link.http);
}

static size_t on_body(struct httpc *h, struct str piece)
{
    struct checkpoint_asking *a = copy_arg(h);
    a->link.connected_ever = true;
    buf_adds(&a->link.answer, piece);
    return piece.n;
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct checkpoint_asking *a = copy_arg(h);
    struct copy_link *l = &a->link;
    if (l->over || copy_broke(l, e))
        return;
    if (h->head.status != 200) {
        copy_refused(l);
    } else if ((a->answer = json_parse(buf_str(&l->answer), NULL))) {
        copy_stop(l);
    } else {
        copy_is_odd(l);
    }
}

struct json *checkpoint_ask(void *sender, const char *path, struct str body,
                            struct err *e)
{
    static const struct httpc_events requests = {
        .on_body = on_body, .on_done = on_answer, .on_room = pump};
    static const struct copy_calls calls = {.ask = ask, .requests = &requests};
    static const struct exec_options quiet = {.quiet = true};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct checkpoint_sender *s = sender;
    struct checkpoint_asking a = {.path = path, .body = body};
    if (!s->signals && (s->signals = sig_pipe(signals, 3)) < 0) {
        err_sys(e, errno, "cannot begin");
        return NULL;
    }
    copy_init(&a.link, &quiet, &calls, &a);
    buf_init(&a.link.answer, ANSWER_MAX);
    a.link.connected_ever = s->answered;
    if (remote_open(&a.link.remote, s->server, e) == 0 &&
        copy_run(&a.link, s->signals, e) == 0 && !a.answer)
        err_set(e, ERR_CANCELLED, "stopped by a signal; what was sent stays there");
    copy_release(&a.link);
    s->answered |= a.answer != NULL;
    return a.answer;
}
