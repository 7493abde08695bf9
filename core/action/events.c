/* SPDX-License-Identifier: MIT */
/*
 * The log of the event stream, and what is kept beside it.
 *
 * What a new worker cannot see in the log at once is which actions have no
 * observation yet. The keeper has a list of them, and the id that came next when the
 * list was made: what was appended behind that is read again, which is little.
 */
#include "action/native.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "setup/plugins.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * What one retention drops is at most a part of this of what may be kept. The newest
 * segment is read whole by each new worker, so it does not grow with what may be kept.
 */
enum { SEGMENTS = 16 };

enum { ANSWER_MAX = 64 << 20 }; /* of an action, before it is cut to fit an event */

static uint64_t segment_bytes(const struct json *o)
{
    uint64_t n = (uint64_t)json_int(o, "bytes", 0) / SEGMENTS;
    return n < LIMIT_EVENT_SEGMENT ? n : LIMIT_EVENT_SEGMENT;
}

static const char open_key[] = "events/open", secrets_key[] = "events/secrets",
                  starts_key[] = "events/starts";

/* ---- appending and reading ---- */

uint64_t events_append(struct events *ev, struct buf *object, struct err *e)
{
    unsigned masked = events_mask(ev, object);
    if (masked && object->n > 1) {
        buf_truncate(object, object->n - 1);
        buf_addf(object, ",\"masked\":%u}", masked);
    }
    uint64_t id = 0;
    if (buf_full(object))
        err_set(e, ERR_LIMIT, "the event is longer than %zu bytes", object->max);
    else
        id = eventlog_append(ev->log, buf_str(object), e);
    if (id == 0)
        ev->stats.refused++;
    return id;
}

int events_line(struct events *ev, uint64_t id, struct buf *out)
{
    struct event_cursor c = {.next = id};
    struct event_line line;
    size_t before = out->n;
    if (id == 0 || eventlog_read(ev->log, &c, out, 1, NULL) < 1)
        return -1;
    struct str s = str_sub(buf_str(out), before, out->n);
    if (event_line(s, &line) == EVENT_LINE_GOOD && line.id == id) {
        buf_truncate(out, before + line.n);
        return 0;
    }
    buf_truncate(out, before);
    return -1;
}

const struct batch_line *events_batch_line(struct events *ev, unsigned i)
{
    while (ev->nlines <= i) {
        struct str rest = str_sub(buf_str(&ev->batch), ev->lines_end, SIZE_MAX);
        size_t n = event_text(rest);
        if (n == rest.n)
            return NULL;
        if (ev->nlines == ev->lines_max) {
            ev->lines_max = ev->lines_max ? 2 * ev->lines_max : 16;
            ev->lines = xrealloc(ev->lines, ev->lines_max, sizeof(*ev->lines));
        }
        struct batch_line *b = &ev->lines[ev->nlines++];
        b->text = str_n(rest.p, n);
        events_look(b->text, &b->look);
        b->id = b->look.id;
        ev->lines_end += n + 1;
    }
    return &ev->lines[i];
}

bool events_batch(struct events *ev, const struct event_cursor *c)
{
    if (c->next >= ev->batch_from && c->next < ev->batch_next)
        return true;
    struct err e = ERR_INIT;
    struct event_cursor at = *c;
    buf_reset(&ev->batch);
    ev->nlines = 0;
    ev->lines_end = 0;
    ev->batch_from = ev->batch_next = at.next;
    if (eventlog_read(ev->log, &at, &ev->batch, BATCH, &e) <= 0) {
        if (e.code)
            log_warn("%s", e.text);
        return false;
    }
    ev->batch_next = at.next;
    ev->batch_after = at;
    return true;
}

/* ---- actions that are asked again ---- */

static struct known *find_known(const struct events *ev, char kind, struct str name)
{
    char key[CLIENT_ID_MAX + 3];
    if (name.n > CLIENT_ID_MAX)
        return NULL;
    int n = snprintf(key, sizeof(key), "%c/", kind);
    memcpy(key + n, name.p, name.n);
    return map_get(&ev->names, str_n(key, (size_t)n + name.n));
}

static struct str id_text(uint64_t id, char out[24])
{
    return str_n(out, (size_t)snprintf(out, 24, "%llu", (unsigned long long)id));
}

static void forget_known(struct events *ev, struct known *k)
{
    char text[24];
    list_del(&k->node);
    map_del(&ev->names, str_of(k->name));
    if (!k->end)
        map_del(&ev->ends, id_text(k->id, text));
    struct pending *p = events_pending(ev, k->id);
    if (p)
        p->known = NULL;
    free(k->name);
    free(k);
    ev->nknowns--;
}

struct known *events_know(struct events *ev, char kind, struct str name, uint64_t id)
{
    char text[24];
    struct buf b = BUF_INIT(CLIENT_ID_MAX + 3);
    struct known *k = find_known(ev, kind, name);
    if (k)
        forget_known(ev, k);
    if (ev->nknowns == KNOWN_MAX)
        forget_known(ev, list_first(&ev->knowns, struct known, node));
    k = xnew(struct known);
    buf_addf(&b, "%c/", kind);
    buf_adds(&b, name);
    k->name = buf_take(&b);
    k->id = id;
    list_add_tail(&ev->knowns, &k->node);
    map_put(&ev->names, str_of(k->name), k);
    map_put(&ev->ends, id_text(id, text), k);
    ev->nknowns++;
    return k;
}

static void known_end(struct events *ev, uint64_t cause, uint64_t end)
{
    char text[24];
    struct known *k = map_del(&ev->ends, id_text(cause, text));
    if (k)
        k->end = end;
}

/* One line of before our time. */
static void index_line(struct events *ev, struct str line)
{
    struct event_look l;
    struct buf name = BUF_INIT(CLIENT_ID_MAX);
    events_look(line, &l);
    if (l.kind == LOOK_END) {
        known_end(ev, l.cause, l.id);
    } else if (l.kind == LOOK_ACTION && l.client_id.n > 0) {
        if (events_unquote(l.client_id, &name) == 0)
            events_know(ev, 'c', buf_str(&name), l.id);
    } else if (l.kind == LOOK_ACTION &&
               str_find(str_sub(line, 0, 512), STR(",\"source\":\"http\"")) > 0) {
        events_know(ev, 'k', l.key, l.id);
    }
    buf_release(&name);
}

/* Calls fn for the lines of the ids from … to before `to`. */
static void each_line(struct events *ev, uint64_t from, uint64_t to,
                      void (*fn)(struct events *ev, struct str line))
{
    struct buf lines = BUF_INIT(LIMIT_EVENT_MAX + (256 << 10));
    struct event_cursor c = {.next = from};
    while (c.next < to && eventlog_read(ev->log, &c, &lines, 256 << 10, NULL) > 0) {
        struct str s = buf_str(&lines);
        struct event_line line;
        while (s.n > 0 && event_line(s, &line) == EVENT_LINE_GOOD && line.id < to) {
            fn(ev, str_sub(s, 0, line.n));
            s = str_sub(s, line.n, s.n);
        }
        buf_reset(&lines);
    }
    buf_release(&lines);
}

/* The names of the worker before, when the first one is asked for. */
static void index_log(struct events *ev)
{
    if (ev->indexed)
        return;
    ev->indexed = true;
    uint64_t from = ev->indexed_to > KNOWN_BACK ? ev->indexed_to - KNOWN_BACK : 1;
    each_line(ev, from, ev->indexed_to, index_line);
}

struct known *events_known(struct events *ev, char kind, struct str name)
{
    index_log(ev);
    return find_known(ev, kind, name);
}

/* ---- what has no observation yet ---- */

static void on_keep(struct task *t)
{
    struct events *ev = container_of(t, struct events, keep);
    struct buf b = BUF_INIT(32 << 10);
    struct list *it, *tmp;
    buf_addf(&b, "%llu", (unsigned long long)eventlog_next(ev->log));
    list_each (it, tmp, &ev->pendings)
        buf_addf(&b, " %llu",
                 (unsigned long long)list_entry(it, struct pending, node)->id);
    hold_put(ev->en->hold, str_of(open_key), buf_str(&b));
    buf_release(&b);
}

struct pending *events_pending(struct events *ev, uint64_t id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &ev->pendings) {
        struct pending *p = list_entry(it, struct pending, node);
        if (p->id == id)
            return p;
    }
    return NULL;
}

struct pending *events_pend(struct events *ev, uint64_t id, struct str session,
                            struct str client_id, struct known *known)
{
    struct pending *p = xnew(struct pending);
    p->id = id;
    p->known = known;
    p->since_ms = clock_ms();
    if (session.n <= V0_SESSION_MAX)
        memcpy(p->session, session.p, session.n);
    if (client_id.n > 0)
        p->client_id = xstrndup(client_id.p, client_id.n);
    list_add_tail(&ev->pendings, &p->node);
    ev->npendings++;
    task_defer(ev->en->loop, &ev->keep);
    return p;
}

static void pending_free(struct events *ev, struct pending *p)
{
    list_del(&p->node);
    ev->npendings--;
    free(p->client_id);
    free(p);
    if (ev->log)
        task_defer(ev->en->loop, &ev->keep);
}

/* ---- ends ---- */

/* {"cause":N,"session":…,"client_id":…,"output":…, without a comma at the end. */
static void put_end_head(struct buf *b, const struct pending *p, const struct v0_end *x)
{
    buf_addf(b, "{\"cause\":%llu,\"session\":", (unsigned long long)p->id);
    json_quote(b, str_of(x && x->session ? x->session : p->session));
    if (p->client_id) {
        buf_addz(b, ",\"client_id\":");
        json_quote(b, str_of(p->client_id));
    }
    if (x && x->has_output)
        buf_addf(b, ",\"output\":{\"from\":%llu,\"to\":%llu}",
                 (unsigned long long)x->from, (unsigned long long)x->to);
}

/* An error's text as an observation of V0; code NULL: V0 has none. */
static void put_error_body(struct buf *b, struct str text, int status, const char *code)
{
    buf_addz(b, ",\"observation\":\"error\",\"content\":");
    json_quote(b, text);
    buf_addz(b, ",\"message\":");
    json_quote(b, text);
    buf_addf(b, ",\"extras\":{\"error_id\":\"\",\"status\":%d", status);
    if (code)
        buf_addf(b, ",\"code\":\"%s\"", code);
    buf_addz(b, "}}");
}

/* The answer behind the head; one that is too long is cut. */
static void put_answer(struct buf *b, struct str answer, int status)
{
    struct err e = ERR_INIT;
    bool whole = answer.n > 1 && answer.n + b->n < LIMIT_EVENT_MAX - (64 << 10);
    if (status == 200 && whole) {
        buf_addc(b, ',');
        buf_adds(b, str_sub(answer, 1, answer.n));
        return;
    }
    struct json *j = json_parse(answer, &e);
    if (status != 200) {
        put_error_body(b, json_str(j, "detail", "the action failed"), status, NULL);
    } else {
        struct buf text = BUF_INIT(64 << 20);
        for (size_t most = 256 << 10; most > 64; most /= 4) {
            events_shorten(j, most);
            buf_reset(&text);
            if (json_print(&text, j) == 0 && text.n + b->n < LIMIT_EVENT_MAX - (64 << 10))
                break;
        }
        buf_addf(b, ",\"cut\":%zu,", answer.n);
        buf_adds(b, str_sub(buf_str(&text), 1, text.n));
        buf_release(&text);
    }
    json_free(j);
}

/* Takes p: it has its observation, or there is none to be had. */
static void append_end(struct events *ev, struct pending *p, struct buf *object)
{
    struct err e = ERR_INIT;
    uint64_t cause = p->id, id = events_append(ev, object, &e);
    ev->stats.observations += id > 0;
    known_end(ev, cause, id ? id : cause);
    pending_free(ev, p);
    ev->last_cause = cause;
    ev->last_end = id;
    if (id > 0) {
        waits_end(ev, cause, id);
        return;
    }
    log_error("%s", e.text);
    links_error(ev, &e, cause);
    waits_fail(ev, cause, &e);
}

void events_end(struct events *ev, struct pending *p, const struct v0_end *x)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    static const struct str nobody = STR(
        "Nobody waited for this action any more; what it runs goes on");
    put_end_head(&b, p, x);
    if (p->started) {
        ev->stats.commands++;
        ev->stats.command_ms += (uint64_t)(clock_ms() - p->since_ms);
    }
    ev->stats.errors += x->unheard || x->status != 200;
    if (x->unheard)
        put_error_body(&b, nobody, 499, NULL);
    else
        put_answer(&b, x->answer, x->status);
    append_end(ev, p, &b);
    buf_release(&b);
}

void events_end_text(struct events *ev, struct pending *p, const char *kind,
                     const char *text)
{
    struct err e = {.code = ERR_INVALID};
    if (strcmp(kind, "error") == 0) {
        snprintf(e.text, sizeof(e.text), "%s", text);
        events_end_err(ev, p, &e);
    } else {
        events_end_as(ev, p, kind, str_of(text), STR("{}"));
    }
}

void events_end_as(struct events *ev, struct pending *p, const char *kind,
                   struct str text, struct str extras)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX), answer = BUF_INIT(ANSWER_MAX);
    put_end_head(&b, p, NULL);
    buf_addf(&answer, "{\"observation\":\"%s\",\"content\":", kind);
    json_quote(&answer, text);
    buf_addz(&answer, ",\"extras\":");
    buf_adds(&answer, extras);
    buf_addc(&answer, '}');
    put_answer(&b, buf_str(&answer), 200);
    buf_release(&answer);
    append_end(ev, p, &b);
    buf_release(&b);
}

void events_end_err(struct events *ev, struct pending *p, const struct err *e)
{
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    ev->stats.errors++;
    put_end_head(&b, p, NULL);
    put_error_body(&b, str_of(e->text), 400, err_name(e->code));
    append_end(ev, p, &b);
    buf_release(&b);
}

/* ---- secrets ---- */

static void keep_secrets(struct events *ev)
{
    struct buf b = BUF_INIT(SECRETS_BYTES);
    for (unsigned i = 0; i < ev->nsecrets; i++) {
        buf_adds(&b, ev->secrets[i]);
        buf_addc(&b, '\n'); /* which no JSON string has */
    }
    hold_put(ev->en->hold, str_of(secrets_key), buf_str(&b));
    buf_release(&b);
}

int events_secret(struct events *ev, struct str value, struct err *e)
{
    int r = events_add_secret(ev, value, e);
    if (r > 0 && ev->log)
        keep_secrets(ev);
    return r < 0 ? -1 : 0;
}

/* One that nobody is there to be told of. */
static void add_own_secret(struct events *ev, struct str value, const char *what)
{
    struct err e = ERR_INIT;
    if (events_add_secret(ev, value, &e) < 0)
        log_warn("%s can be seen in events: %s", what, e.text);
}

static void load_secrets(struct events *ev)
{
    struct buf *b = map_get(&ev->en->states, str_of(secrets_key));
    struct str rest = b ? buf_str(b) : STR("");
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        struct buf token = BUF_INIT(8 * SECRET_MAX + 2), value = BUF_INIT(SECRET_MAX);
        buf_addc(&token, '"');
        buf_adds(&token, line);
        buf_addc(&token, '"');
        if (events_unquote(buf_str(&token), &value) == 0)
            add_own_secret(ev, buf_str(&value), "a secret of an action of before");
        buf_release(&token);
        buf_release(&value);
    }
}

/* ---- life ---- */

static enum eventlog_sync sync_of(struct str word)
{
    return str_eq(word, STR("none"))     ? EVENTLOG_SYNC_NONE
           : str_eq(word, STR("always")) ? EVENTLOG_SYNC_ALWAYS
                                         : EVENTLOG_SYNC_INTERVAL;
}

static void on_flows(struct task *t)
{
    flows_begin(container_of(t, struct events, flows));
}

struct events *events_open(struct engine *en, struct v0 *v0, struct keys *keys,
                           const struct json *o)
{
    struct events *ev = xnew(struct events);
    *ev = (struct events){.en = en,
                          .v0 = v0,
                          .keys = keys,
                          .front = events_bare_front,
                          .files = events_bare_files,
                          .opts = {.memory_fd = -1,
                                   .segment_bytes = segment_bytes(o),
                                   .total_bytes = (uint64_t)json_int(o, "bytes", 0),
                                   .max_age_ms = json_int(o, "age_ms", 0),
                                   .sync = sync_of(json_str(o, "fsync", "interval")),
                                   .drop_when_full = true}};
    ev->front.arg = ev->files.arg = ev;
    list_init(&ev->links);
    list_init(&ev->waits);
    list_init(&ev->pendings);
    list_init(&ev->knowns);
    list_init(&ev->natives);
    list_init(&ev->cells);
    map_init(&ev->names);
    map_init(&ev->ends);
    map_init(&ev->places);
    buf_init(&ev->batch, LIMIT_EVENT_MAX + 2 * BATCH);
    task_init(&ev->keep, on_keep);
    task_init(&ev->flows, on_flows);
    for (size_t i = 0; i < keys->n; i++)
        add_own_secret(ev, str_of(keys->v[i]), "a key of this server");
    for (struct json *v = json_first(json_get(o, "secrets")); v; v = json_next(v))
        add_own_secret(ev, json_str_value(v, ""), "a value of --secret");
    return ev;
}

const struct http_front *events_front(const struct events *ev)
{
    return ev ? &ev->front : &events_bare_front;
}

const struct http_front *events_files_front(const struct events *ev)
{
    return ev ? &ev->files : &events_bare_files;
}

/* The folder, else memory that the keeper holds on to. */
static void open_log(struct events *ev)
{
    int memory_fd = ev->opts.memory_fd;
    struct err e = ERR_INIT;
    char dir[sizeof(ev->en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/events", ev->en->state_dir);
    if (ev->en->state_dir[0] && memory_fd < 0) {
        ev->opts.dir = dir;
        ev->log = eventlog_open(ev->en->loop, &ev->opts, &e);
        ev->opts.dir = NULL;
        if (!ev->log)
            log_error("%s; events are kept in memory only, until the server ends",
                      e.text);
    }
    if (!ev->log) {
        ev->log = eventlog_open(ev->en->loop, &ev->opts, &e);
        if (ev->log && memory_fd < 0) {
            if (!ev->en->state_dir[0])
                log_warn("events are kept in memory only: there is no state directory");
            hold_keep(ev->en->hold, STR("events"), eventlog_memory_fd(ev->log));
        }
    }
    if (!ev->log) {
        log_error("cannot keep events, not even in memory: %s", e.text);
        exit(1);
    }
}

static void count_start(struct events *ev)
{
    char text[24];
    struct buf *b = map_get(&ev->en->states, str_of(starts_key));
    if (b)
        str_to_u64(buf_str(b), &ev->starts);
    hold_put(ev->en->hold, str_of(starts_key), id_text(++ev->starts, text));
}

/* Plugins have no session and no action: an observation without a cause. */
static void on_plugin(void *arg, const char *plugin, const char *kind, struct str text)
{
    struct events *ev = arg;
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    buf_addz(&b, "{\"observation\":\"plugin\",\"content\":");
    json_quote(&b, text);
    buf_addz(&b, ",\"extras\":{\"plugin\":");
    json_quote(&b, str_of(plugin));
    buf_addf(&b, ",\"kind\":\"%s\"}}", kind);
    if (!events_append(ev, &b, &e))
        log_warn("what plugin %s says is not in the event log: %s", plugin, e.text);
    buf_release(&b);
}

void events_take(struct events *ev, int memory_fd) { ev->opts.memory_fd = memory_fd; }

void events_load(struct events *ev)
{
    static const struct v0_log calls = {.begin = events_on_begin,
                                        .started = events_on_started,
                                        .end = events_on_end,
                                        .said = events_on_said,
                                        .asks = events_on_asks,
                                        .ready = events_on_ready};
    struct v0_log log = calls;
    open_log(ev);
    count_start(ev);
    load_secrets(ev);
    natives_load(ev);
    ev->indexed_to = eventlog_next(ev->log);
    ev->indexed = ev->indexed_to == 1;
    log.arg = ev;
    v0_set_log(ev->v0, &log);
    plugins_listen(ev->en->plugins, on_plugin, ev);
    /* Copied: the states are gone when they are looked at. */
    struct buf *b = map_get(&ev->en->states, str_of(open_key));
    buf_reset(&ev->batch);
    if (b)
        buf_adds(&ev->batch, buf_str(b));
}

/* ---- what the worker before left ---- */

static void on_scanned(struct events *ev, struct str line)
{
    struct event_look l;
    events_look(line, &l);
    struct pending *p = l.kind == LOOK_END ? events_pending(ev, l.cause) : NULL;
    if (p)
        pending_free(ev, p);
    else if (l.kind == LOOK_ACTION)
        events_pend(ev, l.id, l.session, STR(""), NULL);
}

void events_start(struct events *ev)
{
    struct buf kept = ev->batch;
    buf_init(&ev->batch, LIMIT_EVENT_MAX + 2 * BATCH);
    struct str rest = buf_str(&kept);
    uint64_t next = eventlog_next(ev->log), from = 0, id;
    bool new_server = rest.n == 0;
    if (str_to_u64(str_cut(&rest, ' '), &from) < 0)
        from = next > KNOWN_BACK ? next - KNOWN_BACK : 1;
    while (rest.n > 0) {
        if (str_to_u64(str_cut(&rest, ' '), &id) == 0)
            events_pend(ev, id, STR(""), STR(""), NULL);
    }
    each_line(ev, from, next, on_scanned);
    buf_release(&kept);
    /* Taken up in their order; what that appends is not looked at again. */
    uint64_t ids[ACTIONS_MAX];
    size_t n = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &ev->pendings) {
        struct pending *p = list_entry(it, struct pending, node);
        if (n < ACTIONS_MAX)
            ids[n++] = p->id;
        pending_free(ev, p);
    }
    for (size_t i = 0; i < n; i++)
        events_act_again(ev, ids[i], new_server);
    natives_loaded(ev);
    task_defer(ev->en->loop, &ev->keep);
}

bool events_on_disk(const struct events *ev) { return eventlog_memory_fd(ev->log) < 0; }
struct eventlog *events_log(struct events *ev) { return ev->log; }

uint64_t events_next(const struct events *ev) { return eventlog_next(ev->log); }

void events_close(struct events *ev)
{
    struct list *it, *tmp;
    if (ev->closed || !ev->log)
        return;
    ev->closed = true;
    list_each (it, tmp, &ev->links) {
        struct events_link *k = list_entry(it, struct events_link, node);
        if (!k->req)
            ws_close(&k->ws, WS_GOING_AWAY, STR("the server is being replaced or ends"));
    }
}
