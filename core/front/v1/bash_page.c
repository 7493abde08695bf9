/* SPDX-License-Identifier: MIT */
/*
 * Events as answers: pages of a search, one event, and a list of events. A long page is
 * sent in pieces.
 */
#include "front/v1/bash.h"
#include "front/v1/own.h"

#include "base/jsontext.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_MAX = 100,
    WHOLE_MAX = 256 << 10, /* a shorter answer is sent as a whole */
    HOLD_MS = 100          /* how long a first search waits for a short command's end */
};

/* ---- a list of events as an answer ---- */

struct bash_list {
    struct req *r;
    struct bash *b;
    uint64_t v[PAGE_MAX];
    unsigned n, at;
    bool nulls;      /* an event that is gone is null; if not set, it is left out */
    bool any;        /* an item has been written */
    bool begun;      /* the answer's head has been sent */
    bool ended;      /* the tail is in text */
    struct buf text; /* the bytes to send */
    struct buf tail; /* follows the items */
};

static void list_free(void *p)
{
    struct bash_list *l = p;
    buf_release(&l->text);
    buf_release(&l->tail);
    free(l);
}

static void list_bury(struct bash_list *l) { loop_bury(l->b->v->en->loop, l, list_free); }

/* Adds events until text is long enough; after the last, the tail. */
static void fill(struct bash_list *l)
{
    while (l->at < l->n && l->text.n < WHOLE_MAX) {
        uint64_t number = l->v[l->at++];
        struct str text = number == UINT64_MAX ? (struct str){NULL, 0}
                                               : bash_store_text(&l->b->store, number);
        if (!text.p && !l->nulls)
            continue;
        if (l->any)
            buf_addc(&l->text, ',');
        buf_adds(&l->text, text.p ? text : STR("null"));
        l->any = true;
    }
    if (l->at == l->n && !l->ended) {
        buf_adds(&l->text, buf_str(&l->tail));
        l->ended = true;
    }
}

static void list_send(struct bash_list *l)
{
    fill(l);
    if (!l->begun && l->ended) {
        struct req *r = l->r;
        req_answer_take(r, 200, v1_json, &l->text);
        list_bury(l);
        return;
    }
    if (!l->begun)
        req_begin(l->r, 200, v1_json, -1);
    l->begun = true;
    while (l->text.n > 0) {
        size_t sent = req_send(l->r, buf_str(&l->text));
        buf_consume(&l->text, sent);
        if (l->text.n > 0)
            return; /* on_room comes */
        fill(l);
    }
    req_end(l->r);
    list_bury(l);
}

static void on_room(struct req *r, void *owner)
{
    (void)r;
    list_send(owner);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    list_bury(owner);
}

static struct bash_list *list_new(struct req *r, struct bash *b, const char *head)
{
    struct bash_list *l = xnew(struct bash_list);
    l->r = r;
    l->b = b;
    buf_init(&l->text, BASH_TEXT_MAX + 2 * WHOLE_MAX);
    buf_init(&l->tail, 512);
    buf_addz(&l->text, head);
    return l;
}

static void list_begin(struct bash_list *l)
{
    req_own(l->r, l, on_gone);
    req_on_room(l->r, on_room);
    list_send(l);
}

/* ---- search ---- */

static const struct model_field search_fields[] = {
    {.name = "kind__eq", .type = MODEL_LITERAL, .choices = "BashCommand BashOutput"},
    {.name = "command_id__eq", .type = MODEL_UUID},
    {.name = "timestamp__gte", .type = MODEL_TIME},
    {.name = "timestamp__lt", .type = MODEL_TIME},
    {.name = "order__gt", .type = MODEL_INT},
    {.name = "sort_order", .type = MODEL_ENUM, .choices = "TIMESTAMP TIMESTAMP_DESC"},
    {.name = "page_id", .type = MODEL_STRING},
    {.name = "limit",
     .type = MODEL_INT,
     .has_gt = true,
     .gt = 0,
     .has_le = true,
     .le = PAGE_MAX},
    {.name = NULL}};
static const struct model search_model = {.fields = search_fields};

struct bash_query {
    int kind; /* enum bash_kind; -1: any */
    bool of_command;
    char id[BASH_ID + 1]; /* of the command */
    uint8_t command[BASH_ID / 2];
    uint64_t from, to; /* times; to is not included */
    int64_t after;     /* order; INT64_MIN: any */
    bool down;
    char page[160];
    unsigned limit;
};

static void read_query(const struct json *q, struct bash_query *out)
{
    struct str kind = json_str(q, "kind__eq", "");
    double from = json_num(q, "timestamp__gte", 0), to = json_num(q, "timestamp__lt", 0);
    *out = (struct bash_query){
        .kind = kind.n == 0                       ? -1
                : str_eq(kind, STR("BashOutput")) ? BASH_OUTPUT
                                                  : BASH_COMMAND,
        .of_command = json_has(q, "command_id__eq"),
        .from = from > 0 ? (uint64_t)from : 0,
        .to = json_has(q, "timestamp__lt") ? to > 0 ? (uint64_t)to : 0 : UINT64_MAX,
        .after = json_has(q, "order__gt") ? json_int(q, "order__gt", 0) : INT64_MIN,
        .down = str_eq(json_str(q, "sort_order", ""), STR("TIMESTAMP_DESC")),
        .limit = (unsigned)json_int(q, "limit", PAGE_MAX)};
    struct str id = json_str(q, "command_id__eq", ""), page = json_str(q, "page_id", "");
    if (id.n == BASH_ID)
        memcpy(out->id, id.p, BASH_ID);
    for (size_t i = 0; i + 1 < id.n; i += 2) {
        char pair[3] = {id.p[i], id.p[i + 1], 0};
        out->command[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    if (page.n < sizeof(out->page))
        memcpy(out->page, page.p, page.n);
}

/*
 * order__gt is applied before paging, so that a page is full if more events follow.
 * Within one command, orders rise with the events' numbers; after_order has found the
 * place.
 */
static bool matches(struct bash *b, const struct bash_query *q, uint64_t number)
{
    const struct bash_event *e = bash_store_at(&b->store, number);
    if (e->kind == BASH_DEAD || (q->kind >= 0 && e->kind != q->kind) || e->us < q->from ||
        e->us >= q->to)
        return false;
    if (q->of_command && (e->kind != BASH_OUTPUT ||
                          memcmp(e->command, q->command, sizeof(q->command)) != 0))
        return false;
    return e->kind != BASH_OUTPUT || q->after == INT64_MIN || q->of_command ||
           bash_store_order(&b->store, number) > q->after;
}

/* Does the page begin with this event? The page's id is the name of the event's file. */
static bool is_page(struct bash *b, const char *page, uint64_t number)
{
    struct buf name = BUF_INIT(160);
    bash_store_name(bash_store_at(&b->store, number), &name);
    bool same = strcmp(buf_z(&name), page) == 0;
    buf_release(&name);
    return same;
}

/*
 * Returns the number of the command's first output, from `first` on, whose order is
 * greater; end if there is none. Unknown orders are read from about log2(outputs) files.
 */
static uint64_t after_order(struct bash *b, const struct bash_query *q, uint64_t first,
                            uint64_t end)
{
    uint64_t *v = NULL;
    size_t n = 0, cap = 0, low = 0;
    for (; first < end; first++) {
        const struct bash_event *e = bash_store_at(&b->store, first);
        if (e->kind != BASH_OUTPUT ||
            memcmp(e->command, q->command, sizeof(q->command)) != 0)
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            v = xrealloc(v, cap, sizeof(*v));
        }
        v[n++] = first;
    }
    for (size_t high = n; low < high;) {
        size_t mid = low + (high - low) / 2;
        if (bash_store_order(&b->store, v[mid]) > q->after)
            high = mid;
        else
            low = mid + 1;
    }
    uint64_t found = low < n ? v[low] : end;
    free(v);
    return found;
}

/* Finds the first events of a search, at most limit + 1: the last one begins the next
 * page. */
static unsigned collect(struct bash *b, const struct bash_query *q, bool page,
                        uint64_t out[PAGE_MAX + 1])
{
    uint64_t first = bash_store_since(&b->store, q->from), number;
    uint64_t end = q->to == UINT64_MAX ? bash_store_end(&b->store)
                                       : bash_store_since(&b->store, q->to);
    unsigned n = 0;
    bool found = !page;
    /* Outputs follow their command. */
    if (q->of_command && bash_store_find(&b->store, q->id, &number) && number > first)
        first = number;
    if (q->of_command && q->after != INT64_MIN)
        first = after_order(b, q, first, end);
    for (uint64_t i = 0; first < end && i < end - first && n <= q->limit; i++) {
        number = q->down ? end - 1 - i : first + i;
        if (!found && !(found = is_page(b, q->page, number)))
            continue;
        if (matches(b, q, number))
            out[n++] = number;
    }
    return found ? n : collect(b, q, false, out); /* an unknown page: from the start */
}

static void answer_search(struct req *r, struct bash *b, const struct bash_query *q)
{
    uint64_t found[PAGE_MAX + 1];
    unsigned n = collect(b, q, q->page[0] != 0, found);
    struct bash_list *l = list_new(r, b, "{\"items\":[");
    l->n = n < q->limit ? n : q->limit;
    memcpy(l->v, found, l->n * sizeof(found[0]));
    buf_addz(&l->tail, "],\"next_page_id\":");
    if (n > q->limit) {
        buf_addc(&l->tail, '"');
        bash_store_name(bash_store_at(&b->store, found[q->limit]), &l->tail);
        buf_addz(&l->tail, "\"}");
    } else {
        buf_addz(&l->tail, "null}");
    }
    list_begin(l);
}

/*
 * A client polls ten times a second. Its first search for a command without output waits
 * until the command ends, but not longer than the interval of such polls.
 */
struct bash_held {
    struct bash_wait wait;
    struct req *r;
    struct bash *b;
    struct bash_query q;
    struct timer limit;
};

static void held_over(struct bash_held *h)
{
    bash_wait_stop(&h->wait);
    timer_stop(&h->limit);
    loop_bury(h->b->v->en->loop, h, free);
}

static void on_held_ended(struct bash_wait *w, uint64_t last)
{
    struct bash_held *h = container_of(w, struct bash_held, wait);
    (void)last;
    held_over(h);
    answer_search(h->r, h->b, &h->q);
}

static void on_held_late(struct timer *t)
{
    struct bash_held *h = container_of(t, struct bash_held, limit);
    held_over(h);
    answer_search(h->r, h->b, &h->q);
}

static void on_held_gone(struct req *r, void *owner)
{
    (void)r;
    held_over(owner);
}

static void hold(struct req *r, struct bash *b, const struct bash_query *q,
                 struct bash_run *run)
{
    struct bash_held *h = xnew(struct bash_held);
    h->r = r;
    h->b = b;
    h->q = *q;
    h->wait.ended = on_held_ended;
    req_own(r, h, on_held_gone);
    bash_wait_end(run, &h->wait);
    timer_begin(b->v->en->loop, &h->limit, HOLD_MS, on_held_late);
}

void bash_search(struct req *r)
{
    struct bash *b = v1_of(r)->bash;
    struct json *errors = NULL, *values = model_query(&search_model, r, &errors);
    struct bash_query q;
    if (!values) {
        model_refuse(r, errors);
        return;
    }
    read_query(values, &q);
    json_free(values);
    struct bash_run *run = q.of_command ? bash_find_run(b, q.id) : NULL;
    bool first = run && bash_is_silent(run) && q.kind == BASH_OUTPUT && !q.down &&
                 q.after == INT64_MIN && !q.page[0];
    if (first)
        hold(r, b, &q, run);
    else
        answer_search(r, b, &q);
}

/* ---- by id ---- */

/* Finds an event by an id, which may have hyphens and upper case. */
static bool find_event(struct bash *b, struct str id, uint64_t *number)
{
    static const struct model_field f = {.name = "event_id", .type = MODEL_UUID};
    struct json *errors = NULL, *v = model_path(&f, id, &errors);
    bool there = v && bash_store_find(&b->store, json_str_value(v, "").p, number);
    json_free(v);
    json_free(errors);
    return there;
}

void bash_get(struct req *r)
{
    struct bash *b = v1_of(r)->bash;
    uint64_t number;
    struct str text = {NULL, 0};
    if (find_event(b, req_param(r, "event_id"), &number))
        text = bash_store_text(&b->store, number);
    if (text.p)
        req_answer(r, 200, v1_json, text);
    else
        v1_detail(r, 404, "Not Found");
}

/* Returns the ids of a batch, from the body or repeated event_ids; NULL after refusing
 * r. */
static struct json *batch_ids(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "event_ids", .type = MODEL_STRINGS}, {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct json *errors = NULL, *ids = NULL;
    struct err e = ERR_INIT;
    if (req_body(r).n > 0) {
        struct json *body = json_parse(req_body(r), &e);
        if (!body)
            model_not_json(&errors, req_body(r), &e);
        else if (!json_is_array(body))
            model_error(&errors, "list_type", "body", NULL,
                        "Input should be a valid list", body);
        for (struct json *v = json_first(body); v && !errors; v = json_next(v)) {
            if (!json_is_string(v))
                model_error(&errors, "string_type", "body", NULL,
                            "Input should be a valid string", v);
        }
        if (!errors)
            return body;
        json_free(body);
    } else {
        struct json *q = model_query(&m, r, &errors);
        ids = json_take(q, "event_ids");
        json_free(q);
        if (!ids && !errors)
            model_error(&errors, "missing", "body", NULL, "Field required", NULL);
    }
    if (errors)
        model_refuse(r, errors);
    return ids;
}

void bash_batch(struct req *r)
{
    struct bash *b = v1_of(r)->bash;
    struct json *ids = batch_ids(r);
    if (!ids)
        return;
    if (json_count(ids) > PAGE_MAX) {
        v1_detail(r, 400, "A batch has 100 ids at most");
        json_free(ids);
        return;
    }
    struct bash_list *l = list_new(r, b, "[");
    l->nulls = true;
    buf_addz(&l->tail, "]");
    for (struct json *v = json_first(ids); v; v = json_next(v)) {
        if (!find_event(b, json_str_value(v, ""), &l->v[l->n]))
            l->v[l->n] = UINT64_MAX;
        l->n++;
    }
    json_free(ids);
    list_begin(l);
}
