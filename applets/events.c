/* SPDX-License-Identifier: MIT */
/* `od events`: a server's actions and their results, from its log. */
#include "applet.h"
#include "base/called.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "events.txt.gz.h"
#include "ipc/call.h"
#include "where.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STATUS_OURS = 125,
    SHOWN = 200,
    LOST_MS = 60000,
    PAUSE_MS = 20,
    PAUSE_MOST_MS = 1000, /* for a server elsewhere; doubles after each try */
    STEADY_MS = 1000, /* a connection that lasted so long counts as good */
    MUTE_MS = 10000,  /* for a server that ends each one without an answer */
};

struct events_options {
    const char *server; /* WHERE (net/sockpath.h), or NULL */
    uint64_t since;
    bool follow, json;
    const char *cast;    /* the session to record, or NULL: since is an action then */
    bool begun;          /* a part of the recording was printed */
    bool heard;          /* on this connection */
    bool checked;        /* that the server answers, on this connection */
    int64_t opened;      /* the time of the connection, as clock_ms */
    int64_t mute_since;  /* clock_ms() of the first one that ended at once; 0: none */
};

static int fail(const char *text)
{
    called_say("%s\n", text);
    return STATUS_OURS;
}

/* ---- for people ---- */

/* Prints one line of a text, and how much more there is. */
static void print_text(struct str s)
{
    struct str rest = s, line = str_cut(&rest, '\n');
    size_t n = utf8_cut(line, line.n < SHOWN ? line.n : SHOWN);
    for (size_t i = 0; i < n; i++)
        putchar((unsigned char)line.p[i] < 0x20 || line.p[i] == 0x7f ? '?' : line.p[i]);
    if (n < s.n)
        printf("%s(%zu bytes)", n ? " … " : "", s.n);
}

static void print_action(const struct json *j)
{
    static const char *const said[] = {"command", "path",   "text",
                                       "key",     "signal", "code"};
    const struct json *args = json_get(j, "args");
    printf("%.*s", STR_ARG(json_str(j, "action", "")));
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        if (!json_is_string(json_get(args, said[i])))
            continue;
        printf(" ");
        print_text(json_str(args, said[i], ""));
        break;
    }
}

static void print_observation(const struct json *j)
{
    const struct json *extras = json_get(j, "extras");
    const struct json *about = json_get(extras, "metadata");
    if (json_has(j, "cause"))
        printf("  %lld: ", (long long)json_int(j, "cause", 0));
    printf("%.*s", STR_ARG(json_str(j, "observation", "")));
    if (json_has(about, "exit_code"))
        printf(" exit %lld", (long long)json_int(about, "exit_code", -1));
    if (json_has(extras, "reason"))
        printf(" %lld to %lld: %.*s", (long long)json_int(extras, "from", 0),
               (long long)json_int(extras, "to", 0),
               STR_ARG(json_str(extras, "reason", "")));
    if (json_has(extras, "plugin"))
        printf(" %.*s %.*s", STR_ARG(json_str(extras, "plugin", "")),
               STR_ARG(json_str(extras, "kind", "")));
    struct str content = json_str(j, "content", "");
    if (content.n > 0) {
        printf(" ");
        print_text(content);
    }
}

static void print_line(struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str time = json_str(j, "timestamp", "");
    printf("%lld %.*s %.*s ", (long long)json_int(j, "id", 0),
           (int)(time.n > 19 ? 19 : time.n), time.p,
           STR_ARG(json_str(j, "session", "-")));
    if (json_has(j, "action"))
        print_action(j);
    else
        print_observation(j);
    putchar('\n');
    json_free(j);
}

static void print_lines(const struct events_options *o, struct str lines)
{
    if (o->json || o->cast) {
        fwrite(lines.p, 1, lines.n, stdout);
        return;
    }
    while (lines.n > 0)
        print_line(str_cut(&lines, '\n'));
}

/* ---- the server ---- */

static int ask(struct client *c, const struct events_options *o)
{
    struct json *q = json_object();
    json_put_int(q, "v", FRAME_VERSION);
    json_put_z(q, "do", o->cast ? "cast" : "events");
    json_put_int(q, "since", (int64_t)o->since);
    if (o->cast)
        json_put_z(q, "session", o->cast);
    else
        json_put_bool(q, "follow", o->follow);
    int r = frame_add_json(&c->out, 'Q', q);
    json_free(q);
    return r;
}

/* Returns 1 to go on; 0 at the end; -1 after a refusal, which was printed. */
static int take(struct client *c, struct events_options *o)
{
    struct frame f;
    struct str lines;
    uint64_t next;
    int r;
    while ((r = client_frame(c, &f)) > 0) {
        o->heard = true;
        if (f.type == 'O' && frame_bytes(f.payload, &next, &lines) == 0) {
            o->begun = true;
            print_lines(o, lines);
            o->since = o->cast ? o->since : next - 1;
        } else if (f.type == 'R') {
            struct err e = ERR_INIT;
            struct json *j = json_parse(f.payload, &e);
            struct str why = json_str(json_get(j, "error"), "text", "it gave no reason");
            bool ok = json_bool(j, "ok", false);
            if (!ok)
                called_say("%.*s\n", STR_ARG(why));
            json_free(j);
            return ok ? 0 : -1;
        }
    }
    if (r < 0)
        fail("the server does not speak this protocol");
    return r < 0 ? -1 : 1;
}

/*
 * Returns how long to wait for the first frame before call_check_server; -1 for no limit,
 * since a server without new events has nothing to send.
 */
static int patience(const struct events_options *o)
{
    int64_t left = o->opened + CALL_SILENT_MS - clock_ms();
    return o->heard || o->checked ? -1 : left > 0 ? (int)left : 0;
}

/* Handles one connection. Returns 1 if it was lost; else as take. */
static int talk(struct client *c, struct events_options *o)
{
    struct err e = ERR_INIT;
    o->heard = o->checked = false;
    o->opened = clock_ms();
    if (ask(c, o) < 0)
        return -1;
    for (;;) {
        int r = take(c, o);
        if (r <= 0)
            return r;
        if (fflush(stdout) == EOF) {
            fail(strerror(errno));
            return -1;
        }
        if (client_flush(c) < 0)
            return 1;
        struct pollfd p = {.fd = c->fd, .events = POLLIN | (c->out.n ? POLLOUT : 0)};
        int n = poll(&p, 1, patience(o));
        if (n < 0 && errno != EINTR)
            return 1;
        if (n == 0) {
            o->checked = true;
            if (call_check_server(c, &e) < 0) {
                fail(e.text);
                return -1;
            }
            continue;
        }
        if ((p.revents & ~POLLOUT) && client_read(c) < 0)
            return 1;
    }
}

/* The worker was replaced; the next one continues after the last id. */
static int again(struct client *c, struct events_options *o)
{
    int64_t end = clock_ms() + LOST_MS;
    struct err e = ERR_INIT;
    int64_t now = clock_ms();
    if (o->cast && o->begun)
        return fail("the connection was lost within the recording; export it again");
    if (o->heard || now - o->opened > STEADY_MS)
        o->mute_since = 0;
    else if (o->mute_since == 0)
        o->mute_since = now;
    else if (now - o->mute_since > MUTE_MS)
        return fail("the server ends each connection without an answer: it is not an od "
                    "server, or it refuses this user");
    if (o->mute_since != 0)
        poll(NULL, 0, PAUSE_MS);
    for (int pause = PAUSE_MS; client_reopen(c, &e) < 0;) {
        if (e.code != ERR_BUSY || clock_ms() > end)
            return fail(e.text);
        e = (struct err)ERR_INIT;
        poll(NULL, 0, pause);
        if (client_is_remote(c) && pause < PAUSE_MOST_MS)
            pause *= 2;
    }
    return 0;
}

static bool is_where(const char *word)
{
    return strcmp(word, "--server") == 0 || strcmp(word, "--socket") == 0 ||
           strcmp(word, "--ca") == 0;
}

static int events_main(int argc, char **argv)
{
    struct events_options o = {0};
    struct err e = ERR_INIT;
    char space[SOCKPATH_MAX];
    bool plain = false, from = false;
    for (int i = 1; i < argc; i++) {
        char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--follow") == 0 || strcmp(argv[i], "-f") == 0) {
            o.follow = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            o.json = true;
        } else if (strcmp(argv[i], "--cast") == 0 && value) {
            o.cast = argv[++i];
        } else if (is_where(argv[i]) && value) {
            if (where_take(&o.server, space, argv[i++], value, &e) < 0)
                return fail(e.text);
        } else if (strcmp(argv[i], "--since") == 0 && value) {
            if (str_to_u64(str_of(argv[++i]), &o.since) < 0)
                return fail("--since takes the id of an event, or 0");
            plain = true;
        } else if (strcmp(argv[i], "--from") == 0 && value) {
            if (str_to_u64(str_of(argv[++i]), &o.since) < 0)
                return fail("--from takes the id of an action");
            from = true;
        } else {
            called_say("%s %.200s; see %s\n",
                       !is_where(argv[i]) && strcmp(argv[i], "--since") &&
                               strcmp(argv[i], "--cast") && strcmp(argv[i], "--from")
                           ? "there is no option"
                           : "a value is missing for",
                       argv[i], called_help("events").z);
            return STATUS_OURS;
        }
    }
    if (o.cast ? plain || o.follow || o.json : from)
        return fail(o.cast ? "--cast goes with --from, not with --since, --follow, --json"
                           : "--from goes with --cast");
    signal(SIGPIPE, SIG_IGN);
    struct client c;
    int r = client_open(&c, o.server, false, &e) < 0 ? fail(e.text) : 1;
    while (r == 1) {
        r = talk(&c, &o);
        if (r == 1 && again(&c, &o) != 0)
            r = -1;
    }
    client_close(&c);
    if (fflush(stdout) == EOF && r == 0)
        r = fail(strerror(errno));
    return r == 0 ? 0 : STATUS_OURS;
}

const struct applet applet_events = {
    .name = "events",
    .brief = "a server's actions and their results",
    .packed = PACKED(events_txt_gz),
    .main = events_main,
};
