/* SPDX-License-Identifier: MIT */
/*
 * Commands over HTTP (openhands-agent-server bash_service.py): each is an action
 * `process` of /bin/sh -c, and becomes events, which are kept and can be searched:
 *
 *   BashCommand   what was asked, when it came
 *   BashOutput    its output, by number; the last one has the exit code
 *
 * A command's state is at the keeper as long as it runs, and its process' output in the
 * spool, so the next worker goes on with it and its events are written once.
 *
 * Ids are 32 lower-case hex digits. Times are microseconds since 1970, and no two events
 * have the same.
 */
#ifndef OD_FRONT_V1_BASH_H
#define OD_FRONT_V1_BASH_H

#include "action/action.h"
#include "base/buf.h"
#include "base/map.h"
#include "io/loop.h"

struct bash;
struct bash_run;
struct model; /* front/model/model.h */
struct req;   /* http/httpd.h */
struct v1;

enum {
    BASH_ID = 32,
    BASH_ORDER_UNKNOWN = -1,
    BASH_CHUNK = 1 << 20, /* characters of one stream in one event */
    BASH_EVENTS_MAX = 100000,
    BASH_CACHED_MAX = 4 << 20, /* bytes of the newest events that no search reads again */
    BASH_TEXT_MAX = 16 << 20, /* bytes of an event: two streams, every byte escaped */
    BASH_LINKS_MAX = 50
};

enum bash_kind { BASH_COMMAND, BASH_OUTPUT, BASH_DEAD };

/* ---- bash_store.c: the events ---- */

/* One event of the index; the newest is the last. */
struct bash_event {
    uint64_t us;
    uint8_t id[BASH_ID / 2], command[BASH_ID / 2]; /* of a command both are its id */
    int64_t order;                                 /* of an output; see _UNKNOWN */
    char *text; /* owned: its JSON; NULL: only its file has it */
    uint32_t bytes;
    uint8_t kind; /* enum bash_kind; DEAD: its file is gone */
    bool filed;   /* it has a file, and text may be dropped */
};

struct bash_store {
    char *dir;            /* owned; "": in memory */
    struct bash_event *v; /* owned */
    size_t n, cap, start; /* v[start] … are those that are kept */
    uint64_t base;        /* number of v[0]; numbers go on forever */
    struct map by_id;     /* id as 16 bytes: its number + 1 */
    uint64_t last_us;
    uint64_t bytes;       /* of all */
    size_t in_memory;     /* of those that have no file */
    size_t cached;        /* of the newest, which have one and their text is kept */
    uint64_t cached_from; /* the number of the oldest that may be */
    struct buf kept;      /* text of the event that was read last, for several links */
    uint64_t kept_number; /* its number + 1; 0: none */
};

/* dir: made when it is needed; "": memory, which a restart of the worker loses. */
void bash_store_open(struct bash_store *s, const char *dir);
/* Frees the index; files stay. */
void bash_store_close(struct bash_store *s);
/* A time later than that of all events. */
uint64_t bash_store_now(struct bash_store *s);
/* Adds an event whose text is its JSON. Returns its number. */
uint64_t bash_store_add(struct bash_store *s, enum bash_kind kind, uint64_t us,
                        const char *id, const char *command, int64_t order,
                        struct str text);
uint64_t bash_store_first(const struct bash_store *s);
uint64_t bash_store_end(const struct bash_store *s); /* the number of the next one */
/* NULL: it is gone. Borrowed until events are added or removed. */
struct bash_event *bash_store_at(const struct bash_store *s, uint64_t number);
/* The number of the event with this id; false: there is none. */
bool bash_store_find(const struct bash_store *s, const char *id, uint64_t *number);
/* The number of the first event with this time or a later one. */
uint64_t bash_store_since(const struct bash_store *s, uint64_t us);
/*
 * The text of an event, borrowed until the next call. p NULL: it is gone, and is DEAD
 * from now on.
 */
struct str bash_store_text(struct bash_store *s, uint64_t number);
/* The order of an output, read from its text if need be. */
int64_t bash_store_order(struct bash_store *s, uint64_t number);
/* Appends the name of its file, which is its name among pages. */
void bash_store_name(const struct bash_event *e, struct buf *out);
/* Removes events before this number. Returns how many there were. */
size_t bash_store_drop(struct bash_store *s, uint64_t before);

/* "2026-05-02T09:30:01.000123Z", without a fraction of 0. */
void bash_time(uint64_t us, char out[32]);

/* ---- bash_run.c: commands ---- */

struct bash {
    struct v1 *v; /* borrowed */
    char *dir;    /* owned: where events are kept; "": in the state directory */
    struct bash_store store;
    struct action_watch watch;
    struct list runs;  /* struct bash_run, owned: commands without an end */
    struct list links; /* struct bash_link, owned: WebSockets */
    unsigned nruns, nlinks;
    unsigned without_key; /* links whose key has not come yet */
    int64_t retention_ms; /* 0: forever */
    bool resumes;         /* the engine does: actions that end are the last worker's */
    struct timer sweep;
    struct task publish; /* links have something to send */
};

/* Who waits for the end of a command. Embedded in its owner. */
struct bash_wait {
    struct list node;
    /* The command has ended; its last event is this number. Called once. */
    void (*ended)(struct bash_wait *w, uint64_t last);
};

/*
 * Starts what an ExecuteBashRequest (bash_request) asks for. Returns the number of its
 * BashCommand and in id its id. It never fails: a command that cannot start has an
 * output that says so.
 */
uint64_t bash_do(struct bash *b, const struct json *request, char id[BASH_ID + 1]);
extern const struct model bash_request;
/* The command of this id, if it has no end yet; NULL: it has, or there is none. */
struct bash_run *bash_find_run(const struct bash *b, const char *id);
/* It has no output event yet. */
bool bash_is_silent(const struct bash_run *run);
void bash_wait_end(struct bash_run *run, struct bash_wait *w);
/* Does it no more. Idempotent. */
void bash_wait_stop(struct bash_wait *w);
void bash_runs_load(struct bash *b);
void bash_runs_start(struct bash *b);
/* Something was added: links are told at the end of this turn. */
void bash_publish(struct bash *b);

/* ---- bash_page.c, bash_link.c ---- */

/* Handlers of the routes. */
void bash_search(struct req *r);
void bash_batch(struct req *r);
void bash_get(struct req *r);
void bash_execute(struct req *r);
void bash_socket(struct req *r);
void bash_links_pump(struct bash *b);
void bash_links_close(struct bash *b);

/* ---- bash.c ---- */

/* dir: where events are kept; "": in the state directory. retention_ms 0: for ever. */
struct bash *bash_open(struct v1 *v, struct str dir, int64_t retention_ms);
/* As load, start, close and metrics of struct front. */
void bash_load(struct bash *b);
void bash_start(struct bash *b);
void bash_close(struct bash *b, bool another);
void bash_metrics(const struct bash *b, struct buf *out);

#endif
