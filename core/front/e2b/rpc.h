/* SPDX-License-Identifier: MIT */
/*
 * Connect over HTTP/1.1 with the JSON codec (connectrpc.com/docs/protocol): requests as
 * objects, answers, streams of messages, and errors by their code.
 *
 * Names in messages are lowerCamelCase or those of the .proto file (ProtoJSON); unknown
 * members are ignored. null is the same as an absent member.
 */
#ifndef OD_FRONT_E2B_RPC_H
#define OD_FRONT_E2B_RPC_H

#include "base/json.h"
#include "http/httpd.h"
#include "io/loop.h"

enum {
    E2B_RPC_BODY_MAX = (8 << 20) + 5, /* of a request: one message */
    E2B_RPC_EVENT_MAX = 64 << 10      /* of a message that a stream sends */
};

/* The code of an error, as "not_found". */
const char *e2b_rpc_code(enum err_code code);

/* ---- one request, one answer ---- */

/*
 * The message of a unary request, an object, the caller's. NULL: the request was refused
 * and answered.
 */
struct json *e2b_rpc_read(struct req *r);
/* Answers with the JSON text; takes it. */
void e2b_rpc_answer(struct req *r, struct buf *take);
void e2b_rpc_answer_nothing(struct req *r); /* {} */
/* Answers {"code", "message"} with the status of the code. */
void e2b_rpc_fail(struct req *r, const char *code, const char *text);
void e2b_rpc_refuse(struct req *r,
                    const struct err *e); /* the same by the error's code */

/* ---- members of messages ---- */

/* Member by its JSON name or its other name (may be NULL); null counts as absent. */
const struct json *e2b_rpc_get(const struct json *m, const char *name, const char *other);
/* Returns 0: absent, or a string in *out; -1 and sets *e. */
int e2b_rpc_str(const struct json *m, const char *name, const char *other,
                struct str *out, struct err *e);
int e2b_rpc_bool(const struct json *m, const char *name, const char *other, bool *out,
                 struct err *e);
/* An integer from 0 to max, also as a string. */
int e2b_rpc_uint(const struct json *m, const char *name, uint64_t max, uint64_t *out,
                 struct err *e);
/* bytes: base64 of either alphabet, padded or not, which are appended to out. */
int e2b_rpc_bytes(const struct json *m, const char *name, struct buf *out, struct err *e);

/* ---- answers that are streams ---- */

/* Embedded in its owner, zeroed. */
struct e2b_rpc_stream {
    struct req *req; /* NULL: the answer is over, or the client has disconnected */
    struct loop *loop;
    struct buf rest; /* owned: frames that wait for room */
    bool last;       /* the end frame is among them */
    void *owner;
    /* There is room again. May be NULL. */
    void (*room)(void *owner);
    /* The peer went, or the last byte of the answer was handed over: once. */
    void (*over)(void *owner);
    /* A keepalive message is sent after so long without a message; 0: none. */
    int64_t keep_ms;
    const char *keepalive; /* its JSON */
    struct timer keep;
};

/*
 * The only message of a request whose answer is a stream. NULL: the request was
 * refused and answered.
 */
struct json *e2b_rpc_stream_read(struct req *r);
/* Checks the head of a request that is a stream. Returns false if it was refused. */
bool e2b_rpc_stream_head(struct req *r);
/* Ends a stream that has not begun with an error: 200, and the error in the end frame. */
void e2b_rpc_stream_refuse(struct req *r, const char *code, const char *text);
/* Begins the answer: its head goes out now. s has loop, owner, room, over. */
void e2b_rpc_stream_begin(struct e2b_rpc_stream *s, struct req *r);
/* May a message be sent? If not, room is called later. */
bool e2b_rpc_stream_room(const struct e2b_rpc_stream *s);
/* Sends a message, JSON text of at most 2 * E2B_RPC_EVENT_MAX bytes. */
void e2b_rpc_stream_send(struct e2b_rpc_stream *s, struct str message);
/* Sends the end frame, with an error if code is not NULL; over follows, maybe at once. */
void e2b_rpc_stream_end(struct e2b_rpc_stream *s, const char *code, const char *text);

/* Connect-Timeout-Ms of a request: milliseconds, 0: none. -1 and *e: malformed. */
int e2b_rpc_timeout(const struct req *r, int64_t *ms, struct err *e);
/* Keepalive-Ping-Interval in milliseconds; its default is 90 s. */
int64_t e2b_rpc_keepalive(const struct req *r);

#endif
