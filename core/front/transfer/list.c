/* SPDX-License-Identifier: MIT */
/* Lists a whole folder, page by page, in the form of a front-end. */
#include "front/transfer/transfer.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum { LIST_MAX = 32 << 20 };

struct transfer_listing {
    struct transfer_list q;
    struct sandbox_place place;
    char *root;        /* owned; NULL: none */
    struct buf out;    /* owned: the answer */
    struct json *args; /* owned */
    bool any;
    bool moved; /* it was moved to the next page */
};

static void listing_free(void *arg)
{
    struct transfer_listing *l = arg;
    if (!l->moved) {
        buf_release(&l->out);
        json_free(l->args);
        free(l->root);
        if (l->q.free)
            l->q.free(l->q.arg);
    }
    free(l);
}

static void next_page(struct req *r, struct transfer_listing *take);

static void on_page(struct req *r, void *arg, struct str result)
{
    struct transfer_listing *l = arg;
    struct err e = ERR_INIT;
    struct json *j = json_parse(result, &e);
    const struct json *cursor = json_get(j, "cursor");
    for (struct json *v = json_first(json_get(j, "entries")); v; v = json_next(v)) {
        size_t before = l->out.n;
        if (l->any)
            buf_addc(&l->out, ',');
        if (l->q.put(&l->out, v, l->q.arg))
            l->any = true;
        else
            buf_truncate(&l->out, before);
    }
    if (!cursor)
        buf_adds(&l->out, l->q.tail);
    if (!j || buf_full(&l->out)) {
        err_set(&e, ERR_LIMIT, "the list is longer than %d bytes", LIST_MAX);
        l->q.fail(r, l->q.arg, &e);
    } else if (cursor) {
        struct transfer_listing *next = xnew(struct transfer_listing);
        *next = *l;
        l->moved = true;
        json_drop(next->args, json_get(next->args, "cursor"));
        json_put(next->args, "cursor", json_copy(cursor));
        next_page(r, next);
    } else {
        req_answer_take(r, 200, l->q.type, &l->out);
    }
    json_free(j);
}

static void on_fail(struct req *r, void *arg, const struct err *e)
{
    struct transfer_listing *l = arg;
    l->q.fail(r, l->q.arg, e);
}

static void next_page(struct req *r, struct transfer_listing *take)
{
    static const struct transfer_words words = {.done = on_page, .fail = on_fail};
    struct transfer_ask a = {.en = take->q.en,
                             .verb = "list",
                             .args = take->args,
                             .place = &take->place,
                             .root = take->root,
                             .words = &words,
                             .arg = take,
                             .free = listing_free};
    transfer_look(r, &a);
}

void transfer_list(struct req *r, struct json *take_args, const struct transfer_list *q)
{
    struct transfer_listing *l = xnew(struct transfer_listing);
    *l = (struct transfer_listing){.q = *q,
                                   .place = *q->place,
                                   .root = q->root ? xstrdup(q->root) : NULL,
                                   .out = BUF_INIT(LIST_MAX),
                                   .args = take_args};
    buf_adds(&l->out, q->head);
    json_put_int(l->args, "limit", 10000);
    next_page(r, l);
}
