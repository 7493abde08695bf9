/* SPDX-License-Identifier: MIT */
/*
 * The live terminal: README.md has the protocol.
 *
 *   front.c    the route, the front-end, what goes into the log
 *   feed.c     a watched session: its output as a picture (term/picture.h) and as the
 *              newest pieces, which all viewers share; who drives
 *   viewer.c   one connection
 *   replay.c   older output for one viewer
 *   prompts.c  the commands of both, as a prompt shows them
 *   recording.c, recording_log.c   a session as a recording (recording.h)
 *
 *   session ── op ──▶ secrets hidden ──▶ picture ──▶ pieces ──▶ viewer, viewer, …
 */
#ifndef OD_FRONT_TERMINAL_OWN_H
#define OD_FRONT_TERMINAL_OWN_H

#include "action/action.h"
#include "action/log.h"
#include "engine/engine.h"
#include "front/front.h"
#include "access/access.h"
#include "http/ws.h"
#include "shell/session.h"
#include "term/picture.h"

enum {
    TERMINAL_WINDOW = 256 << 10, /* bytes that may be unacknowledged, and that are kept */
    TERMINAL_FRAME = 16 << 10,   /* bytes of a session in one frame */
    TERMINAL_INPUT = 64 << 10,   /* of one frame of a client */
    TERMINAL_REBUILD = 4 << 20,  /* bytes of kept output for a new picture */
    TERMINAL_VIEWERS = 64,
    TERMINAL_NAME = 40,     /* bytes of a viewer's name */
    TERMINAL_OUT = 8 << 20, /* a picture of the largest screen */
    TERMINAL_TOKEN = 16     /* hex digits */
};

struct terminal {
    struct engine *en;
    struct fronts *fronts;
    struct access *access;
    struct http_front front;
    struct list feeds;
    struct list strangers; /* viewers without a feed */
    unsigned nviewers; /* that have shown a key, or need none */
    unsigned nrecordings; /* sessions that are exported now */
    uint64_t next_id;
    bool closed;
};

/* What viewers get, oldest first. */
struct piece {
    struct list node;
    uint64_t end; /* the offset after it */
    enum { PIECE_BYTES, PIECE_SIZE, PIECE_GAP } kind;
    uint64_t from;  /* GAP */
    int rows, cols; /* SIZE */
    char by[24];    /* SIZE */
    size_t n;
    char bytes[];
};

struct watcher;
struct prompts;

struct feed {
    struct list node;
    struct terminal *t;
    char session[ACTION_SESSION_MAX + 1];
    struct op *op;       /* borrowed from the session; NULL: the session is gone */
    struct picture *pic; /* owned */
    struct prompts *prompts; /* owned */
    struct list pieces;  /* owned */
    size_t bytes;        /* of them */
    uint64_t at;         /* the picture has the output up to here */
    uint64_t first;      /* and from here */
    uint64_t target;     /* viewers wait until `at` reaches this */
    uint64_t split;      /* a piece ends here, for a returning viewer */
    uint64_t left_at;    /* bytes of the last output that are held back: their offset */
    size_t left;         /* and their number */
    struct timer hold;   /* ends the wait of these bytes while somebody types */
    bool release;        /* these bytes are sent, unless more arrived */
    char typed;          /* the driver's newest key, if it was one byte; else 0 */
    int rows, cols; /* of the session, as last seen */
    char size_by[24];
    struct list viewers;
    struct task task;
    struct buf state; /* owned: the state last sent to viewers */
    /* Who drives. */
    struct watcher *driver; /* NULL: nobody, or away */
    bool leased;            /* somebody drives; without driver, until `lapse` */
    char driver_id[24], driver_name[TERMINAL_NAME + 1], token[TERMINAL_TOKEN + 1];
    struct op *attached; /* borrowed */
    struct timer lapse;
};

struct replay;

struct watcher {
    struct list node; /* in feed.viewers, or terminal.strangers */
    struct terminal *t;
    struct feed *feed; /* NULL: no first message yet, or the link has ended */
    struct ws ws;
    struct guest guest;
    struct timer first; /* the time for the first message */
    char session[ACTION_SESSION_MAX + 1], id[24], name[TERMINAL_NAME + 1];
    char token[TERMINAL_TOKEN + 1];
    int rows, cols; /* the last size sent, 0: only in hello */
    bool begun, with_key, counted, over, full;
    bool live;         /* it has a picture, or continues from one */
    bool behind;       /* it needs a picture */
    bool unpainted;    /* a picture was sent and is not acknowledged */
    struct list *next; /* the next piece to send; NULL: the next new one */
    uint64_t since, sent, acked;
    int viewers;      /* the last number sent to it */
    struct buf said;  /* owned: messages that had no room yet */
    struct buf input; /* owned: input that the session had no room for yet */
    uint64_t typed;   /* bytes typed that are not logged yet */
    struct timer log;
    struct replay *replay; /* owned */
};

/* ---- front.c ---- */
extern const struct http_front terminal_bare;
/* Writes an event about a viewer's act. Adds viewer to extras, which is taken. */
void terminal_note(struct feed *f, const char *name, const char *viewer,
                   struct json *extras);
/*
 * Hides secrets in output and appends its plain form; last: nothing follows. Returns the
 * number of bytes taken, without those that may begin a secret.
 */
size_t terminal_take(struct terminal *t, struct picture *pic, struct str bytes, bool last,
                     struct buf *out);
/* Finds a secret, for picture_paint; arg: struct terminal. */
bool terminal_secret(void *arg, struct str text, size_t *at, size_t *n);
void terminal_put_u64(struct buf *out, char kind, uint64_t n);

/* ---- feed.c ---- */
/* Returns the feed of the session, and makes it if there is none. Returns NULL and sets
 * *e on errors. */
struct feed *feed_of(struct terminal *t, struct session *s, uint64_t since);
void feed_join(struct feed *f, struct watcher *v);
/* Removes the viewer; the feed ends if nobody else watches or drives. */
void feed_leave(struct feed *f, struct watcher *v);
/* Has the picture reached the place where viewers may begin? */
bool feed_ready(const struct feed *f);
struct session *feed_session(const struct feed *f);
void feed_hello(struct feed *f, struct watcher *v, struct json *hello);
/* Lists all sessions: {"sessions":[{"session","state",…}]}. The caller owns it. */
struct json *feed_list(struct terminal *t);
int feed_drive(struct feed *f, struct watcher *v, bool steal, struct err *e);
void feed_give_back(struct feed *f, const char *what);
int feed_resize(struct feed *f, struct watcher *v, int rows, int cols, struct err *e);

/* ---- viewer.c ---- */
void viewer_open(struct terminal *t, struct req *r);
void viewer_say(struct watcher *v, struct json *take);
void viewer_pump(struct watcher *v);
void viewer_typing(struct watcher *v);
/* Sends why, then closes the link. */
void viewer_bye(struct watcher *v, const char *why, int status);
void viewer_shut(struct watcher *v, enum ws_code code, struct str reason);
/* Logs the number of bytes typed. */
void viewer_log_input(struct watcher *v);

/* ---- replay.c ---- */
/* Begins to send the output from `from` up to what v has already been sent; then, if
 * wanted, a picture. */
void replay_begin(struct watcher *v, uint64_t from, bool picture);
void replay_pump(struct watcher *v);
void replay_end(struct watcher *v);

#endif
