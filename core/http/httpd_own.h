/* SPDX-License-Identifier: MIT */
/* What the files httpd*.c share. */
#ifndef OD_HTTP_HTTPD_OWN_H
#define OD_HTTP_HTTPD_OWN_H

#include "http/grant.h"

enum {
    IN_MAX = 64 << 10,      /* bytes read ahead; holds a whole head */
    OUT_MAX = 64 << 20,     /* a whole answer is queued at once */
    OUT_MARK = 256 << 10,   /* of an answer in pieces */
    DISCARD_MAX = 64 << 10, /* of an unwanted body, to keep the connection */
    LINGER_MS = 2000,       /* without a byte from the peer after its last answer */
    LINGER_MAX_MS = 30000,  /* even with bytes: some peers send all before they read */
    PARAMS_MAX = 4
};

/* What a connection waits for; each kind has one time limit, so one queue. */
enum httpd_wait {
    WAIT_NONE,
    WAIT_IDLE,
    WAIT_HEAD,
    WAIT_BODY,
    WAIT_WRITE,
    WAIT_LINGER,
    WAIT_GREET,
    WAITS
};

/* A request to be notified when an answer has arrived. */
struct receipt {
    struct list node;
    void (*fn)(void *owner, bool whole);
    void *owner;
};

struct req {
    struct httpd_conn *conn;
    struct list node;      /* in the pool */
    struct http_head head; /* points into text */
    struct buf text, path, body, fields;
    const struct http_front *front;
    const struct route *route;
    enum right right; /* of the sender */
    struct req_by by;
    struct {
        struct str name, value;
    } params[PARAMS_MAX];
    unsigned nparams;
    /* The body */
    struct http_chunks chunks;
    uint64_t left; /* of one with a length */
    size_t discarded;
    bool body_over, body_told, discard, feeding;
    size_t (*on_data)(struct req *r, struct str bytes, void *owner);
    void (*on_body_end)(struct req *r, void *owner);
    /* The answer */
    bool begun, ended, sized, chunked, head_only, close;
    const char *reason; /* borrowed until the head is written; NULL: by the status */
    bool continued;    /* 100 was sent, or the body came before it */
    uint64_t out_left; /* still missing of the announced length (sized) */
    size_t burst;      /* sent since the last on_room */
    int fd;            /* what req_answer_file sends; -1 */
    off_t fd_at;
    void (*on_room)(struct req *r, void *owner);
    void (*on_half_closed)(struct req *r, void *owner);
    void *owner;
    void (*gone)(struct req *r, void *owner);
    struct receipt *receipt; /* owned until the answer has ended */
};

struct httpd_conn {
    struct httpd *d;
    const char *at;    /* the listener's name; borrowed, may be NULL */
    struct list node;  /* of all */
    struct list queue; /* those that wait for the same event */
    int64_t since_ms;
    enum httpd_wait wait;
    struct stream stream;
    struct req *req;      /* in progress */
    struct list receipts; /* of answers that may not have arrived yet */
    struct list owing;    /* of connections with receipts */
    struct task next;
    bool closed, unix_peer;
    bool last;          /* the last answer is on its way; nothing is read */
    size_t parsed;      /* bytes of stream.in already known to be an incomplete head */
    int64_t lingers_ms; /* since when */
    uint64_t unsent;    /* when WAIT_WRITE began */
};

struct listener {
    struct list node;
    struct httpd *d;
    struct io io;
    bool unix_peer;
    const char *at;       /* borrowed, may be NULL */
    httpd_under_fn under; /* NULL: no layer */
    void *arg;            /* of under */
};

struct httpd {
    struct list node; /* of all in this process */
    struct loop *loop;
    struct httpd_config c;
    struct list listeners, conns, pool;
    unsigned nconns, pooled;
    struct list owing; /* connections with receipts */
    struct list waits[WAITS];
    unsigned greeting;   /* in WAIT_GREET */
    int64_t said_s;      /* the second in which refusals were last logged */
    unsigned said, held; /* number of those logged in it, and of those not */
    int wait_ms[WAITS];
    struct timer timer;
    struct task paused; /* accepts again when a connection has gone */
    struct timer again; /* the same if none has */
    int spare;          /* a spare descriptor, to refuse peers when none is left */
    bool draining, complained;
    void (*drained)(void *arg);
    void *drained_arg;

    time_t date_at;
    char date[32];
};

/* httpd.c */
/* Takes fd, which l accepted. Returns NULL with errno, and leaves fd, if it cannot. */
struct httpd_conn *conn_open(struct httpd *d, int fd, const struct listener *l);
void conn_wait(struct httpd_conn *c, enum httpd_wait w);
void conn_close(struct httpd_conn *c);
/* The answer is complete and queued. */
void conn_answered(struct httpd_conn *c);
/* The last answer was queued: from now on, reads only to notice the peer's end. */
void conn_finish(struct httpd_conn *c);

/* httpd_accept.c */
void accept_close(struct httpd *d);
void accept_on_paused(struct task *t);

/* httpd_request.c */
/* Handles received heads and bodies; a bounded number of them each turn. */
void conn_process(struct httpd_conn *c);
/* Answers a request that could not be parsed, as the last one on this connection. */
void conn_refuse(struct httpd_conn *c, const struct http_error *e);
void req_give_up(struct req *r, int status, const char *text);
/* Answers with an error of this server, in the form of the front. */
void req_fail(struct req *r, int status, const char *text);
/* Puts r back into the pool, or destroys it. */
void req_free(struct httpd *d, struct req *r);
void req_destroy(struct req *r);

/* httpd_answer.c */
/* Sends more, because the stream has room again. */
void answer_room(struct httpd_conn *c);
/* Finds out which answers of this connection have arrived. */
void answer_receipts(struct httpd_conn *c, bool whole);
/* Bytes of answers that the peer has not acknowledged yet. */
uint64_t answer_unsent(const struct httpd_conn *c);
/* The peer has read everything and closed its side. */
bool answer_whole(const struct httpd_conn *c);

#endif
