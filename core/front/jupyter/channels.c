/* SPDX-License-Identifier: MIT */
/*
 * The channels of a kernel as a WebSocket (jupyter_client, "Messaging in Jupyter").
 *
 * An execute_request becomes an action `cell`, which has the message with it: it is in
 * the log, waits for its turn with the cells of others, and its msg_id names it, so that
 * it runs once. Every other message goes to the kernel at once. What the kernel publishes
 * goes to all clients; its replies go to the client whose `session` they have.
 *
 * A client that connects again with its session_id gets the messages since then; f.places
 * has the place of each, also for the next worker. Frames that the client does not take
 * wait in the kernel's spool (kernel/listen.h).
 */
#include "front/jupyter/own.h"

#include "base/clock.h"
#include "base/jsontext.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "http/ws_hello.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUT_LOW = 1 << 20,
    OUT_MORE = 6 << 20, /* for names and offsets of the largest frame */
    LATE_MAX = 4 << 20, /* lines of one piece of output, after a frame was refused */
    /*
     * Hand-written clients read, and answer pings, only while they wait for a cell; a
     * peer whose machine is gone is ended by TCP, which has our pings to deliver.
     */
    DEAD_MS = 24 * 3600 * 1000
};

struct nb_peer {
    struct list node; /* in jupyter.peers */
    struct jupyter *f;
    struct ws ws;
    struct kernel_listener ear;
    char kernel[COMPANION_NAME + 1];
    struct buf session;     /* of its last message */
    struct nb_place *place; /* borrowed; NULL: it gave no session_id */
    struct buf late;        /* owned: lines that are sent before others */
    bool v1;
    bool begun, ended; /* the kernel, which ended by itself */
};

/* An execute_request, until its action ends. */
struct nb_run {
    struct list node; /* in jupyter.runs */
    struct jupyter *f;
    char kernel[COMPANION_NAME + 1];
    struct buf header; /* owned */
    struct cell_follower follower;
};

static struct nb_peer *peer_of(struct list *it)
{
    return list_entry(it, struct nb_peer, node);
}

/* ---- to the client ---- */

static bool send_line(struct nb_peer *p, struct str line)
{
    struct buf frame = BUF_INIT(LIMIT_JUPYTER_OUT + OUT_MORE);
    struct nb_message m;
    bool text, sent = true;
    nb_line(&m, line);
    if (nb_frame(&frame, &m, p->v1, &text) == 0)
        sent = ws_send(&p->ws, text, buf_str(&frame));
    else
        log_warn("kernel %s: a message is too long for a client", p->kernel);
    buf_release(&frame);
    return sent || !ws_is_open(&p->ws);
}

/* Sends a line after those that wait. */
static void pass(struct nb_peer *p, struct str line)
{
    if (p->late.n == 0 && send_line(p, line))
        return;
    if (buf_room(&p->late) <= line.n) {
        ws_close(&p->ws, WS_POLICY, STR("too many messages wait for this client"));
        return;
    }
    buf_adds(&p->late, line);
    buf_addc(&p->late, '\n');
    if (p->ear.k)
        kernel_listener_hold(&p->ear, true);
}

static void on_room(struct ws *w)
{
    struct nb_peer *p = container_of(w, struct nb_peer, ws);
    while (p->late.n) {
        long nl = str_chr(buf_str(&p->late), '\n');
        if (!send_line(p, str_sub(buf_str(&p->late), 0, (size_t)nl)))
            return;
        buf_consume(&p->late, (size_t)nl + 1);
    }
    nb_save_later(p->f);
    if (p->ear.k)
        kernel_listener_hold(&p->ear, false);
}

/* Appends a message that od makes, after the one with the header parent, or none. */
static void put_message(struct buf *out, const char *channel, const char *type,
                        struct str parent, struct json *take_content)
{
    char id[33], date[25];
    struct buf content = BUF_INIT(64 << 10);
    random_hex(id, 32);
    clock_iso(clock_wall_ms(), date);
    json_print(&content, take_content);
    buf_addf(
        out,
        "{\"channel\":\"%s\",\"header\":{\"msg_id\":\"%s\",\"msg_type\":\"%s\","
        "\"session\":\"od\",\"username\":\"od\",\"date\":\"%s\",\"version\":\"5.3\"},"
        "\"parent_header\":",
        channel, id, type, date);
    buf_adds(out, parent.n ? parent : STR("{}"));
    buf_addf(out, ",\"metadata\":{},\"content\":%s}", buf_z(&content));
    json_free(take_content);
    buf_release(&content);
}

static void say(struct nb_peer *p, const char *channel, const char *type,
                struct str parent, struct json *take_content)
{
    struct buf b = BUF_INIT(256 << 10);
    put_message(&b, channel, type, parent, take_content);
    if (!buf_full(&b))
        pass(p, buf_str(&b));
    buf_release(&b);
}

static void say_status(struct nb_peer *p, struct str parent, const char *state)
{
    struct json *j = json_object();
    json_put_z(j, "execution_state", state);
    say(p, "iopub", "status", parent, j);
}

static struct json *error_content(const char *name, const char *why)
{
    struct json *j = json_object(), *trace = json_array();
    json_push_str(trace, str_of(why));
    json_put_z(j, "status", "error");
    json_put_z(j, "ename", name);
    json_put_z(j, "evalue", why);
    json_put(j, "traceback", trace);
    return j;
}

/* Answers a request that the kernel does not answer, as a kernel does. */
static void refuse(struct nb_peer *p, const char *channel, struct str header,
                   const char *name, const char *why)
{
    char type[80];
    struct str asked = jsontext_plain(jsontext_get(header, STR("msg_type")));
    static const struct str suffix = STR("_request");
    struct json *content = error_content(name, why);
    if (!str_ends(asked, suffix) || asked.n > 60) {
        json_free(content);
        log_info("kernel %s: a message was not sent: %s", p->kernel, why);
        return;
    }
    snprintf(type, sizeof(type), "%.*s_reply", (int)(asked.n - suffix.n), asked.p);
    if (!name[0]) {
        json_free(content);
        content = json_object();
        json_put_z(content, "status", "aborted");
    } else if (str_eq(asked, STR("execute_request")))
        say(p, "iopub", "error", header, error_content(name, why));
    say(p, channel, type, header, content);
    say_status(p, header, "idle");
}

static bool is_of(const struct nb_peer *p, struct str header)
{
    return str_eq(jsontext_plain(jsontext_get(header, STR("session"))),
                  buf_str(&p->session));
}

/* ---- from the kernel ---- */

static struct nb_peer *peer_by_ear(struct kernel_listener *l)
{
    return container_of(l, struct nb_peer, ear);
}

static bool on_wanted(struct kernel_listener *l, struct str line)
{
    struct nb_message m;
    nb_line(&m, line);
    return str_eq(m.channel, STR("iopub")) || is_of(peer_by_ear(l), m.parent);
}

static void on_line(struct kernel_listener *l, struct str line)
{
    if (on_wanted(l, line))
        pass(peer_by_ear(l), line);
}

static void on_host(struct kernel_listener *l, const char *what)
{
    struct nb_peer *p = peer_by_ear(l);
    struct str none = {NULL, 0};
    if (strcmp(what, "room") == 0) {
        ws_resume(&p->ws);
    } else if (strcmp(what, "full") == 0) {
        ws_pause(&p->ws);
    } else if (strcmp(what, "ready") == 0) {
        p->begun = true;
    } else if (strcmp(what, "ended") == 0) {
        p->ended = p->begun;
    } else if (strcmp(what, "starting") == 0) {
        if (p->ended) /* of a restart that was asked for, Jupyter says nothing */
            say_status(p, none, "restarting");
        p->ended = false;
    } else if (strcmp(what, "gap") == 0 || strcmp(what, "long") == 0) {
        struct json *j = json_object();
        json_put_z(j, "name", "stderr");
        json_put_z(j, "text",
                   what[0] == 'g'
                       ? "od: messages of the kernel are missing here\n"
                       : "od: a message of the kernel is missing here: it is too long\n");
        say(p, "iopub", "stream", none, j);
    } else {
        say_status(p, none, "dead");
        if (strcmp(what, "closed") == 0)
            ws_close(&p->ws, WS_GOING_AWAY, STR("the kernel was shut down"));
    }
}

static void on_read(struct kernel_listener *l)
{
    if (peer_by_ear(l)->place)
        nb_save_later(peer_by_ear(l)->f);
}

static const struct kernel_ears ears = {
    .message = on_line, .wanted = on_wanted, .host = on_host, .read = on_read};

void nb_mark_places(struct jupyter *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->peers) {
        struct nb_peer *p = peer_of(it);
        if (!p->place || !p->ear.k)
            continue;
        stream_flush(&p->ws.s);
        if (ws_queued(&p->ws) || p->late.n)
            continue;
        p->place->at = kernel_listener_at(&p->ear);
        snprintf(p->place->process, sizeof(p->place->process), "%s",
                 kernel_process(p->ear.k));
    }
}

/* ---- execute_request ---- */

static void run_free(struct nb_run *x)
{
    action_cell_unfollow(&x->follower);
    list_del(&x->node);
    buf_release(&x->header);
    free(x);
}

/* The kernel has replied, unless it ended, or never got the cell. */
static void on_ended(struct cell_follower *follower, const struct action_result *result)
{
    struct nb_run *x = container_of(follower, struct nb_run, follower);
    struct str end = json_str(result->extras, "end", "");
    struct str why = json_str(result->extras, "why", "");
    struct str header = buf_str(&x->header);
    bool stopped = str_eq(why, STR("an earlier cell failed"));
    struct list *it, *tmp;
    if (result->error || str_eq(end, STR("failed")) || str_eq(end, STR("died"))) {
        list_each (it, tmp, &x->f->peers) {
            struct nb_peer *p = peer_of(it);
            if (strcmp(p->kernel, x->kernel) == 0 && is_of(p, header))
                refuse(p, "shell", header, stopped ? "" : "KernelError",
                       result->error ? result->error->text : why.p);
        }
    }
    run_free(x);
}

static struct json *request_of(const struct nb_message *m, struct err *e)
{
    struct json *q = json_object();
    const struct str parts[] = {m->header, m->metadata, m->content};
    static const char *const names[] = {"header", "metadata", "content"};
    for (int i = 0; i < 3; i++) {
        struct json *j = json_parse(parts[i].n ? parts[i] : STR("{}"), e);
        if (!j) {
            json_free(q);
            return NULL;
        }
        json_put(q, names[i], j);
    }
    return q;
}

static void execute(struct nb_peer *p, const struct nb_message *m)
{
    struct jupyter *f = p->f;
    struct err e = ERR_INIT;
    struct json *q = request_of(m, &e);
    struct kernel *k = kernel_lookup(f->en, str_of(p->kernel));
    struct str id = json_str(json_get(q, "header"), "msg_id", "");
    struct action *a = NULL;
    if (q && k && id.n <= LIMIT_ID && kernel_knows(k, id.p)) {
        err_set(&e, ERR_EXISTS, "this msg_id was used for an earlier execute_request");
        json_free(q);
        q = NULL;
    }
    if (q) {
        struct json *args = json_object(), *content = json_get(q, "content");
        struct json *code = json_take(content, "code");
        json_put_str(args, "code", json_str_value(code, ""));
        json_free(code);
        json_put_bool(args, "silent", json_bool(content, "silent", false));
        json_put_bool(args, "input", json_bool(content, "allow_stdin", true));
        json_put(args, "request", q);
        a = nb_open_act(f, p->kernel, &action_cell, args, &e);
    }
    if (!a) {
        refuse(p, "shell", m->header, "RequestError", e.text);
        return;
    }
    struct nb_run *x = xnew(struct nb_run);
    *x = (struct nb_run){
        .f = f, .header = BUF_INIT(64 << 10), .follower = {.ended = on_ended}};
    memcpy(x->kernel, p->kernel, sizeof(x->kernel));
    buf_adds(&x->header, m->header);
    list_init(&x->follower.node);
    list_add_tail(&f->runs, &x->node);
    action_cell_follow(f->en->actions, a->id, &x->follower);
    action_go(a);
}

/* ---- from the client ---- */

static void tell(struct nb_peer *p, const struct nb_message *m, const char *channel)
{
    struct buf line = BUF_INIT(2 * LIMIT_JUPYTER_IN);
    struct kernel *k = kernel_lookup(p->f->en, str_of(p->kernel));
    struct err e = ERR_INIT;
    if (!k)
        err_set(&e, ERR_GONE, "the kernel %s is closed", p->kernel);
    else if (nb_put_line(&line, m) < 0)
        err_set(&e, ERR_LIMIT, "the message is too long");
    else
        kernel_tell(k, buf_str(&line), &e);
    if (e.code)
        refuse(p, channel, m->header, "RequestError", e.text);
    if (k && kernel_is_full(k))
        ws_pause(&p->ws); /* until there is room */
    buf_release(&line);
}

static void on_message(struct ws *w, bool text, struct str message)
{
    static const char *const channels[] = {"shell", "control", "stdin"};
    struct nb_peer *p = container_of(w, struct nb_peer, ws);
    struct buf space = BUF_INIT(2 * LIMIT_JUPYTER_IN);
    struct nb_message m;
    const char *channel = NULL;
    engine_touch(p->f->en);
    if (nb_unframe(&m, message, text, p->v1, &space) < 0) {
        log_info("kernel %s: a client's message is malformed", p->kernel);
        ws_close(w, WS_UNSUPPORTED, STR("the message is not one of Jupyter's"));
        goto out;
    }
    if (!m.channel.p)
        m.channel = STR("shell");
    for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++) {
        if (str_eq(m.channel, str_of(channels[i])))
            channel = channels[i];
    }
    struct str session = jsontext_plain(jsontext_get(m.header, STR("session")));
    if (!channel) {
        log_info("kernel %s: a client's message has no channel of a kernel", p->kernel);
        goto out;
    }
    buf_reset(&p->session);
    buf_adds(&p->session, session);
    struct str type = jsontext_plain(jsontext_get(m.header, STR("msg_type")));
    if (channel == channels[0] && str_eq(type, STR("execute_request")))
        execute(p, &m);
    else
        tell(p, &m, channel);
out:
    buf_release(&space);
}

static void peer_free(void *arg)
{
    struct nb_peer *p = arg;
    buf_release(&p->late);
    buf_release(&p->session);
    free(p);
}

static void leave(struct nb_peer *p)
{
    nb_mark_places(p->f);
    kernel_unlisten(&p->ear);
    p->place = NULL;
    list_del(&p->node);
    p->f->npeers--;
    nb_save_later(p->f);
    loop_bury(p->f->en->loop, p, peer_free);
}

static void on_close(struct ws *w, int code, struct str reason)
{
    (void)code;
    (void)reason;
    leave(container_of(w, struct nb_peer, ws));
}

void nb_peers_close(struct jupyter *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->peers)
        ws_close(&peer_of(it)->ws, WS_GOING_AWAY, STR("the server restarts"));
}

/* ---- the upgrade ---- */

/* Returns the place of the client with this session_id; a new one has no process. */
static struct nb_place *place_of(struct jupyter *f, const char *kernel,
                                 struct str session)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->places) {
        struct nb_place *x = list_entry(it, struct nb_place, node);
        if (strcmp(x->kernel, kernel) == 0 && str_eq(str_of(x->session), session))
            return x;
    }
    struct nb_place *x = xnew(struct nb_place);
    snprintf(x->kernel, sizeof(x->kernel), "%s", kernel);
    snprintf(x->session, sizeof(x->session), "%.*s", STR_ARG(session));
    list_add_tail(&f->places, &x->node);
    f->nplaces++;
    return x;
}

static bool is_used(const struct jupyter *f, const struct nb_place *x)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->peers) {
        if (peer_of(it)->place == x)
            return true;
    }
    return false;
}

/* Forgets the oldest places that no client has. */
static void make_room(struct jupyter *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->places) {
        struct nb_place *x = list_entry(it, struct nb_place, node);
        if (f->nplaces <= LIMIT_JUPYTER_CLIENTS || is_used(f, x))
            continue;
        list_del(&x->node);
        f->nplaces--;
        free(x);
    }
}

/* A second connection with the same session_id replaces the first. */
static void replace(struct jupyter *f, const struct nb_place *x)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->peers) {
        struct nb_peer *p = peer_of(it);
        if (p->place != x)
            continue;
        nb_mark_places(f);
        kernel_unlisten(&p->ear);
        p->place = NULL;
        ws_close(&p->ws, WS_GOING_AWAY, STR("the client has connected again"));
    }
}

static void begin(struct nb_peer *p, struct kernel *k, struct str session)
{
    struct jupyter *f = p->f;
    uint64_t from = KERNEL_NOW;
    struct kernel_activity a = kernel_activity(k);
    p->begun = strcmp(a.doing, "starting") != 0;
    snprintf(p->kernel, sizeof(p->kernel), "%s", kernel_name(k));
    list_add_tail(&f->peers, &p->node);
    f->npeers++;
    if (session.n && session.n <= NB_ID) {
        struct nb_place *x = place_of(f, p->kernel, session);
        replace(f, x);
        if (x->process[0] && strcmp(x->process, kernel_process(k)) == 0)
            from = x->at;
        p->place = x;
        make_room(f);
    }
    buf_adds(&p->session, session);
    kernel_listen(&p->ear, k, from, &ears);
    nb_save_later(f);
}

void nb_on_nothing(struct stream *s) { (void)s; }
void nb_on_nobody(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

static void attach(struct req *r, struct kernel *k, bool v1, struct str session)
{
    static const struct ws_events events = {
        .on_message = on_message, .on_room = on_room, .on_close = on_close};
    static const struct ws_opts opts = {
        .role = WS_SERVER, .message_max = LIMIT_JUPYTER_IN, .dead_ms = DEAD_MS};
    static const struct stream_events no_calls = {.on_data = nb_on_nothing,
                                                  .on_end = nb_on_nobody};
    struct stream s;
    struct nb_peer *p = xnew(struct nb_peer);
    *p = (struct nb_peer){
        .f = req_arg(r), .v1 = v1, .late = BUF_INIT(LATE_MAX), .session = BUF_INIT(4096)};
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        nb_fail(r, 400, "The request cannot be upgraded");
        peer_free(p);
        return;
    }
    s.in.max = 256 << 10;
    s.out.max = LIMIT_JUPYTER_OUT + OUT_MORE + 2 * OUT_LOW;
    s.low = OUT_LOW;
    ws_start(&p->ws, &s, &opts, &events);
    begin(p, k, session);
}

void nb_get_channels(struct req *r)
{
    static const char *const protocols[] = {"v1.kernel.websocket.jupyter.org", NULL};
    struct jupyter *f = req_arg(r);
    char accept[WS_ACCEPT_SIZE];
    const char *chosen = NULL;
    struct err e = ERR_INIT;
    struct buf session = BUF_INIT(1024);
    engine_touch(f->en);
    struct kernel *k = nb_kernel_of(r);
    int status = k ? ws_check_req(r, protocols, &chosen, accept, &e) : 0;
    if (k && status) {
        nb_fail(r, status, e.text);
    } else if (k && f->npeers >= LIMIT_JUPYTER_CLIENTS) {
        nb_failf(r, 429, "%d clients are connected already", LIMIT_JUPYTER_CLIENTS);
    } else if (k) {
        req_query(r, "session_id", &session);
        req_header_add(r, "Sec-WebSocket-Accept", accept);
        if (chosen)
            req_header_add(r, "Sec-WebSocket-Protocol", chosen);
        attach(r, k, chosen != NULL, buf_str(&session));
    }
    buf_release(&session);
}
