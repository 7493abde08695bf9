/* SPDX-License-Identifier: MIT */
/*
 * `od serve --status`: the running servers of the user, or the named one: where they
 * listen, what runs in them, and the link to the backend.
 */
#include "base/called.h"
#include "base/json.h"
#include "base/xalloc.h"
#include "fence/rules.h"
#include "ipc/call.h"
#include "net/sockpath.h"
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>

enum { STATUS_OURS = 125, STATUS_MS = 10000, JSON_MAX = 64 << 20 };

static double seconds(const struct json *j, const char *name)
{
    return (double)json_int(j, name, 0) / 1000;
}

static void say_connect(const struct json *c)
{
    const struct json *last = json_get(c, "last");
    struct str state = json_str(c, "state", "");
    printf("backend: %s, %.*s", json_str(c, "backend", "").p, STR_ARG(state));
    if (json_has(c, "up_ms"))
        printf(" for %.1f s", seconds(c, "up_ms"));
    if (json_has(c, "next_ms"))
        printf(", next try in %.1f s", seconds(c, "next_ms"));
    printf("; %lld links, %lld tries\nsandbox: %s\n", (long long)json_int(c, "links", 0),
           (long long)json_int(c, "tries", 0), json_str(c, "sandbox", "").p);
    if (last)
        printf("last end: %.1f s ago, %s: %s\n", seconds(last, "ago_ms"),
               json_str(last, "outcome", "").p, json_str(last, "error", "").p);
}

static void say_bus(const struct json *c)
{
    const struct json *last = json_get(c, "last");
    printf("bus: %s, %s", json_str(c, "server", "").p, json_str(c, "state", "").p);
    if (json_has(c, "up_ms"))
        printf(" for %.1f s", seconds(c, "up_ms"));
    if (json_has(c, "next_ms"))
        printf(", next try in %.1f s", seconds(c, "next_ms"));
    printf("; %lld links, %lld tries; event %lld is published, %lld acknowledged, "
           "%lld wait\nsandbox: %s\n",
           (long long)json_int(c, "links", 0), (long long)json_int(c, "tries", 0),
           (long long)json_int(c, "published", 0),
           (long long)json_int(c, "acknowledged", 0),
           (long long)json_int(c, "waiting", 0), json_str(c, "sandbox", "").p);
    if (last)
        printf("last end: %.1f s ago, %s: %s\n", seconds(last, "ago_ms"),
               json_str(last, "outcome", "").p, json_str(last, "error", "").p);
}

/* Prints several values on a line of their own: LABEL: A, B */
static void say_list(const char *label, const struct json *list, const char *member)
{
    const char *before = label;
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        struct str text = member ? json_str(v, member, "?") : json_str_value(v, "?");
        printf("%s%.*s", before, STR_ARG(text));
        before = ", ";
    }
    if (before != label)
        printf("\n");
}

/* fence: the section of fence/fence.h; NULL: there is none. */
static void say_fence(const struct json *fence)
{
    static const char *const kinds[] = {"write", "read",   "hide",
                                        "reach", "listen", "secret"};
    const struct json *x;
    if (!fence)
        return;
    printf("fence: %s; Landlock ABI %lld", json_str(fence, "file", "of options").p,
           (long long)json_int(fence, "abi", 0));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        bool first = true;
        for (x = json_first(json_get(fence, "rules")); x; x = json_next(x)) {
            if (!str_eq(json_str(x, "do", ""), str_of(kinds[i])))
                continue;
            struct buf word = BUF_INIT(FENCE_PATH_MAX + 1);
            fence_print_word(x, &word);
            printf("%s%s %s", first ? "; " : "", first ? kinds[i] : "", buf_z(&word));
            buf_release(&word);
            first = false;
        }
    }
    for (x = json_first(json_get(fence, "added")); x; x = json_next(x)) {
        struct buf word = BUF_INIT(FENCE_PATH_MAX + 1);
        fence_print_word(x, &word);
        printf("; added: %s %s", json_str(x, "do", "").p, buf_z(&word));
        buf_release(&word);
    }
    printf("\n");
    for (x = json_first(json_get(fence, "lacks")); x; x = json_next(x))
        printf("fence lacks: %s (%s): %s\n", json_str(x, "right", "").p,
               json_str(x, "since", "").p, json_str(x, "means", "").p);
}

static void say_server(const struct json *r)
{
    struct str state = json_str(r, "state_dir", "");
    printf("server: process %lld, worker %lld, up for %.1f s; state in %s\n",
           (long long)json_int(r, "pid", 0), (long long)json_int(r, "worker", 0),
           seconds(r, "uptime_ms"), state.n > 0 ? state.p : "memory");
    printf("name: %s; version: %s; socket: %s\n", json_str(r, "name", "unknown").p,
           json_str(r, "version", "unknown").p, json_str(r, "socket", "unknown").p);
    say_list("addresses: ", json_get(r, "addresses"), NULL);
    say_list("sessions: ", json_get(r, "sessions"), "name");
    say_fence(json_get(r, "fence"));
    say_list("page: ", json_get(json_get(r, "page"), "links"), NULL);
    if (json_has(r, "connect"))
        say_connect(json_get(r, "connect"));
    if (json_has(r, "bus"))
        say_bus(json_get(r, "bus"));
}

/*
 * Returns the answer of the server at `where`, or, if there was none, {"name", "socket",
 * "error"}.
 */
static struct json *ask(const char *where, const char *name, struct err *e)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", "info");
    struct json *r = call_simple(where, q, STATUS_MS, e);
    json_free(q);
    if (!r && e->code == ERR_CANCELLED)
        err_set(e, ERR_TIMEOUT, "the server does not answer");
    if (r && !json_bool(r, "ok", false)) {
        err_set(e, ERR_IO, "%s", json_str(json_get(r, "error"), "text", "refused").p);
        json_free(r);
        r = NULL;
    }
    if (!r && name) {
        r = json_object();
        json_put_z(r, "name", name);
        json_put_z(r, "socket", where);
        json_put_z(r, "error", e->text);
    }
    return r;
}

static struct json *ask_all(void)
{
    struct sockpath_server *all = xcalloc(SOCKPATH_SERVERS_MAX, sizeof(*all));
    struct json *list = json_array();
    int n = sockpath_servers(all);
    for (int i = 0; i < n; i++) {
        struct err e = ERR_INIT;
        json_push(list, ask(all[i].path, all[i].name, &e));
    }
    free(all);
    return list;
}

/* Prints them. Returns the exit status: not 0 if none runs, or one does not answer. */
static int report(const struct serve_options *o, struct json *list)
{
    int status = json_count(list) > 0 ? 0 : STATUS_OURS;
    if (status != 0)
        called_say("no server is running\n");
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        struct str error = json_str(v, "error", "");
        if (error.n > 0) {
            called_say("server %s at %s: %s\n", json_str(v, "name", "?").p,
                       json_str(v, "socket", "?").p, error.p);
            status = STATUS_OURS;
        } else if (!o->json) {
            say_server(v);
        }
        if (!o->json && json_next(v))
            printf("\n");
    }
    if (o->json) {
        struct json *j = json_object();
        struct buf text = BUF_INIT(JSON_MAX);
        json_put(j, "servers", list);
        json_print(&text, j);
        printf("%s\n", buf_z(&text));
        buf_release(&text);
        json_free(j);
    } else {
        json_free(list);
    }
    return fflush(stdout) == 0 ? status : STATUS_OURS;
}

int serve_status(const struct serve_options *o)
{
    char space[SOCKPATH_MAX];
    const char *where = o->server ? o->server : sockpath_of_environment(space);
    /* Within a session, the environment leads to the session's server. */
    if (!where || (!o->server && getenv("OD_OP")))
        return report(o, ask_all());
    struct err e = ERR_INIT;
    struct json *r = ask(where, NULL, &e), *list = json_array();
    if (r) {
        json_push(list, r);
        return report(o, list);
    }
    called_say("%s\n", e.text);
    if (o->json)
        printf("{\"servers\":[]}\n");
    json_free(list);
    fflush(stdout);
    return STATUS_OURS;
}
