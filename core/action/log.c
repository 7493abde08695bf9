/* SPDX-License-Identifier: MIT */
/* The log of actions and observations, searches in it, and secrets. */
#include "action/outside.h"
#include "action/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_KEPT = 64 << 10 /* the memory of a longer line is given back */
};

static const char secrets_key[] = "events/secrets";

/* ---- appending and reading ---- */

struct buf *log_begin(struct actions *all, size_t max)
{
    buf_reset(&all->line);
    all->line.max = max;
    return &all->line;
}

void log_done(struct actions *all)
{
    if (all->line.cap > LINE_KEPT)
        buf_release(&all->line);
}

int log_mask(struct actions *all, struct buf *object, struct err *e)
{
    unsigned masked = actions_mask(all, object);
    if (masked && object->n > 1) {
        buf_truncate(object, object->n - 1);
        buf_addf(object, ",\"masked\":%u}", masked);
    }
    if (!buf_full(object))
        return 0;
    all->stats.refused++;
    return err_set(e, ERR_LIMIT, "the event is longer than %zu bytes", object->max);
}

uint64_t log_write(struct actions *all, struct str object, struct err *e)
{
    ASSERT(all->joined.n == 0); /* they come first, by actions_commit */
    group_write_ends(all);
    uint64_t id = eventlog_append(all->log, object, e);
    all->en->disk_left = eventlog_left(all->log);
    all->stats.refused += id == 0;
    return id;
}

uint64_t log_append(struct actions *all, struct buf *object, struct err *e)
{
    return log_mask(all, object, e) < 0 ? 0 : log_write(all, buf_str(object), e);
}

int actions_line(struct actions *all, uint64_t id, struct buf *out)
{
    struct event_cursor c = {.next = id};
    struct event_line line;
    size_t before = out->n;
    if (id == 0 || eventlog_read(all->log, &c, out, 1, NULL) < 1)
        return -1;
    struct str s = str_sub(buf_str(out), before, out->n);
    if (event_line(s, &line) == EVENT_LINE_GOOD && line.id == id) {
        buf_truncate(out, before + line.n);
        return 0;
    }
    buf_truncate(out, before);
    return -1;
}

int actions_error(const struct json *observation, struct err *e)
{
    struct str text = json_str(observation, "content", "");
    const struct json *extras = json_get(observation, "extras");
    if (!str_eq(json_str(observation, "observation", ""), STR("error")))
        return 0;
    return err_set(e, err_from_name(json_str(extras, "code", "").p), "%.*s",
                   (int)utf8_cut(text, text.n < 500 ? text.n : 500), text.p);
}

struct json *actions_observation(struct actions *all, uint64_t end,
                                 const struct err *lost, struct err *e)
{
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct json *j = NULL;
    if (actions_line(all, end, &line) == 0)
        j = json_parse(buf_str(&line), e);
    else if (lost && lost->code)
        *e = *lost;
    else
        err_set(e, ERR_GONE, "the observation is no longer kept");
    buf_release(&line);
    if (!j || actions_error(j, e) == 0)
        return j;
    json_free(j);
    return NULL;
}

const struct batch_line *actions_batch_line(struct actions *all, unsigned i)
{
    while (all->nlines <= i) {
        struct str rest = str_sub(buf_str(&all->batch), all->lines_end, SIZE_MAX);
        size_t n = event_text(rest);
        if (n == rest.n)
            return NULL;
        if (all->nlines == all->lines_max) {
            all->lines_max = all->lines_max ? 2 * all->lines_max : 16;
            all->lines = xrealloc(all->lines, all->lines_max, sizeof(*all->lines));
        }
        struct batch_line *b = &all->lines[all->nlines++];
        b->text = str_n(rest.p, n);
        event_members(b->text, &b->members);
        b->id = b->members.id;
        all->lines_end += n + 1;
    }
    return &all->lines[i];
}

bool actions_batch(struct actions *all, const struct event_cursor *c)
{
    if (c->next >= all->batch_from && c->next < all->batch_next)
        return true;
    struct err e = ERR_INIT;
    struct event_cursor at = *c;
    buf_reset(&all->batch);
    all->nlines = 0;
    all->lines_end = 0;
    all->batch_from = all->batch_next = at.next;
    if (eventlog_read(all->log, &at, &all->batch, BATCH, &e) <= 0) {
        if (e.code)
            log_warn("%s", e.text);
        return false;
    }
    all->batch_next = at.next;
    all->batch_after = at;
    return true;
}

/* ---- repeated requests ---- */

static struct known *look_up(const struct actions *all, char kind, struct str name)
{
    char key[ACTION_CLIENT_MAX + 2] = {kind, '/'};
    if (name.n > ACTION_CLIENT_MAX)
        return NULL;
    memcpy(key + 2, name.p, name.n);
    return map_get(&all->names, str_n(key, 2 + name.n));
}

static struct str id_text(uint64_t id, char out[STR_U64_MAX])
{
    return str_n(out, str_from_u64(out, id));
}

static void forget_known(struct actions *all, struct known *k)
{
    char text[STR_U64_MAX];
    list_del(&k->node);
    map_del(&all->names, str_of(k->name));
    if (!k->end)
        map_del(&all->ends, id_text(k->id, text));
    struct action *a = actions_find(all, k->id);
    if (a)
        a->known = NULL;
    free(k->name);
    free(k);
    all->nknowns--;
}

struct known *known_add(struct actions *all, char kind, struct str name, uint64_t id)
{
    char text[STR_U64_MAX];
    struct buf b = BUF_INIT(ACTION_CLIENT_MAX + 3);
    struct known *k = look_up(all, kind, name);
    if (k)
        forget_known(all, k);
    if (all->nknowns == KNOWN_MAX)
        forget_known(all, list_first(&all->knowns, struct known, node));
    k = xnew(struct known);
    buf_addf(&b, "%c/", kind);
    buf_adds(&b, name);
    k->name = buf_take(&b);
    k->id = id;
    list_add_tail(&all->knowns, &k->node);
    map_put(&all->names, str_of(k->name), k);
    map_put(&all->ends, id_text(id, text), k);
    all->nknowns++;
    return k;
}

void known_end(struct actions *all, uint64_t cause, uint64_t end)
{
    char text[STR_U64_MAX];
    struct known *k = map_del(&all->ends, id_text(cause, text));
    if (k)
        k->end = end;
}

static const char *const sources[] = {ACTION_SOURCES};

bool log_is_source(struct str name)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (str_eq(name, str_of(sources[i])))
            return true;
    }
    return str_eq(name, STR(ACTION_SOURCE_EXEC));
}

const char *log_source(struct str line)
{
    struct str head = str_sub(line, 0, 512);
    char member[64];
    if (str_find(head, STR(",\"source\":\"" ACTION_SOURCE_EXEC "\",\"uid\":")) > 0)
        return ACTION_SOURCE_EXEC;
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        snprintf(member, sizeof(member), ",\"source\":\"%s\"", sources[i]);
        if (str_find(head, str_of(member)) > 0)
            return sources[i];
    }
    bool v0 = str_find(head, STR(",\"source\":\"" ACTION_SOURCE_V0 "\"")) > 0 ||
              str_find(head, STR(",\"source\":\"http\"")) > 0; /* in earlier logs */
    return v0 ? ACTION_SOURCE_V0 : NULL;
}

/* Adds the names from a line of an earlier worker. */
static void index_line(void *arg, struct str line)
{
    struct actions *all = arg;
    struct event_members l;
    struct buf name = BUF_INIT(ACTION_CLIENT_MAX);
    event_members(line, &l);
    if (l.kind == EVENT_END) {
        known_end(all, l.cause, l.id);
    } else if (l.kind == EVENT_ACTION && l.client_id.n > 0) {
        if (event_unquote(l.client_id, &name) == 0)
            known_add(all, 'c', buf_str(&name), l.id);
    } else if (l.kind == EVENT_ACTION && log_source(line)) {
        known_add(all, 'k', l.key, l.id);
    }
    buf_release(&name);
}

void log_each(struct actions *all, uint64_t from, uint64_t to,
              void (*fn)(void *arg, struct str line), void *arg)
{
    struct buf lines = BUF_INIT(LIMIT_EVENT_MAX + (256 << 10));
    struct event_cursor c = {.next = from};
    while (c.next < to && eventlog_read(all->log, &c, &lines, 256 << 10, NULL) > 0) {
        struct str s = buf_str(&lines);
        struct event_line line;
        while (s.n > 0 && event_line(s, &line) == EVENT_LINE_GOOD && line.id < to) {
            fn(arg, str_sub(s, 0, line.n));
            s = str_sub(s, line.n, s.n);
        }
        buf_reset(&lines);
    }
    buf_release(&lines);
}

/* Reads the names that earlier workers logged, at the first search for a name. */
static void index_log(struct actions *all)
{
    if (all->indexed)
        return;
    all->indexed = true;
    uint64_t from = all->indexed_to > KNOWN_BACK ? all->indexed_to - KNOWN_BACK : 1;
    log_each(all, from, all->indexed_to, index_line, all);
}

struct known *known_find(struct actions *all, char kind, struct str name)
{
    index_log(all);
    return look_up(all, kind, name);
}

/* ---- ends ---- */

/* {"cause":N,"session":…,"client_id":…,"output":…, without a comma at the end. */
static void put_end_head(struct buf *b, const struct action *a,
                         const struct action_result *r)
{
    buf_addf(b, "{\"cause\":%llu,\"session\":", (unsigned long long)a->id);
    json_quote(b, str_of(r->output_of ? r->output_of : a->session));
    if (a->client_id) {
        buf_addz(b, ",\"client_id\":");
        json_quote(b, str_of(a->client_id));
    }
    if (r->has_output)
        buf_addf(b, ",\"output\":{\"from\":%llu,\"to\":%llu}",
                 (unsigned long long)r->from, (unsigned long long)r->to);
    uint64_t left = eventlog_left(a->all->log);
    if (left != UINT64_MAX)
        buf_addf(b, ",\"disk_full\":{\"left\":%llu}", (unsigned long long)left);
}

/* code: a name of base/errcodes.def, or NULL. */
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

/* The words of a list as one text. */
static void words_of(const struct json *v, struct buf *text)
{
    for (const struct json *w = json_first(v); w; w = json_next(w))
        buf_addf(text, "%s%.*s", text->n ? " " : "", STR_ARG(json_str_value(w, "")));
}

static size_t hide_text(struct json *j, const char *name)
{
    const struct json *v = json_get(j, name);
    struct buf text = BUF_INIT(ANSWER_MAX);
    if (json_is_array(v))
        words_of(v, &text);
    else if (json_is_string(v))
        buf_adds(&text, json_str_value(v, ""));
    size_t hidden = text.n;
    if (hidden > 0) {
        bool words = json_is_array(v);
        outside_put_sum(j, buf_str(&text));
        if (words)
            json_put(j, name, json_array());
        else
            json_put_z(j, name, "");
    }
    buf_release(&text);
    return hidden;
}

/* Values of variables are never in the log, because many of them are keys. */
static size_t hide_env(struct json *j)
{
    const struct json *env = json_get(j, "env");
    size_t hidden = 0;
    if (!json_is_object(env))
        return 0;
    struct json *names = json_array();
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        json_push_str(names, str_of(json_name(v)));
        hidden += 1 + json_str_value(v, "").n;
    }
    json_put(j, "env", names);
    return hidden;
}

/* Replaces what was typed where nothing is shown. */
static size_t hide_typed(struct json *j)
{
    static const char *const names[] = {"text", "base64", "command"};
    size_t hidden = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = json_str(j, names[i], "").n;
        hidden += n;
        if (n > 0)
            json_put_str(j, names[i], log_hidden);
    }
    return hidden;
}

size_t log_hide(const struct actions *all, struct json *j, bool unshown)
{
    static const char *const names[] = {"command", "code", "argv"};
    size_t hidden = hide_env(j) + (unshown ? hide_typed(j) : 0);
    bool quiet = all->terse || json_bool(j, "silent", false);
    for (size_t i = 0; quiet && i < sizeof(names) / sizeof(names[0]); i++)
        hidden += hide_text(j, names[i]);
    return hidden;
}

/* Hides texts of commands that V0's observation repeats from its action. */
static void hide_repeated(const struct action *a, struct buf *answer)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(buf_str(answer), &e);
    if (log_hide(a->all, json_get(j, "extras"), a->unshown) > 0) {
        json_drop(j, json_get(j, "message"));
        buf_reset(answer);
        json_print(answer, j);
    }
    json_free(j);
}

/*
 * Joins the answer, an object that begins at `at`, to the head before it. An answer that
 * is too long, also for a full disk, is cut.
 */
static void join_answer(struct buf *b, size_t at, size_t most_of_event)
{
    const size_t limit = most_of_event < LIMIT_EVENT_MAX ? most_of_event
                                                         : LIMIT_EVENT_MAX - (64 << 10);
    struct err e = ERR_INIT;
    size_t whole = b->n - at;
    if (buf_full(b))
        return;
    if (whole > 1 && b->n < limit) {
        b->p[at] = ',';
        return;
    }
    struct json *j = json_parse(str_sub(buf_str(b), at, whole), &e);
    struct buf text = BUF_INIT(ANSWER_MAX);
    buf_truncate(b, at);
    for (size_t most = 256 << 10; most > 64; most /= 4) {
        event_shorten(j, most);
        buf_reset(&text);
        if (json_print(&text, j) == 0 && text.n + b->n < limit)
            break;
    }
    buf_addf(b, ",\"cut\":%zu,", whole);
    buf_adds(b, str_sub(buf_str(&text), 1, text.n));
    buf_release(&text);
    json_free(j);
}

/* Appends the body of a foreign kind. */
static void put_body(struct buf *b, const struct action *a, struct str body)
{
    struct buf less = BUF_INIT(ANSWER_MAX);
    size_t at = b->n;
    bool hides = a->all->terse || a->unshown;
    if (hides) {
        buf_adds(&less, body);
        hide_repeated(a, &less);
    }
    buf_adds(b, hides ? buf_str(&less) : body);
    buf_release(&less);
    join_answer(b, at, eventlog_most(a->all->log));
}

/* {"observation": its kind, "content": …, "extras": …} */
static void put_result(struct buf *b, const struct action *a,
                       const struct action_result *r)
{
    size_t at = b->n;
    buf_addc(b, '{');
    if (r->has_exit)
        buf_addf(b, "\"exit_code\":%d,", r->exit_code);
    if (r->waiting) {
        buf_addz(b, "\"waiting\":");
        json_print(b, r->waiting);
        buf_addc(b, ',');
    }
    buf_addf(b, "\"observation\":\"%s\",\"content\":", a->kind->name);
    json_quote(b, r->text);
    buf_addz(b, ",\"extras\":");
    if (r->extras)
        json_print(b, r->extras);
    else
        buf_adds(b, r->printed.n ? r->printed : STR("{}"));
    buf_addc(b, '}');
    join_answer(b, at, eventlog_most(a->all->log));
}

/* Of a foreign kind: {"detail": …} */
static void put_detail(struct buf *b, struct str body, int status)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(body, &e);
    put_error_body(b, json_str(j, "detail", "the action failed"), status, NULL);
    json_free(j);
}

bool log_put_end(struct buf *b, const struct action *a, const struct action_result *r)
{
    static const struct str nobody = STR(
        "The caller of this action is gone; its work goes on");
    bool failed = r->error || r->unheard || (r->status && r->status != 200);
    put_end_head(b, a, r);
    if (r->error)
        put_error_body(b, str_of(r->error->text), 400, err_name(r->error->code));
    else if (r->unheard)
        put_error_body(b, nobody, 499, NULL);
    else if (failed)
        put_detail(b, r->body, r->status);
    else if (r->body.n > 0)
        put_body(b, a, r->body);
    else
        put_result(b, a, r);
    return failed;
}

/* ---- secrets ---- */

static void keep_secrets(struct actions *all)
{
    struct buf b = BUF_INIT(SECRETS_BYTES);
    for (unsigned i = 0; i < all->nsecrets; i++) {
        buf_adds(&b, all->secrets[i]);
        buf_addc(&b, '\n'); /* separates: a JSON string has none */
    }
    keeper_client_put(all->en->keeper, str_of(secrets_key), buf_str(&b));
    buf_release(&b);
}

int actions_secret(struct actions *all, struct str value, struct err *e)
{
    int r = actions_add_secret(all, value, e);
    if (r > 0 && all->log)
        keep_secrets(all);
    return r < 0 ? -1 : 0;
}

void actions_own_secret(struct actions *all, struct str value, const char *what)
{
    struct err e = ERR_INIT;
    if (actions_add_secret(all, value, &e) < 0)
        log_warn("%s can be seen in events: %s", what, e.text);
}

void secrets_load(struct actions *all)
{
    struct buf *b = map_get(&all->en->states, str_of(secrets_key));
    struct str rest = b ? buf_str(b) : STR("");
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        struct buf token = BUF_INIT(8 * SECRET_MAX + 2), value = BUF_INIT(SECRET_MAX);
        buf_addc(&token, '"');
        buf_adds(&token, line);
        buf_addc(&token, '"');
        if (event_unquote(buf_str(&token), &value) == 0)
            actions_own_secret(all, buf_str(&value), "a secret of an earlier action");
        buf_release(&token);
        buf_release(&value);
    }
}

/* ---- for readers ---- */

bool actions_on_disk(const struct actions *all)
{
    return eventlog_memory_fd(all->log) < 0;
}

struct eventlog *actions_log(const struct actions *all) { return all->log; }
uint64_t actions_next_id(const struct actions *all) { return eventlog_next(all->log); }
size_t actions_batch_bytes(const struct actions *all) { return all->batch.n; }

struct event_cursor actions_batch_after(const struct actions *all)
{
    return all->batch_after;
}

void log_open(struct actions *all)
{
    int memory_fd = all->opts.memory_fd;
    struct err e = ERR_INIT;
    char dir[sizeof(all->en->state_dir) + 8];
    snprintf(dir, sizeof(dir), "%s/events", all->en->state_dir);
    if (all->en->state_dir[0] && memory_fd < 0) {
        all->opts.dir = dir;
        all->log = eventlog_open(all->en->loop, &all->opts, &e);
        all->opts.dir = NULL;
        if (!all->log)
            log_error("%s; events are kept in memory only, until the server ends",
                      e.text);
    }
    if (!all->log) {
        all->log = eventlog_open(all->en->loop, &all->opts, &e);
        if (all->log && memory_fd < 0) {
            if (!all->en->state_dir[0])
                log_warn("events are kept in memory only: there is no state directory");
            keeper_client_keep(all->en->keeper, STR("events"),
                               eventlog_memory_fd(all->log));
        }
    }
    if (!all->log) {
        log_error("cannot keep events, not even in memory: %s", e.text);
        exit(1);
    }
}
