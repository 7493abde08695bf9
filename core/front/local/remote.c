/* SPDX-License-Identifier: MIT */
/*
 * `GET /local`: the frames of the command line for clients elsewhere, as the bytes of a
 * WebSocket's binary messages. The ends of messages have no meaning.
 *
 *   client ── WebSocket ── ws_pair ── socket pair ── struct conn
 *
 * The connection is of the same kind as that of a client at the unix socket, so every
 * request is the same action with the same answer. Each side is read only while the other
 * one has room: a client that does not read stops only its own output.
 *
 * A client that reconnects must reach the same server or none, because a request that is
 * repeated to another server would run twice. So the answer has the server's id, and a
 * request with another id is refused. The keeper holds the id, so it lasts as long as
 * everything that runs.
 */
#include "front/local/own.h"

#include "base/clock.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "http/http.h"
#include "http/ws_hello.h"
#include "http/ws_pair.h"
#include "ipc/remote.h"
#include "keeper/keeper_client.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define ID_KEY "local/server"

struct remote_link {
    struct loop *loop;
    struct ws_pair pair;
};

/* ---- the id ---- */

void local_id_load(struct engine *en, char id[LOCAL_ID_SIZE])
{
    const struct buf *known = map_get(&en->states, STR(ID_KEY));
    if (known && known->n == LOCAL_ID_SIZE - 1)
        memcpy(id, known->p, LOCAL_ID_SIZE);
}

void local_id_start(struct engine *en, char id[LOCAL_ID_SIZE])
{
    if (id[0])
        return;
    random_hex(id, LOCAL_ID_SIZE - 1);
    keeper_client_put(en->keeper, STR(ID_KEY), str_n(id, LOCAL_ID_SIZE - 1));
}

/* ---- bytes ---- */

static void on_over(struct ws_pair *p, int code, struct str reason)
{
    struct remote_link *k = container_of(p, struct remote_link, pair);
    (void)code;
    (void)reason;
    loop_bury(k->loop, k, free);
}

static void no_data(struct stream *s) { (void)s; }

static void no_end(struct stream *s, int errnum)
{
    (void)s;
    (void)errnum;
}

/* For the short time between two owners of a stream. */
static const struct stream_events no_calls = {.on_data = no_data, .on_end = no_end};

/* Joins the client's stream and fd, both of which it takes. */
static void join(struct loop *loop, struct stream *client, int fd)
{
    struct stream near;
    if (stream_open(&near, loop, fd, WS_PAIR_MESSAGE, WS_PAIR_OUT, &no_calls) < 0) {
        close(fd);
        stream_close(client);
        return;
    }
    struct remote_link *k = xnew(struct remote_link);
    k->loop = loop;
    ws_pair_start(&k->pair, client, WS_SERVER, &near, on_over);
}

/* ---- the request ---- */

static void refuse(struct req *r, int status, enum err_code code, const char *text)
{
    struct buf b = BUF_INIT(8 << 10);
    struct json *j = json_object(), *error = json_object();
    json_put_z(error, "code", err_name(code));
    json_put_z(error, "message", text);
    json_put(j, "error", error);
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, status, "application/json", &b);
}

static void fail(struct req *r, int status, const char *text)
{
    refuse(r, status, ERR_INVALID, text);
}

/* Returns 0; -1 after refusing the request. */
static int check_hello(struct req *r, char accept[WS_ACCEPT_SIZE])
{
    static const char *const protocols[] = {REMOTE_PROTOCOL, NULL};
    struct err e = ERR_INIT;
    const char *known;
    int status = ws_check_req(r, protocols, &known, accept, &e);
    if (status) {
        fail(r, status, e.text);
    } else if (!known) {
        refuse(r, 400, ERR_UNSUPPORTED,
               "this server speaks " REMOTE_PROTOCOL
               " here, and the client does not offer it: they are of different versions");
    }
    return status || !known ? -1 : 0;
}

static int check_id(struct req *r, const struct local *l)
{
    struct buf id = BUF_INIT(LOCAL_ID_SIZE);
    int got = req_query(r, "server", &id);
    bool other = got < 0 || (got > 0 && !str_eq(buf_str(&id), str_of(l->id)));
    buf_release(&id);
    if (other)
        refuse(r, 410, ERR_GONE,
               "the server that this command used has ended, with all that it ran; "
               "another one runs here now");
    return other ? -1 : 0;
}

static void get_local(struct req *r)
{
    struct local *l = req_arg(r);
    struct engine *en = fronts_engine(l->all);
    char accept[WS_ACCEPT_SIZE];
    struct stream s;
    int pair[2];
    engine_touch(en);
    if (check_hello(r, accept) < 0 || check_id(r, l) < 0)
        return;
    if (local_is_full(l)) {
        req_header_add(r, "Retry-After", "1");
        refuse(r, 503, ERR_BUSY, "too many connections");
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        struct err e;
        err_sys(&e, errno, "cannot make a connection");
        refuse(r, 503, e.code, e.text);
        return;
    }
    req_header_add(r, "Sec-WebSocket-Accept", accept);
    req_header_add(r, "Sec-WebSocket-Protocol", REMOTE_PROTOCOL);
    req_header_add(r, REMOTE_ID_FIELD, l->id);
    if (req_upgrade(r, "websocket", &s, &no_calls) < 0) {
        close(pair[0]);
        close(pair[1]);
        fail(r, 400, "a WebSocket begins with a GET of HTTP/1.1, without a body");
        return;
    }
    /* A client with the key has the rights of the server's user. */
    if (local_serve(l, pair[1], en->uid, 0) < 0)
        close(pair[1]);
    join(en->loop, &s, pair[0]);
}

static const struct param local_query[] = {
    {.name = "server",
     .type = PARAM_STRING,
     .about = "The id of the server, which a previous answer had in " REMOTE_ID_FIELD
              "; another server refuses with 410"},
    {0}};

static const struct route_answer answers[] = {
    {.status = 101, .type = "", .about = "A WebSocket of " REMOTE_PROTOCOL}, {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = REMOTE_PATH,
     .run = get_local,
     .about = "Carries the frames of the command line, od exec --server URL: a WebSocket "
              "of the protocol " REMOTE_PROTOCOL,
     .query = local_query,
     .answers = answers},
};

static const struct http_front table = {
    .routes = routes,
    .nroutes = sizeof(routes) / sizeof(routes[0]),
    .fail = fail,
};

void local_http_open(struct local *l)
{
    l->table = table;
    l->table.arg = l;
}

const struct http_front *local_http(const void *f, unsigned i)
{
    const struct local *l = f;
    return i > 0 ? NULL : l ? &l->table : &table;
}
