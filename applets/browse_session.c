/* SPDX-License-Identifier: MIT */
/* `od browse` with the server's browsers, which stay (front/local/browse.c). */
#include "base/called.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/list.h"
#include "browse.h"
#include "where.h"
#include "ipc/answer.h"
#include "ipc/call.h"
#include "ipc/frame.h"
#include "os/sig.h"
#include "webpage/browse_action.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_MAX = 130 << 20, SHOT_MAX = 48 << 20, TIME_MS = 120000 };

struct asking {
    struct call call;
    struct buf line;
    struct json *request; /* owned */
    bool cancelled;
};

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct asking *a = container_of(c, struct asking, call);
    (void)error;
    return buf_adds(&a->line, bytes) < 0 ? (errno = EFBIG, -1) : 0;
}

/*
 * C-c: the server stops the call, and reports how far it got; a second one leaves it
 * running.
 */
static void on_signal(struct call *c, int signo)
{
    struct asking *a = container_of(c, struct asking, call);
    struct json *j = json_object();
    (void)signo;
    json_put_bool(j, "cancel", true);
    if (a->cancelled)
        call_leave(c, 0);
    else
        call_send(c, 'Z', j);
    json_put_bool(a->request, "cancel", true); /* repeated after a lost connection, too */
    a->cancelled = true;
    json_free(j);
}

static const struct call_events events = {.on_output = on_output,
                                          .on_signal = on_signal};

static struct json *request(const struct browse_options *o, const char *verb)
{
    struct json *q = json_object();
    char cwd[PATH_MAX];
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", verb);
    json_put_z(q, "as", called("browse").z);
    if (!where_is_remote(o->server))
        json_put_z(q, "cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "/");
    if (o->session)
        json_put_z(q, "session", o->session);
    return q;
}

/* Returns the answer, without the output; NULL after an error message. */
static struct json *ask(struct asking *a, struct client *client, struct json *take,
                        int64_t limit_ms)
{
    struct err e = ERR_INIT;
    a->request = take;
    call_init(&a->call, client, take, &events);
    buf_init(&a->line, ANSWER_MAX);
    a->call.input = -1;
    a->call.signals = sig_pipe((const int[]){SIGINT}, 1);
    a->call.limit_ms = limit_ms;
    struct json *r = call_run(&a->call, &e);
    if (!r) {
        browse_fail(e.text);
    } else if (!json_bool(r, "ok", false)) {
        browse_fail(json_str(json_get(r, "error"), "text", "it was refused").p);
        json_free(r);
        r = NULL;
    }
    call_release(&a->call);
    json_free(take);
    return r;
}

/* ---- a call ---- */

static struct json *what_of(const struct browse_options *o)
{
    struct json *what = json_object(), *look = json_object();
    struct browser_want want = browse_want(o);
    struct buf first = BUF_INIT(1 << 20), address = BUF_INIT(1 << 19);
    if (o->url) {
        browse_address(&address, o->url);
        buf_addz(&first, "goto(");
        browse_repr_text(&first, buf_str(&address));
        buf_addz(&first, ")");
        json_put_str(what, "first", buf_str(&first));
    }
    json_put_str(what, "actions", buf_str(&o->actions));
    json_put_bool(look, "tree", want.tree);
    json_put_bool(look, "text", want.text);
    json_put_bool(look, "shot", want.shot);
    json_put_bool(look, "compact", want.compact);
    json_put_bool(look, "whole", want.whole);
    json_put_bool(look, "marks", want.marks);
    json_put_bool(look, "console", o->console);
    json_put_bool(look, "documents", true);
    if (o->har)
        json_put_bool(look, "har", true);
    if (o->downloads)
        json_put_z(what, "downloads", o->downloads);
    json_put_z(look, "format", want.format);
    json_put_int(look, "page_size", (int64_t)want.page_size);
    json_put_int(look, "page", want.page);
    json_put(what, "look", look);
    buf_release(&first);
    buf_release(&address);
    return what;
}

static void put(struct buf *b, const struct json *j, const char *name)
{
    struct str s = json_str(j, name, "");
    buf_init(b, s.n + 1);
    buf_adds(b, s);
}

/* Returns a copy of a list in j. */
static struct json *copy(const struct json *j, const char *name)
{
    struct buf b = BUF_INIT(16 << 20);
    struct err e = ERR_INIT;
    const struct json *list = json_get(j, name);
    struct json *made = list && json_print(&b, list) == 0 ? json_parse(buf_str(&b), &e)
                                                          : NULL;
    buf_release(&b);
    return made ? made : json_array();
}

static void put_marks(struct buf *b, const struct json *j)
{
    const struct json *marks = json_get(j, "marks");
    buf_init(b, 16 << 20);
    if (marks)
        json_print(b, marks);
}

static int write_har(const struct browse_options *o, const struct json *j)
{
    struct buf har = BUF_INIT(BROWSER_HAR_MAX);
    int r = 0;
    if (json_has(j, "har") && json_print(&har, json_get(j, "har")) < 0)
        r = browse_fail("the archive is too long");
    else
        r = browse_write_har(o, buf_str(&har));
    buf_release(&har);
    return r;
}

static int show(const struct browse_options *o, const struct json *j)
{
    struct browser_seen seen = {.active = (int)json_int(j, "active", -1),
                                .tabs = copy(j, "tabs"),
                                .notes = copy(j, "notes"),
                                .console = copy(j, "console"),
                                .pages = (int)json_int(j, "pages", 1),
                                .status = (int)json_int(j, "status", 0)};
    put(&seen.url, j, "url");
    put(&seen.title, j, "title");
    put(&seen.error, j, "error");
    put(&seen.focused, j, "focused");
    put(&seen.tree, j, "tree");
    put(&seen.text, j, "text");
    put(&seen.links, j, "links");
    put(&seen.said, j, "said");
    put_marks(&seen.marks, j);
    buf_init(&seen.shot, SHOT_MAX);
    dec_base64(&seen.shot, json_str(j, "shot", ""));
    int status = 0;
    if (o->shot && seen.shot.n == 0)
        status = browse_fail("there is no picture: the page is read without a browser");
    else
        status = browse_show(o, &seen);
    browser_seen_release(&seen);
    int archived = o->har ? write_har(o, j) : 0;
    return status == 0 ? archived : status;
}

static int call(const struct browse_options *o, struct client *client)
{
    struct asking *a = calloc(1, sizeof(*a));
    struct json *q = request(o, "browse");
    struct err e = ERR_INIT;
    if (!a)
        return browse_fail("no memory");
    json_put(q, "what", what_of(o));
    if (o->text)
        json_put_z(q, "mode", "text");
    if (o->downloads)
        json_put_z(q, "downloads", o->downloads);
    if (o->cdp)
        json_put_z(q, "cdp", o->cdp);
    if (o->timeout_ms)
        json_put_int(q, "timeout_ms", o->timeout_ms);
    /* It may wait for earlier calls: the server ends it. */
    struct json *r = ask(a, client, q, 0);
    struct json *j = r ? json_parse(buf_str(&a->line), &e) : NULL;
    int status = BROWSE_OURS;
    if (j)
        status = show(o, j);
    else if (r)
        browse_fail(e.text);
    else if (a->cancelled)
        status = 128 + SIGINT;
    json_free(j);
    json_free(r);
    buf_release(&a->line);
    free(a);
    return status;
}

/* ---- all of them ---- */

static int print_json(const struct json *j)
{
    struct buf b = BUF_INIT(16 << 20);
    int r = json_print(&b, j);
    if (r == 0)
        printf("%s\n", buf_z(&b));
    buf_release(&b);
    return r < 0 ? BROWSE_OURS : 0;
}

static void print_list(const struct json *list)
{
    printf("%-16s %-6s %-8s %s\n", "NAME", "STATE", "MODE", "PAGE");
    for (const struct json *b = json_first(list); b; b = json_next(b))
        printf("%-16s %-6s %-8s %s\n", json_str(b, "name", "").p,
               json_str(b, "state", "").p, json_str(b, "mode", "").p,
               json_str(b, "url", "").p);
}

static int ask_once(const struct browse_options *o, struct client *client)
{
    struct asking *a = calloc(1, sizeof(*a));
    struct json *q = request(o, o->close ? "browser" : "browsers");
    if (!a)
        return browse_fail("no memory");
    if (o->close)
        json_put_z(q, "verb", "close");
    struct json *r = ask(a, client, q, TIME_MS);
    int status = r ? 0 : BROWSE_OURS;
    if (r && o->list && o->json)
        status = print_json(json_get(r, "browsers"));
    else if (r && o->list)
        print_list(json_get(r, "browsers"));
    json_free(r);
    buf_release(&a->line);
    free(a);
    return status;
}

int browse_in_session(const struct browse_options *o)
{
    struct client client = {.fd = -1};
    struct err e = ERR_INIT;
    int status;
    signal(SIGPIPE, SIG_IGN);
    if (o->close && !o->session)
        return browse_fail("--close needs --session NAME");
    if ((o->close || o->list) && (o->url || o->actions.n))
        return browse_fail("--list and --close visit nothing");
    if (client_open(&client, o->server, !o->close && !o->list, &e) < 0) {
        bool none = o->list && e.code == ERR_NOTFOUND;
        if (none && o->json)
            printf("[]\n");
        status = none ? 0 : browse_fail(e.text);
    } else {
        status = o->close || o->list ? ask_once(o, &client) : call(o, &client);
    }
    client_close(&client);
    return fflush(stdout) == 0 ? status : BROWSE_OURS;
}
