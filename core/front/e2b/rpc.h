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

/* Returns Connect's code for an error, such as "not_found". */
const char *e2b_rpc_code(enum err_code code);

/* ---- one request, one answer ---- */

/*
 * Returns the message of a unary request, an object, which the caller owns; NULL after
 * refusing the request.
 */
struct json *e2b_rpc_read(struct req *r);
/* Answers with the JSON text, which it takes. */
void e2b_rpc_answer(struct req *r, struct buf *take);
void e2b_rpc_answer_nothing(struct req *r); /* {} */
/* Answers {"code", "message"} with the status of the code. */
void e2b_rpc_fail(struct req *r, const char *code, const char *text);
void e2b_rpc_refuse(struct req *r,
                    const struct err *e); /* the same, with the error's code */

/* ---- members of messages ---- */

/*
 * Returns a member by its JSON name or its other name (may be NULL); null counts as
 * absent.
 */
const struct json *e2b_rpc_get(const struct json *m, const char *name, const char *other);
/*
 * Returns 0 if the member is absent, or a string, which is then in *out; -1 and sets *e.
 */
int e2b_rpc_str(const struct json *m, const char *name, const char *other,
                struct str *out, struct err *e);
int e2b_rpc_bool(const struct json *m, const char *name, const char *other, bool *out,
                 struct err *e);
/* The same for an integer from 0 to max, which may be written as a string. */
int e2b_rpc_uint(const struct json *m, const char *name, uint64_t max, uint64_t *out,
                 struct err *e);
/* The same for bytes, base64 of either alphabet, padded or not. Appends them to out. */
int e2b_rpc_bytes(const struct json *m, const char *name, struct buf *out, struct err *e);

/* ---- answers that are streams ---- */

/* Embedded in its owner, zeroed. */
struct e2b_rpc_stream {
    struct req *req; /* NULL: the answer has ended, or the client has disconnected */
    struct loop *loop;
    struct buf rest; /* owned: frames that wait for room */
    bool last;       /* the end frame is among them */
    void *owner;
    /* Called when there is room again. May be NULL. */
    void (*room)(void *owner);
    /* Called once, when the peer has disconnected or the last byte was handed over. */
    void (*over)(void *owner);
    /* Time without a message after which a keepalive message is sent; 0: none. */
    int64_t keep_ms;
    const char *keepalive; /* its JSON */
    struct timer keep;
};

/*
 * Returns the only message of a request whose answer is a stream; NULL after refusing the
 * request.
 */
struct json *e2b_rpc_stream_read(struct req *r);
/* Checks the head of a request that is a stream. Returns false if it was refused. */
bool e2b_rpc_stream_head(struct req *r);
/* Ends a stream that has not begun with an error: 200, and the error in the end frame. */
void e2b_rpc_stream_refuse(struct req *r, const char *code, const char *text);
/* Begins the answer: sends its head now. s has loop, owner, room, over. */
void e2b_rpc_stream_begin(struct e2b_rpc_stream *s, struct req *r);
/* Whether a message may be sent now. If not, room is called later. */
bool e2b_rpc_stream_room(const struct e2b_rpc_stream *s);
/* Sends a message, JSON text of at most 2 * E2B_RPC_EVENT_MAX bytes. */
void e2b_rpc_stream_send(struct e2b_rpc_stream *s, struct str message);
/* Sends the end frame, with an error if code is not NULL; over follows, maybe at once. */
void e2b_rpc_stream_end(struct e2b_rpc_stream *s, const char *code, const char *text);

/*
 * Reads Connect-Timeout-Ms of a request: milliseconds, 0: none. Returns -1 and sets *e if
 * it is malformed.
 */
int e2b_rpc_timeout(const struct req *r, int64_t *ms, struct err *e);
/* Returns Keepalive-Ping-Interval in milliseconds; its default is 90 s. */
int64_t e2b_rpc_keepalive(const struct req *r);

#endif
