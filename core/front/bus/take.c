/* SPDX-License-Identifier: MIT */
/*
 * Takes actions from their stream, as one consumer of one group: first those that were
 * delivered and not acknowledged, then new ones. A message is acknowledged once the log
 * has it. If the worker is killed in between, the message is delivered again with the
 * same client_id, so the action runs once.
 */
#include "front/bus/own.h"

#include "base/log.h"

#include <stdio.h>

static const struct str group = {"od", 2};

/* What to do with a message. */
enum verdict {
    VERDICT_DONE,  /* acknowledge it */
    VERDICT_LATER, /* stop here, and read it again */
    VERDICT_LEAVE  /* leave it to the next server, and go on */
};

static void ask_more(struct bus *b)
{
    struct take *t = &b->in;
    struct str key = str_of(b->actions_key);
    if (t->held || t->wire.state != WIRE_OPEN)
        return;
    if (t->pending)
        wire_add(&t->wire,
                 WIRE_WORDS(STR("XREADGROUP"), STR("GROUP"), group, group, STR("COUNT"),
                            STR("64"), STR("STREAMS"), key, STR("0")));
    else
        wire_add(&t->wire, WIRE_WORDS(STR("XREADGROUP"), STR("GROUP"), group, group,
                                      STR("COUNT"), STR("64"), STR("BLOCK"), STR("10000"),
                                      STR("STREAMS"), key, STR(">")));
    wire_send(&t->wire);
    wire_expect(&t->wire, BLOCK_MS + DEAD_MS);
}

/* ---- messages ---- */

static enum verdict refuse(struct bus *b, struct str id, const struct err *e)
{
    b->in.refused++;
    log_warn("bus: the message %.*s is refused: %s", (int)(id.n < 64 ? id.n : 64), id.p,
             e->text);
    return VERDICT_DONE;
}

static enum verdict take_ack(struct bus *b, struct str id, const struct json *m)
{
    struct err e = ERR_INIT;
    int64_t n = -1;
    if (json_want_int(m, "ack", &n, &e) < 0)
        return refuse(b, id, &e);
    if (n < 0) {
        err_set(&e, ERR_INVALID, "ack must be the id of an event, or 0");
        return refuse(b, id, &e);
    }
    return publish_ack(b, (uint64_t)n, &e) < 0 ? refuse(b, id, &e) : VERDICT_DONE;
}

/* Takes m. */
static enum verdict take_action(struct bus *b, struct str id, struct json *m)
{
    struct err e = ERR_INIT;
    struct action_taken taken;
    char name[ACTION_CLIENT_MAX];
    if (b->flushed) {
        json_free(m);
        return VERDICT_LEAVE;
    }
    if (!json_has(m, "client_id")) {
        snprintf(name, sizeof(name), "bus:%.64s", id.p);
        json_put_z(m, "client_id", name);
    }
    if (actions_do(b->en->actions, m, NULL, &taken, &e) < 0) {
        /* There are too many actions, or no room; the end of an action may change that.
         */
        if (e.code == ERR_LIMIT && actions_next(b->en->actions, NULL))
            return VERDICT_LATER;
        return refuse(b, id, &e);
    }
    if (taken.repeated)
        b->in.repeated++;
    else
        b->in.actions++;
    return VERDICT_DONE;
}

static enum verdict take_text(struct bus *b, struct str id, struct str text)
{
    struct err e = ERR_INIT;
    enum verdict v;
    struct json *m = json_parse(text, &e);
    engine_touch(b->en);
    if (json_has(m, "action"))
        return take_action(b, id, m);
    if (json_has(m, "ack")) {
        v = take_ack(b, id, m);
    } else {
        if (m)
            err_set(&e, ERR_INVALID, "it has neither a member \"action\" nor \"ack\"");
        v = refuse(b, id, &e);
    }
    json_free(m);
    return v;
}

/* ---- replies ---- */

/*
 * Handles one entry: [ID, [NAME, VALUE, …]], or with NIL for the list if the entry was
 * deleted.
 */
static enum verdict take_entry(struct bus *b, const struct reply *entry, bool first)
{
    const struct reply *fields = reply_at(entry, 1), *value;
    struct err e = ERR_INIT;
    struct str id = reply_text(reply_at(entry, 0));
    if (fields->kind == REPLY_NIL)
        return VERDICT_DONE;
    bool dropped = fields->cut;
    for (const struct reply *f = fields->first; f; f = f->next)
        dropped |= f->kind == REPLY_DROPPED;
    if (dropped && !first)
        return VERDICT_LATER; /* the next reply will have room for it */
    value = reply_member(fields, STR("a"));
    if (value && !dropped)
        return take_text(b, id, reply_text(value));
    err_set(&e, ERR_INVALID, dropped ? "it is too long" : "it has no field \"a\"");
    return refuse(b, id, &e);
}

static bool is_entry(const struct reply *entry)
{
    const struct reply *id = reply_at(entry, 0), *fields = reply_at(entry, 1);
    uint64_t n;
    return entry->kind == REPLY_LIST && entry->n == 2 && id->kind == REPLY_STRING &&
           reply_stream_id(id, &n) == 0 && id->text.n < 64 &&
           (fields->kind == REPLY_LIST || fields->kind == REPLY_NIL);
}

/*
 * Handles the entries of one reply. Entries that did not fit are read again: the ones
 * before them are then acknowledged and no longer pending.
 */
static void take_entries(struct bus *b, const struct reply *entries)
{
    struct take *t = &b->in;
    struct str words[3 + ACTIONS_AT_ONCE] = {STR("XACK"), str_of(b->actions_key), group};
    size_t n = 3, left = 0;
    bool dropped = entries->cut; /* the others will come again */
    for (const struct reply *m = entries->first; m && n < 3 + ACTIONS_AT_ONCE;
         m = m->next) {
        if (m->cut && m != entries->first) {
            dropped = true;
            break;
        }
        if (!is_entry(m)) {
            wire_garbage(&t->wire, "XREADGROUP");
            return;
        }
        enum verdict v = take_entry(b, m, m == entries->first);
        if (b->closed || t->wire.state != WIRE_OPEN)
            return;
        if (v == VERDICT_LATER) {
            dropped = true;
            break;
        }
        if (v == VERDICT_DONE)
            words[n++] = reply_text(reply_at(m, 0));
        else
            left++;
    }
    if (n > 3) {
        wire_add(&t->wire, words, n);
        t->acks++;
    }
    t->held = dropped && n == 3; /* none was taken: the end of an action may make room */
    t->pending = dropped || (t->pending && entries->n > 0 && left < entries->n);
}

static void on_read(struct bus *b, const struct reply *r)
{
    struct take *t = &b->in;
    const struct reply *stream = reply_at(r, 0), *entries = reply_at(stream, 1);
    if (r->kind == REPLY_ERROR) {
        bus_refused(b, &t->wire, "XREADGROUP", r);
        return;
    }
    if (r->kind == REPLY_NIL) {
        t->pending = false;
    } else if (entries && entries->kind == REPLY_LIST) {
        take_entries(b, entries);
    } else {
        wire_garbage(&t->wire, "XREADGROUP");
        return;
    }
    if (t->held)
        wire_expect(&t->wire, t->acks > 0 ? DEAD_MS : 0);
    wire_send(&t->wire);
    ask_more(b);
}

static void on_reply(struct wire *w, const struct reply *r)
{
    struct bus *b = container_of(w, struct bus, in.wire);
    struct take *t = &b->in;
    if (t->acks == 0) {
        on_read(b, r);
        return;
    }
    t->acks--;
    if (r->kind == REPLY_ERROR)
        bus_refused(b, w, "XACK", r);
    else if (r->kind != REPLY_INT)
        wire_garbage(w, "XACK");
    else if (t->held && t->acks == 0)
        wire_expect(w, 0);
}

/* ---- life ---- */

static void on_open(struct wire *w)
{
    struct bus *b = container_of(w, struct bus, in.wire);
    b->in.pending = true;
    ask_more(b);
}

static void on_gone(struct wire *w, enum bus_outcome o, const struct err *e)
{
    bus_fail(container_of(w, struct bus, in.wire), o, e);
}

static const struct wire_calls calls = {on_open, on_reply, on_gone};

/* An action has ended, so there may be room for the one that waits. */
static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *e)
{
    struct bus *b = container_of(w, struct bus, in.watch);
    (void)cause;
    (void)end;
    (void)e;
    if (!b->in.held)
        return;
    b->in.held = false;
    ask_more(b);
}

void take_init(struct bus *b)
{
    b->in.wire.loop = b->en->loop;
    b->in.wire.calls = &calls;
    b->in.watch.ended = on_ended;
    actions_watch(b->en->actions, &b->in.watch);
}

void take_begin(struct bus *b)
{
    b->in.held = false;
    b->in.acks = 0;
    bus_dial(b, &b->in.wire);
}

void take_end(struct bus *b) { wire_close(&b->in.wire); }
