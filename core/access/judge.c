/* SPDX-License-Identifier: MIT */
/* The one rule by which a request gets its right (access.h, door.h). */
#include "access/own.h"

#include "base/clock.h"
#include "net/addr.h"
#include "os/tcpowner.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct proof native_proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Session-API-Key"},
    {.place = PROOF_BEARER, .name = "Authorization"},
    {.place = PROOF_QUERY, .name = "api_key", .on = ROUTE_QUERY},
    {.place = PROOF_FIELD,
     .name = "X-OD-Page",
     .kind = PROOF_TOKEN,
     .cookie = LOGIN_COOKIE_PAGE,
     .on = ROUTE_PAGE},
    {.place = PROOF_COOKIE,
     .name = LOGIN_COOKIE_PAGE,
     .kind = PROOF_LOGIN,
     .on = ROUTE_COOKIE},
    {.place = PROOF_PATH, .kind = PROOF_APP, .on = ROUTE_PATH},
    {.place = PROOF_BODY, .name = "key", .on = ROUTE_LOGIN},
    {.place = PROOF_BODY, .name = "once", .kind = PROOF_ONCE, .on = ROUTE_LOGIN},
    {.place = PROOF_MESSAGE, .name = "api_key", .on = ROUTE_MESSAGE},
    {.place = PROOF_MESSAGE, .name = "page", .kind = PROOF_TOKEN, .on = ROUTE_MESSAGE},
    {.place = PROOF_END}};
const struct door door_native = {.proofs = native_proofs};

/* ---- values ---- */

void judge_grant(const struct grant *one, struct judged *out)
{
    if (!one || one->right <= out->right)
        return;
    out->right = one->right;
    out->by = (struct req_by){.login = one->kind == GRANT_LOGIN ? grant_number(one) : 0};
    snprintf(out->by.key, sizeof(out->by.key), "%s", one->key);
}

static void count_key(const struct access *a, const char *at, struct str value,
                      struct judged *out)
{
    const struct key *key = keys_find(&a->keys, at, value);
    out->wrong |= !key;
    if (!key || key->right <= out->right)
        return;
    out->right = key->right;
    out->by = (struct req_by){.login = 0};
    snprintf(out->by.key, sizeof(out->by.key), "%s", key->name);
}

void judge_value(struct access *a, const struct proof *p, const char *at,
                 struct str value, struct judged *out)
{
    const struct grant *one = NULL;
    if (!value.p || (p->empty_is_none && value.n == 0))
        return;
    out->given = true;
    if (p->kind == PROOF_KEY) {
        count_key(a, at, value, out);
    } else if (p->kind == PROOF_SECRET) {
        one = grants_find(&a->grants, GRANT_SECRET, value, at);
        out->wrong |= !one;
        judge_grant(one, out);
    } else if (p->kind == PROOF_ONCE) {
        one = grants_find(&a->grants, GRANT_ONCE, value, at);
        out->wrong |= !one;
        judge_grant(one, out);
        if (one)
            grants_end(&a->grants, one);
    }
}

/* ---- what a request has ---- */

static unsigned count_fields(const struct req *r, const char *name)
{
    const struct http_head *h = req_head(r);
    unsigned n = 0;
    for (int i = 0; i < h->nfields; i++)
        n += h->fields[i].name.n == strlen(name) &&
             strncasecmp(h->fields[i].name.p, name, strlen(name)) == 0;
    return n;
}

static void judge_field(struct access *a, const struct proof *p, const struct req *r,
                        struct judged *out)
{
    struct str bearer = str_of(p->scheme ? p->scheme : "Bearer ");
    struct str value = req_header(r, p->name);
    out->doubled |= count_fields(r, p->name) > 1;
    if (p->kind == PROOF_TOKEN) {
        judge_grant(pages_by_token(a, r, p->cookie, value), out);
        return;
    }
    if (p->place == PROOF_BEARER) {
        bool is = value.n > bearer.n && strncasecmp(value.p, bearer.p, bearer.n) == 0;
        value = is ? str_trim(str_sub(value, bearer.n, value.n)) : (struct str){0};
    }
    judge_value(a, p, req_at(r), value, out);
}

static unsigned count_parameters(struct str query, const char *name)
{
    unsigned n = 0;
    while (query.n > 0) {
        struct str one = str_cut(&query, '&');
        n += str_eq(str_cut(&one, '='), str_of(name));
    }
    return n;
}

static void judge_query(struct access *a, const struct entrance *s, const struct proof *p,
                        const struct req *r, struct judged *out)
{
    /* Not a possible key: stands for one that is too long. */
    const struct str wrong = STR("\xff");
    struct buf value = BUF_INIT(LIMIT_API_KEY_MAX), own = BUF_INIT(256);
    int got = req_query(r, p->name, &value);
    out->doubled |= count_parameters(req_head(r)->query, p->name) > 1;
    if (got != 0 && p->kind == PROOF_TOKEN) {
        judge_grant(pages_by_token(a, r, p->cookie, buf_str(&value)), out);
    } else if (got != 0 && p->kind == PROOF_DERIVED) {
        struct str key = p->derive(s->f, r, &own);
        out->given = true;
        if (key.p && value.n == own.n && hash_equal(value.p, own.p, own.n))
            count_key(a, req_at(r), key, out);
        else
            out->wrong = true;
    } else if (got != 0) {
        judge_value(a, p, req_at(r), got > 0 ? buf_str(&value) : wrong, out);
    }
    buf_release(&value);
    buf_release(&own);
}

/* An app's page has an opaque origin. */
static void judge_path(struct access *a, const struct req *r, struct judged *out)
{
    struct str origin = req_header(r, "Origin"), token;
    uint16_t port;
    const struct grant *one = NULL;
    if (!access_app_of(r, &port, &token) || !token.p)
        return;
    if (!origin.p || str_eq(origin, STR("null")) || access_is_own_origin(a, r, origin))
        one = pages_app(a, r, port, token);
    out->refused = !one;
    judge_grant(one, out);
}

static bool is_here(const struct req *r, struct addr *peer, struct addr *own)
{
    return req_is_unix(r) || (req_ends(r, peer, own) == 0 && addr_is_loopback(peer) &&
                              addr_is_loopback(own));
}

/*
 * Asks the kernel, where a proof says so. Who gives another proof is judged by that
 * alone: this is the last row of a table.
 */
static void judge_peer(const struct access *a, const struct entrance *s,
                       const struct proof *p, const struct req *r, struct judged *out)
{
    struct addr peer, own;
    uid_t uid;
    if (out->given || out->right == RIGHT_USE || req_is_unix(r) ||
        access_from_a_page(r) || !hosts_has(&a->hosts, req_header(r, "Host")) ||
        !is_here(r, &peer, &own) || peer.ss.ss_family != AF_INET)
        return;
    if (tcpowner_uid((const struct sockaddr_in *)&peer.ss,
                     (const struct sockaddr_in *)&own.ss, &uid) < 0 ||
        !p->is_user(s->f, uid))
        return;
    out->right = RIGHT_USE;
    out->by = (struct req_by){.login = 0};
}

static void judge_proof(struct access *a, const struct entrance *s, const struct proof *p,
                        const struct req *r, struct judged *out)
{
    switch (p->place) {
    case PROOF_FIELD:
    case PROOF_BEARER:
        judge_field(a, p, r, out);
        break;
    case PROOF_QUERY:
        judge_query(a, s, p, r, out);
        break;
    case PROOF_COOKIE:
        judge_grant(pages_login(a, r, p->name, NULL), out);
        break;
    case PROOF_PATH:
        judge_path(a, r, out);
        break;
    case PROOF_PEER:
        judge_peer(a, s, p, r, out);
        break;
    default: /* it comes later */
        break;
    }
}

/* ---- open routes ---- */

void entrance_init(struct access *a, struct entrance *s, const struct door *door, void *f)
{
    *s = (struct entrance){.door = door ? door : &door_native, .f = f};
    list_add_tail(&a->entrances, &s->node);
}

const struct open_row *open_find(const char *front, const struct route *t)
{
    for (const struct open_row *o = open_rows; o->front; o++) {
        if (o->methods == t->methods && strcmp(o->front, front) == 0 &&
            strcmp(o->path, t->path) == 0)
            return o;
    }
    return NULL;
}

void entrance_add(struct entrance *s, const char *front, const struct http_front *table)
{
    for (size_t i = 0; i < table->nroutes; i++) {
        const struct open_row *row = open_find(front, &table->routes[i]);
        if (!row)
            continue;
        BUG_ON(s->nopens == sizeof(s->opens) / sizeof(s->opens[0]));
        s->opens[s->nopens].route = &table->routes[i];
        s->opens[s->nopens++].row = row;
    }
}

enum open_when judge_opens(const struct entrance *s, const struct req *r)
{
    for (unsigned i = 0; i < s->nopens; i++) {
        if (s->opens[i].route == req_route(r))
            return s->opens[i].row->when;
    }
    return OPEN_NO;
}

static bool has_secret(const struct access *a, const char *at)
{
    for (unsigned i = 0; i < a->grants.n; i++) {
        const struct grant *one = &a->grants.v[i];
        if (one->kind == GRANT_SECRET && strncmp(one->at, at, strlen(one->at)) == 0)
            return true;
    }
    return false;
}

/* Is the route of r open to everybody now? */
static bool is_open(const struct access *a, const struct entrance *s, const struct req *r)
{
    enum open_when when = judge_opens(s, r);
    struct addr peer, own;
    if (when == OPEN_NO || when == OPEN_ALWAYS)
        return when == OPEN_ALWAYS;
    return !keys_any(&a->keys) && !has_secret(a, req_at(r)) &&
           (when != OPEN_LOCAL_UNTIL_KEYED || is_here(r, &peer, &own));
}

/* ---- the rule ---- */

/*
 * Does r go to the page, sent by a person who follows a link to it, or by the form or
 * script there? Only its proofs give it a right.
 */
static bool comes_to_page(const struct access *a, const struct req *r,
                          const struct judged *sum)
{
    struct str origin = req_header(r, "Origin");
    return req_marks(r, ROUTE_BROWSERS) && access_from_here(a, r) &&
           (!origin.p || str_eq(req_method(r), STR("POST")) || sum->right != RIGHT_NONE);
}

/* A listener without a key refuses every web page, and of a browser all but a few
 * requests. */
static enum refusal check_keyless(const struct access *a, const struct entrance *s,
                                  const struct req *r, const struct judged *sum)
{
    struct str host = req_header(r, "Host");
    /* A name of an attacker's that leads here is not in our certificate. */
    bool named = req_is_unix(r) || req_is_secure(r) || hosts_has(&a->hosts, host) ||
                 (s->keyless && host_is_private(host));
    if (access_from_a_page(r) && !comes_to_page(a, r, sum))
        return REFUSE_PAGE;
    /* Browsers add this field to requests to this machine; so does an agent's browser. */
    if (!req_marks(r, ROUTE_BROWSERS) && judge_opens(s, r) != OPEN_ALWAYS &&
        req_header(r, "Sec-Fetch-Site").p)
        return REFUSE_BROWSER;
    return named ? REFUSE_NOT : REFUSE_HOST;
}

/* May a page of this origin, which is not our own, use the listener? */
static bool may_page(const struct access *a, const struct entrance *s,
                     const struct req *r, struct str origin)
{
    if (access_is_own_origin(a, r, origin))
        return true;
    if (s->door->page_may)
        return s->door->page_may(s->f, r, origin);
    return a->cors[0] && s->door == &door_native && str_eq(origin, str_of(a->cors));
}

/* May the proof of r come in its body, or in the first message of its WebSocket? */
static enum refusal check_late(const struct access *a, const struct entrance *s,
                               const struct req *r, const struct judged *sum)
{
    struct str origin = req_header(r, "Origin");
    if (req_marks(r, ROUTE_LOGIN))
        return REFUSE_NOT;
    if (sum->right != RIGHT_NONE || !req_marks(r, ROUTE_MESSAGE) ||
        !req_opens_websocket(r))
        return REFUSE_MISSING;
    if (origin.p && !may_page(a, s, r, origin))
        return REFUSE_MISSING;
    return visit_has_room(a, req_fd(r)) ? REFUSE_NOT : REFUSE_CROWD;
}

/* Does our page open a WebSocket, with a person's login? Its first message has the page
 * token. */
static bool is_of_person(const struct access *a, const struct req *r)
{
    return req_marks(r, ROUTE_MESSAGE) && req_opens_websocket(r) &&
           pages_login(a, r, LOGIN_COOKIE_PAGE, NULL);
}

/* A person without the app's token is sent to the address that has it. */
static bool is_sent_to_token(const struct access *a, const struct req *r)
{
    struct str token;
    uint16_t port;
    const struct grant *one = pages_login(a, r, LOGIN_COOKIE_PAGE, NULL);
    return req_marks(r, ROUTE_PATH) && access_app_of(r, &port, &token) && !token.p &&
           str_eq(req_method(r), STR("GET")) && one && one->right == RIGHT_USE;
}

/*
 * Has a sender with less than every right, who tries another key beside the right proof,
 * done that too often? Without this, its holder could try keys without a limit.
 */
static bool tries_too_often(struct access *a, const struct judged *sum)
{
    return sum->wrong && sum->right != RIGHT_NONE && sum->right != RIGHT_USE &&
           !keys_wrong(&a->keys, clock_ms());
}

static bool is_reading(const struct req *r)
{
    return str_eq(req_method(r), STR("GET")) || str_eq(req_method(r), STR("HEAD"));
}

enum refusal access_judge(struct access *a, const struct entrance *s, struct req *r)
{
    struct judged sum = {.right = RIGHT_NONE};
    bool keyed = keys_wanted(&a->keys, req_at(r)) && !s->keyless;
    bool first = judge_opens(s, r) >
                 OPEN_ALWAYS; /* of calls that only the first may make */
    struct str origin = req_header(r, "Origin");
    for (const struct proof *p = s->door->proofs; p->place != PROOF_END; p++) {
        if ((!p->on || req_marks(r, p->on)) && (!p->reads || is_reading(r)))
            judge_proof(a, s, p, r, &sum);
    }
    if (sum.doubled || sum.refused)
        return sum.doubled ? REFUSE_DOUBLED : REFUSE_MISSING;
    if (first && origin.p && !may_page(a, s, r, origin))
        return REFUSE_PAGE;
    if (tries_too_often(a, &sum))
        return REFUSE_MANY;
    req_grant(r, sum.right, &sum.by);
    if (sum.right != RIGHT_NONE && sum.right >= req_needs(r))
        return REFUSE_NOT;
    if (sum.right == RIGHT_NONE && is_of_person(a, r))
        return REFUSE_NOT;
    enum refusal why = keyed ? REFUSE_NOT : check_keyless(a, s, r, &sum);
    bool open = !why && is_open(a, s, r);
    if (why || is_sent_to_token(a, r) || (open && keyed))
        return why;
    /* Where there is no key, each program counts as one that has it. */
    if (!keyed && (open || !first) && !req_marks(r, ROUTE_BROWSERS))
        req_grant(r, RIGHT_USE, NULL);
    else if (!open && sum.given && (keyed || first) && sum.right == RIGHT_NONE)
        return keys_wrong(&a->keys, clock_ms()) ? REFUSE_WRONG : REFUSE_MANY;
    else if (!open && (why = check_late(a, s, r, &sum)) && sum.right != RIGHT_NONE)
        return REFUSE_RIGHT;
    return why;
}

enum refusal access_judge_app(struct access *a, struct req *r, uint16_t port)
{
    struct judged sum = {.right = RIGHT_NONE};
    struct entrance here = {.door = &door_native};
    struct str token;
    for (const struct proof *p = native_proofs; p->place != PROOF_END; p++) {
        if (!p->on)
            judge_proof(a, &here, p, r, &sum);
    }
    if (!keys_wanted(&a->keys, req_at(r)))
        sum.given = false;
    judge_grant(pages_app_cookie(a, r, port), &sum);
    if (access_app_link(r, &token)) /* its token does not count */
        return REFUSE_MISSING;
    if (sum.doubled)
        return REFUSE_DOUBLED;
    if (sum.right == RIGHT_NONE && sum.given)
        return keys_wrong(&a->keys, clock_ms()) ? REFUSE_WRONG : REFUSE_MANY;
    if (tries_too_often(a, &sum))
        return REFUSE_MANY;
    if (sum.right != RIGHT_USE)
        return sum.right == RIGHT_NONE ? REFUSE_MISSING : REFUSE_RIGHT;
    req_grant(r, sum.right, &sum.by);
    return REFUSE_NOT;
}

enum late access_late(struct access *a, const struct door *door, struct req *r,
                      const char *name, struct str value)
{
    struct judged sum = {.right = RIGHT_NONE};
    for (const struct proof *p = door->proofs; p->place != PROOF_END; p++) {
        if (p->place == PROOF_BODY && strcmp(p->name, name) == 0)
            judge_value(a, p, req_at(r), value, &sum);
    }
    if (sum.right > req_right(r))
        req_grant(r, sum.right, &sum.by);
    if (sum.right != RIGHT_NONE)
        return LATE_COUNTS;
    return !keys_wanted(&a->keys, req_at(r)) || keys_wrong(&a->keys, clock_ms())
               ? LATE_WRONG
               : LATE_MANY;
}
