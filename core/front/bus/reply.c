/* SPDX-License-Identifier: MIT */
#include "front/bus/reply.h"

#include "base/arena.h"
#include "base/xalloc.h"

#include <read.h>
#include <stdlib.h>

struct reply_node {
    struct reply r; /* first: what the reader's tasks point to */
    struct reply_node *last;
    unsigned depth;
};

enum { ARENA_MAX = REPLY_TEXT_MAX + REPLY_NODES_MAX * 2 * sizeof(struct reply_node) };

struct replies {
    redisReader *reader;    /* owned */
    struct arena arena;     /* of the reply that is being read, or was read last */
    struct reply_node lost; /* stands for parts that are not kept */
    size_t nodes, text;
    size_t skip;        /* bytes of a string that are still to be skipped */
    bool skipped;       /* the next string stands for the skipped one */
    bool whole;         /* the last reply was returned */
    const char *beyond; /* the limit that was exceeded; NULL: none */
};

/* ---- objects for hiredis' reader ---- */

static struct reply_node *add(const redisReadTask *t, enum reply_kind kind)
{
    struct replies *all = t->privdata;
    struct reply_node *above = t->parent ? t->parent->obj : NULL;
    unsigned depth = above ? above->depth + 1 : 0;
    if (depth > REPLY_DEPTH_MAX) {
        all->beyond = "deep";
        return NULL;
    }
    struct reply_node *n = all->nodes < REPLY_NODES_MAX && above != &all->lost
                               ? arena_get(&all->arena, sizeof(*n))
                               : NULL;
    if (!n) {
        if (above)
            above->r.cut = true;
        return &all->lost;
    }
    all->nodes++;
    n->r.kind = kind;
    n->depth = depth;
    if (above && above->last)
        above->last->r.next = &n->r;
    else if (above)
        above->r.first = &n->r;
    if (above) {
        above->last = n;
        above->r.n++;
    }
    return n;
}

static void *make_string(const redisReadTask *t, char *p, size_t n)
{
    struct replies *all = t->privdata;
    struct reply_node *node = add(t, t->type == REDIS_REPLY_ERROR    ? REPLY_ERROR
                                     : t->type == REDIS_REPLY_STATUS ? REPLY_STATUS
                                                                     : REPLY_STRING);
    bool skipped = all->skipped;
    all->skipped = false;
    if (!node || node == &all->lost)
        return node;
    char *copy = n > 0 && n <= REPLY_TEXT_MAX - all->text
                     ? arena_copy(&all->arena, str_n(p, n))
                     : NULL;
    if (skipped || (n > 0 && !copy)) {
        node->r.kind = REPLY_DROPPED;
        return node;
    }
    node->r.text = n > 0 ? str_n(copy, n) : STR("");
    all->text += n;
    return node;
}

static void *make_list(const redisReadTask *t, size_t n)
{
    (void)n;
    return add(t, REPLY_LIST);
}

static void *make_int(const redisReadTask *t, long long number)
{
    struct reply_node *node = add(t, REPLY_INT);
    struct replies *all = t->privdata;
    if (node && node != &all->lost)
        node->r.number = number;
    return node;
}

/* A type of RESP3, which was not requested. */
static void *make_double(const redisReadTask *t, double d, char *p, size_t n)
{
    (void)d;
    return make_string(t, p, n);
}

static void *make_bool(const redisReadTask *t, int b) { return make_int(t, b); }
static void *make_nil(const redisReadTask *t) { return add(t, REPLY_NIL); }
static void free_nothing(void *p) { (void)p; } /* the arena owns it */

static redisReplyObjectFunctions makers = {
    make_string, make_list, make_int, make_double, make_nil, make_bool, free_nothing};

/* ---- reading ---- */

struct replies *replies_new(void)
{
    struct replies *r = xnew(struct replies);
    r->reader = redisReaderCreateWithFunctions(&makers);
    if (!r->reader)
        xalloc_failed(sizeof(*r->reader));
    r->reader->maxelements = REPLY_LIST_MAX;
    redisReaderSetPrivdata(r->reader, r);
    arena_init(&r->arena, ARENA_MAX);
    return r;
}

void replies_free(struct replies *r)
{
    if (!r)
        return;
    redisReaderFree(r->reader);
    arena_release(&r->arena);
    free(r);
}

static int failed(const struct replies *r, struct err *e)
{
    if (r->beyond)
        return err_set(e, ERR_LIMIT, "a reply is too %s", r->beyond);
    return err_set(e, ERR_INVALID, "the answer is not one of a Redis server (%s)",
                   redisReaderGetError(r->reader));
}

/*
 * The reader would collect a string of any length before it reports it. If a string is
 * too long to be kept, the reader gets an empty one, and the bytes are skipped.
 */
static int skip_long(struct replies *r, struct err *e)
{
    static const char empty[] = "0\r\n\r\n";
    redisReader *in = r->reader;
    struct str rest = str_n(in->buf + in->pos, in->len - in->pos), digits = rest;
    uint64_t n;
    if (in->ridx < 0 || in->task[in->ridx]->type != REDIS_REPLY_STRING)
        return 0;
    digits = str_cut(&rest, '\r');
    if (!str_starts(rest, STR("\n")) || str_to_u64(digits, &n) < 0 || n <= REPLY_ITEM_MAX)
        return 0; /* the reader judges the line when it is complete */
    if (n > REPLY_BULK_MAX) {
        r->beyond = "long in one of its strings";
        return failed(r, e);
    }
    r->skip = (size_t)n + 3 -
              rest.n; /* with the newline before the string, and two bytes after it */
    r->skipped = true;
    in->pos = in->len;
    return redisReaderFeed(in, empty, sizeof(empty) - 1) == REDIS_OK ? 0 : failed(r, e);
}

int replies_feed(struct replies *r, struct str bytes, struct err *e)
{
    if (r->beyond)
        return failed(r, e);
    size_t n = bytes.n < r->skip ? bytes.n : r->skip;
    r->skip -= n;
    bytes = str_sub(bytes, n, bytes.n);
    if (redisReaderFeed(r->reader, bytes.p, bytes.n) == REDIS_OK)
        return 0;
    return failed(r, e);
}

int replies_next(struct replies *r, const struct reply **out, struct err *e)
{
    void *reply = NULL;
    if (r->whole) {
        /* Keeps the first block: many replies come at a time, most of them one word. */
        arena_back(&r->arena, (struct arena_mark){NULL, 0});
        r->nodes = r->text = 0;
        r->lost = (struct reply_node){.r = {.kind = REPLY_DROPPED}};
        r->whole = false;
    }
    if (r->beyond || redisReaderGetReply(r->reader, &reply) != REDIS_OK)
        return failed(r, e);
    if (!reply && !r->skipped) {
        if (skip_long(r, e) < 0)
            return -1;
        if (r->skipped && redisReaderGetReply(r->reader, &reply) != REDIS_OK)
            return failed(r, e);
    }
    if (reply) {
        *out = reply;
        r->whole = true;
        return 1;
    }
    if (r->reader->len - r->reader->pos > REPLY_ITEM_MAX + 64) {
        r->beyond = "long in one of its lines";
        return failed(r, e);
    }
    if (r->nodes == 0) /* nothing of the next reply is kept yet */
        arena_release(&r->arena);
    return 0;
}

/* ---- parts of a reply ---- */

const struct reply *reply_at(const struct reply *r, size_t i)
{
    const struct reply *m = r && r->kind == REPLY_LIST ? r->first : NULL;
    while (m && i-- > 0)
        m = m->next;
    return m;
}

const struct reply *reply_member(const struct reply *r, struct str name)
{
    const struct reply *m = reply_at(r, 0);
    while (m && m->next) {
        if (str_eq(reply_text(m), name))
            return m->next;
        m = m->next->next;
    }
    return NULL;
}

struct str reply_text(const struct reply *r)
{
    bool has = r && (r->kind == REPLY_STATUS || r->kind == REPLY_ERROR ||
                     r->kind == REPLY_STRING);
    return has ? r->text : STR("");
}

int reply_stream_id(const struct reply *r, uint64_t *n)
{
    struct str second = reply_text(r), first = str_cut(&second, '-');
    uint64_t ignored;
    return str_to_u64(first, n) == 0 && str_to_u64(second, &ignored) == 0 ? 0 : -1;
}
