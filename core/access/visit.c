/* SPDX-License-Identifier: MIT */
/*
 * Connections that became WebSockets, or carry one on: each is known here until it is
 * closed, so that it ends with its key, whichever front-end has it; and those that wait
 * for their proof are counted.
 */
#include "access/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/xalloc.h"
#include "http/grant.h"
#include "net/addr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STRANGERS_OF_ONE = LIMIT_WS_WITHOUT_KEY / 4, FROM_MAX = ADDR_TEXT_MAX };

struct visitor {
    struct list node;
    struct req_by by;
    bool stranger;
    bool open;               /* no proof was needed; a key that is wanted later ends it */
    char from[FROM_MAX];     /* the peer's address without its port */
    char at[KEY_AT_MAX + 1]; /* the listener */
    int fd;                  /* the stream's */
};

/* ---- strangers ---- */

static void from_of(int fd, char out[FROM_MAX])
{
    struct addr peer = {.len = sizeof(peer.ss)};
    struct buf b = BUF_INIT(FROM_MAX);
    snprintf(out, FROM_MAX, "unix");
    if (getpeername(fd, (struct sockaddr *)&peer.ss, &peer.len) < 0 ||
        addr_is_unix(&peer))
        return;
    addr_print(&peer, &b);
    snprintf(out, FROM_MAX, "%s", buf_z(&b));
    char *port = strrchr(out, ':');
    if (port)
        *port = 0;
    buf_release(&b);
}

bool visit_has_room(const struct access *a, int fd)
{
    char from[FROM_MAX];
    unsigned all = 0, same = 0;
    struct list *it, *tmp;
    from_of(fd, from);
    list_each (it, tmp, &a->visitors) {
        const struct visitor *v = list_entry(it, struct visitor, node);
        all += v->stranger;
        same += v->stranger && strcmp(v->from, from) == 0;
    }
    return all < LIMIT_WS_WITHOUT_KEY && same < STRANGERS_OF_ONE;
}

bool access_has_place(unsigned used, unsigned most, enum right right)
{
    return used < (right == RIGHT_VIEW ? most / 2 : most);
}

/* ---- connections ---- */

static void on_closing(void *arg)
{
    struct visitor *v = arg;
    list_del(&v->node);
    free(v);
}

static bool has_no_proof(const struct entrance *s, struct req *r)
{
    const struct req_by *by = req_by(r);
    return req_right(r) != RIGHT_NONE && !by->key[0] && !by->login && !s->keyless;
}

void access_upgraded(struct access *a, const struct entrance *s, struct req *r,
                     struct stream *to)
{
    const struct req_by *by = req_by(r);
    struct visitor *v = xnew(struct visitor);
    v->by = *by;
    v->stranger = req_right(r) == RIGHT_NONE && !by->login;
    v->open = has_no_proof(s, r);
    v->fd = to->io.fd;
    snprintf(v->at, sizeof(v->at), "%s", req_at(r));
    from_of(v->fd, v->from);
    list_add_tail(&a->visitors, &v->node);
    to->closing = on_closing;
    to->closing_arg = v;
}

struct wanted {
    const char *key; /* NULL: by login */
    uint64_t login;
};

static bool is_of(const struct req_by *by, const struct wanted *w)
{
    return w->key ? strcmp(by->key, w->key) == 0 : by->login == w->login;
}

static bool matches(struct req *r, void *arg) { return is_of(req_by(r), arg); }

void visit_end_all(struct access *a, const char *key, uint64_t login)
{
    struct wanted w = {key, login};
    struct list *it, *tmp;
    list_each (it, tmp, &a->visitors) {
        struct visitor *v = list_entry(it, struct visitor, node);
        if (is_of(&v->by, &w))
            shutdown(v->fd, SHUT_RDWR); /* its owner sees the end, and closes it */
    }
    list_each (it, tmp, &a->entrances) {
        struct entrance *s = list_entry(it, struct entrance, node);
        if (s->httpd)
            httpd_drop(s->httpd, matches, &w);
    }
}

struct opened {
    const struct access *a;
    const struct entrance *s;
};

static bool was_open(struct req *r, void *arg)
{
    const struct opened *o = arg;
    return has_no_proof(o->s, r) && judge_opens(o->s, r) == OPEN_NO &&
           keys_wanted(&o->a->keys, req_at(r));
}

void visit_end_keyless(struct access *a)
{
    struct list *it, *tmp;
    list_each (it, tmp, &a->visitors) {
        struct visitor *v = list_entry(it, struct visitor, node);
        if (v->open && keys_wanted(&a->keys, v->at))
            shutdown(v->fd, SHUT_RDWR);
    }
    list_each (it, tmp, &a->entrances) {
        struct opened o = {a, list_entry(it, struct entrance, node)};
        if (o.s->httpd)
            httpd_drop(o.s->httpd, was_open, &o);
    }
}

/* ---- the first message ---- */

void access_guest(struct access *a, const struct door *door, struct req *r,
                  struct guest *out)
{
    struct str token;
    char page[LOGIN_TOKEN_HEX + 1];
    const struct grant *one = pages_login(a, r, LOGIN_COOKIE_PAGE, &token);
    *out = (struct guest){.right = req_right(r), .door = door};
    snprintf(out->at, sizeof(out->at), "%s", req_at(r));
    req_by(r)->visit = ++a->visits;
    if (one && out->right == RIGHT_NONE) {
        struct judged sum = {.right = RIGHT_NONE};
        judge_grant(one, &sum);
        sum.by.visit = a->visits;
        *req_by(r) = sum.by; /* no stranger; it ends with the login */
        out->page = *one;
        pages_token(token, page);
        hash_sha256(str_of(page), out->page.hash);
    }
    out->by = *req_by(r);
}

/* Judges a page token: out->page is a login that counted at the handshake. */
static void judge_page(const struct guest *g, struct str value, struct judged *out)
{
    uint8_t hash[HASH_SHA256_SIZE];
    hash_sha256(value, hash);
    out->given = true;
    if (value.n != LOGIN_TOKEN_HEX || !hash_equal(hash, g->page.hash, sizeof(hash)) ||
        g->page.right == RIGHT_NONE)
        return;
    out->right = g->page.right;
    out->by = g->by;
}

/* Its connection is that of a holder of this key or login from now on. */
static void known(struct access *a, struct guest *g, const struct judged *sum)
{
    struct list *it, *tmp;
    uint64_t visit = g->by.visit;
    g->right = sum->right;
    g->by = sum->by;
    g->by.visit = visit;
    list_each (it, tmp, &a->visitors) {
        struct visitor *v = list_entry(it, struct visitor, node);
        if (v->by.visit != visit)
            continue;
        v->by = g->by;
        v->stranger = false;
    }
}

enum late guest_says(struct access *a, struct guest *g, const struct json *m)
{
    struct judged sum = {.right = RIGHT_NONE};
    for (const struct proof *p = g->door->proofs; p->place != PROOF_END; p++) {
        struct str value = json_str(m, p->place == PROOF_MESSAGE ? p->name : "", "");
        if (p->place != PROOF_MESSAGE || !json_has(m, p->name))
            continue;
        sum.given = true;
        if (p->kind == PROOF_TOKEN)
            judge_page(g, value, &sum);
        else
            judge_value(a, p, g->at, value, &sum);
    }
    if (sum.right == RIGHT_NONE) /* if no key was sent, this is not a wrong one */
        return !sum.given || keys_wrong(&a->keys, clock_ms()) ? LATE_WRONG : LATE_MANY;
    known(a, g, &sum);
    return LATE_COUNTS;
}
