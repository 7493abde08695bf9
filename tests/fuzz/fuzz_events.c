/* SPDX-License-Identifier: MIT */
/*
 * Lines, each of which a peer of the event stream sends as one message: actions,
 * acknowledgements, since, keys, secrets. The first byte of the input says what kind of
 * link it is. The sandbox is never ready, so what takes time waits until all is said and
 * is cancelled then. Whatever comes, the peer hears JSON, each event once and in order,
 * no secret, and refusals in words; what is told from the beginning of an event's line is
 * what its JSON says. Lines are also looked at as if the log had them.
 */
#include "action/own.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/part.h"
#include "front/events/own.h"
#include "front/v0/v0.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

extern const struct part part_action, part_sandbox;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { INPUT_MAX = 64 << 10, LINES_MAX = 64, HEARD_MAX = 8 << 20 };
enum { WITH_KEY = 1, WAIT_SINCE = 2, BASE64 = 4, FROM_FIRST = 8 };

static struct engine en;
static struct events *ev;
static int keeper;
static struct actions *acts;
static struct buf *heard;

/* ---- the loop ---- */

static void on_stop(struct task *t)
{
    (void)t;
    loop_stop(en.loop);
}

static void turn(void)
{
    static struct task stop;
    char p[65536];
    task_init(&stop, on_stop);
    task_defer(en.loop, &stop);
    loop_run(en.loop);
    while (recv(keeper, p, sizeof(p), MSG_DONTWAIT) > 0)
        ;
}

static void begin(void)
{
    static const struct keeper_client_events nothing;
    static const char options[] = "{\"events\":{\"bytes\":65536,\"secrets\":"
                                  "[\"hunter22\"]}}";
    int p[2];
    log_init("fuzz", 2, LOG_ERROR, false);
    BUG_ON(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, p) < 0);
    en.loop = loop_new();
    en.keeper = en.loop ? keeper_client_open(en.loop, p[0], &nothing, NULL) : NULL;
    BUG_ON(!en.keeper);
    keeper = p[1];
    map_init(&en.sessions);
    map_init(&en.processes);
    map_init(&en.states);
    struct json *o = json_parse(STR("{\"api_key\":\"the-key\"}"), NULL);
    struct access *access = access_open(&en, o);
    json_free(o);
    o = json_parse(str_of(options), NULL);
    /* The sandbox is never ready: actions that take time wait forever. */
    part_sandbox.configure(&en, o);
    part_action.configure(&en, o);
    json_free(o);
    part_action.load(&en);
    part_action.serve(&en);
    acts = en.actions;
    ev = events_open(&en, access, NULL);
    v0_open(&en, NULL);
}

/* ---- what the peer hears ---- */

static bool has_text(const struct json *j, struct str s)
{
    for (struct json *v = json_first(j); v; v = json_next(v)) {
        struct str value = json_str_value(v, "");
        bool masked = str_find(value, STR("<secret_hidden>")) >= 0;
        if ((!masked && str_find(value, s) >= 0) || has_text(v, s))
            return true;
    }
    return false;
}

static void check_event(struct str text, const struct json *j, uint64_t *last)
{
    struct event_members l;
    struct buf line = BUF_INIT(4 * LIMIT_EVENT_MAX),
               name = BUF_INIT(8 * ACTION_CLIENT_MAX);
    uint64_t id = (uint64_t)json_int(j, "id", 0);
    BUG_ON(id == 0 || id <= *last || id >= actions_next_id(acts));
    *last = id;
    buf_adds(&line, text);
    buf_addc(&line, '\n');
    event_members(buf_str(&line), &l);
    bool gap = str_eq(json_str(j, "observation", ""), STR("gap"));
    BUG_ON(l.id != id || (l.kind == EVENT_OTHER) != gap);
    BUG_ON((l.kind == EVENT_ACTION) != json_has(j, "key"));
    BUG_ON(l.kind == EVENT_END && l.cause != (uint64_t)json_int(j, "cause", 0));
    BUG_ON(!gap && !str_eq(l.session, json_str(j, "session", "")));
    if (l.client_id.n > 0)
        BUG_ON(event_unquote(l.client_id, &name) < 0 ||
               !str_eq(buf_str(&name), json_str(j, "client_id", "")));
    else
        BUG_ON(json_has(j, "client_id"));
    BUG_ON(has_text(j, STR("hunter22")));
    buf_release(&line);
    buf_release(&name);
}

static void check_message(struct str text, uint64_t *last)
{
    struct json *j = json_parse(text, NULL);
    BUG_ON(!json_is_object(j));
    const struct json *error = json_get(j, "error"), *known = json_get(j, "known");
    if (json_has(j, "id"))
        check_event(text, j, last);
    else if (error)
        BUG_ON(json_str(error, "code", "").n == 0 ||
               json_str(error, "message", "").n == 0);
    else if (known)
        BUG_ON(json_has(known, "event") != json_has(known, "end") &&
               !json_has(known, "end"));
    else
        BUG_ON(!json_has(j, "hello"));
    json_free(j);
}

/* Whole frames (RFC 6455, 5.2), of which a server masks none; a Close is the last. */
static void check_heard(bool let_in)
{
    struct str s = buf_str(heard);
    uint64_t last = 0;
    while (s.n >= 2) {
        const uint8_t *b = (const uint8_t *)s.p;
        size_t head = b[1] == 126 ? 4 : b[1] == 127 ? 10 : 2, n = b[1];
        if (s.n < head)
            break;
        if (head == 4)
            n = (size_t)b[2] << 8 | b[3];
        else if (head == 10)
            n = (size_t)b[6] << 24 | (size_t)b[7] << 16 | (size_t)b[8] << 8 | b[9];
        if (s.n < head + n)
            break;
        BUG_ON(b[0] != 0x81 && b[0] != 0x88);
        if (b[0] == 0x88)
            return;
        BUG_ON(!let_in);
        check_message(str_sub(s, head, n), &last);
        s = str_sub(s, head + n, s.n);
    }
}

/* ---- the peer ---- */

static void drain(int fd)
{
    char p[65536];
    ssize_t n;
    while ((n = recv(fd, p, sizeof(p), MSG_DONTWAIT)) > 0)
        buf_add(heard, p, (size_t)n);
}

static void say(int fd, struct str text)
{
    struct buf b = BUF_INIT(INPUT_MAX + 64);
    buf_addc(&b, (char)0x81);
    if (text.n < 126) {
        buf_addc(&b, (char)(0x80 | text.n));
    } else {
        buf_addc(&b, (char)(0x80 | 126));
        buf_addc(&b, (char)(text.n >> 8));
        buf_addc(&b, (char)text.n);
    }
    buf_add(&b, "\0\0\0\0", 4);
    buf_adds(&b, text);
    if (send(fd, b.p, b.n, MSG_DONTWAIT | MSG_NOSIGNAL) < (ssize_t)b.n)
        shutdown(fd, SHUT_WR); /* it has closed, or reads no more */
    buf_release(&b);
}

/* Each is taken back, the newest first or the oldest. */
static void end_all(void)
{
    bool newest = acts->stats.actions % 2;
    for (struct action *a; (a = actions_next(acts, NULL));) {
        struct err e = ERR_INIT;
        for (struct action *b = a; newest && b; b = actions_next(acts, b))
            a = b;
        BUG_ON(strlen(a->key) != ACTION_KEY || actions_cancel(acts, a->id, &e) < 0);
    }
}

static void talk(unsigned kind, struct str lines)
{
    static const struct stream_events nothing;
    static const struct guest stranger = {.door = &door_native};
    struct events_link_opts opts = {
        .with_key = kind & WITH_KEY,
        .guest = kind & WITH_KEY ? &stranger : NULL,
        .wait_since = kind & WAIT_SINCE,
        .base64 = kind & BASE64,
        .since = kind & FROM_FIRST ? 0 : actions_next_id(acts) - 1};
    struct stream s;
    int p[2], most = LINES_MAX;
    struct buf all = BUF_INIT(HEARD_MAX);
    bool let_in = !(kind & WITH_KEY) || str_find(lines, STR("the-key")) >= 0 ||
                  str_chr(lines, '\\') >= 0;
    heard = &all;
    BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) < 0);
    BUG_ON(stream_open(&s, en.loop, p[0], EVENTS_LINK_IN, EVENTS_LINK_OUT, &nothing) < 0);
    struct events_link *k = events_link_open(ev, &s, WS_SERVER, &opts);
    BUG_ON(!k);
    while (lines.n > 0 && most-- > 0) {
        struct str line = str_cut(&lines, '\n');
        say(p[1], line);
        turn();
        drain(p[1]);
        BUG_ON(acts->stats.pending > ACTIONS_MAX || acts->nsecrets > SECRETS_MAX ||
               acts->secret_bytes > SECRETS_BYTES || acts->nknowns > KNOWN_MAX);
    }
    end_all();
    for (int i = 0; i < 4; i++) {
        turn();
        drain(p[1]);
    }
    check_heard(let_in);
    close(p[1]);
    turn();
    turn();
    BUG_ON(ev->stats.links > 0);
    BUG_ON(acts->stats.pending > 0);
    buf_release(&all);
}

/* As it might stand in a damaged log, or in a text with secrets. */
static void look(struct str line)
{
    struct event_members l;
    struct buf b = BUF_INIT(INPUT_MAX), out = BUF_INIT(INPUT_MAX * 8);
    event_members(line, &l);
    BUG_ON(l.kind == EVENT_ACTION && l.key.n != ACTION_KEY);
    BUG_ON(l.client_id.n == 1 || l.session.n > line.n);
    event_unquote(line, &out);
    struct json *j = json_parse(line, NULL);
    buf_adds(&b, line);
    unsigned n = actions_mask(acts, &b);
    struct json *masked = json_parse(buf_str(&b), NULL);
    BUG_ON(j && n == 0 && !str_eq(buf_str(&b), line));
    BUG_ON(j && b.n > 0 && !masked);
    /* The end of a piece that is let go ends before any secret begins, or behind it. */
    size_t tail = actions_secret_tail(acts, line);
    for (unsigned i = 0; i < acts->nsecrets && tail < line.n; i++) {
        struct str gone = str_sub(line, 0, line.n - tail), secret = acts->plain[i];
        BUG_ON(tail >= secret.n && tail > SECRET_MAX);
        BUG_ON(tail == 0 && secret.n > 1 &&
               str_ends(gone, str_sub(secret, 0, secret.n - 1)));
    }
    json_free(masked);
    json_free(j);
    buf_release(&b);
    buf_release(&out);
}

/* Secrets of one input are not those of the next. */
static void forget(void)
{
    while (acts->nsecrets > 2) {
        struct str s = acts->secrets[--acts->nsecrets],
                   plain = acts->plain[acts->nsecrets];
        acts->secret_bytes -= s.n + 1;
        free((void *)(uintptr_t)s.p);
        free((void *)(uintptr_t)plain.p);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n(data, n < INPUT_MAX ? n : INPUT_MAX);
    if (!ev)
        begin();
    if (n == 0)
        return 0;
    for (struct str rest = str_sub(s, 1, s.n); rest.n > 0;)
        look(str_cut(&rest, '\n'));
    talk((unsigned)data[0], str_sub(s, 1, s.n));
    forget();
    return 0;
}
