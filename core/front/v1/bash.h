/* SPDX-License-Identifier: MIT */
/*
 * Commands over HTTP (openhands-agent-server bash_service.py): each is an action
 * `process` of /bin/sh -c, and becomes events, which are kept and can be searched:
 *
 *   BashCommand   the request, when it arrives
 *   BashOutput    its output, by number; the last one has the exit code
 *
 * While a command runs, its state is at the keeper and its process's output in the spool,
 * so that the next worker continues it and its events are written once.
 *
 * Ids are 32 lower-case hex digits. Times are microseconds since 1970; no two events have
 * the same time.
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
    BASH_CACHED_MAX = 4 << 20, /* bytes of the newest events whose text stays in memory */
    BASH_TEXT_MAX = 16 << 20, /* bytes of an event: two streams, every byte escaped */
    BASH_LINKS_MAX = 50
};

enum bash_kind { BASH_COMMAND, BASH_OUTPUT, BASH_DEAD };

/* ---- bash_store.c: the events ---- */

/* One event of the index; the newest is the last. */
struct bash_event {
    uint64_t us;
    uint8_t id[BASH_ID / 2], command[BASH_ID / 2]; /* for a command, both are its id */
    int64_t order;                                 /* for an output; see _UNKNOWN */
    char *text; /* owned: its JSON; NULL: only in its file */
    uint32_t bytes;
    uint8_t kind; /* enum bash_kind; DEAD: its file is gone */
    bool filed;   /* it has a file, and text may be dropped */
};

struct bash_store {
    char *dir;            /* owned; "": in memory */
    struct bash_event *v; /* owned */
    size_t n, cap, start; /* the kept events begin at v[start] */
    uint64_t base;        /* the number of v[0]; numbers are never reused */
    struct map by_id;     /* id as 16 bytes: its number + 1 */
    uint64_t last_us;
    uint64_t bytes;       /* of all */
    size_t in_memory;     /* of events that have no file */
    size_t cached;        /* of the newest events that have a file, and also their text */
    uint64_t cached_from; /* the number of the oldest event that may be cached */
    struct buf kept;      /* the text of the event read last, for several links */
    uint64_t kept_number; /* its number + 1; 0: none */
};

/* dir: created when it is needed; "": memory only, lost when the worker restarts. */
void bash_store_open(struct bash_store *s, const char *dir);
/* Frees the index; files stay. */
void bash_store_close(struct bash_store *s);
/* Returns a time later than those of all events. */
uint64_t bash_store_now(struct bash_store *s);
/* Adds an event whose text is its JSON. Returns its number. */
uint64_t bash_store_add(struct bash_store *s, enum bash_kind kind, uint64_t us,
                        const char *id, const char *command, int64_t order,
                        struct str text);
uint64_t bash_store_first(const struct bash_store *s);
uint64_t bash_store_end(const struct bash_store *s); /* the number of the next event */
/* Returns an event; NULL if it is gone. Borrowed until events are added or removed. */
struct bash_event *bash_store_at(const struct bash_store *s, uint64_t number);
/* Sets *number to that of the event with this id. Returns false if there is none. */
bool bash_store_find(const struct bash_store *s, const char *id, uint64_t *number);
/* Returns the number of the first event at this time or later. */
uint64_t bash_store_since(const struct bash_store *s, uint64_t us);
/*
 * Returns the text of an event, borrowed until the next call. If its file is gone, p is
 * NULL, and the event is DEAD from now on.
 */
struct str bash_store_text(struct bash_store *s, uint64_t number);
/* Returns the order of an output, read from its text if necessary. */
int64_t bash_store_order(struct bash_store *s, uint64_t number);
/* Appends the name of the event's file, which is also its id as a page. */
void bash_store_name(const struct bash_event *e, struct buf *out);
/* Removes events before this number. Returns how many it removed. */
size_t bash_store_drop(struct bash_store *s, uint64_t before);

/* Writes a time as "2026-05-02T09:30:01.000123Z", without a fraction of 0. */
void bash_time(uint64_t us, char out[32]);

/* ---- bash_run.c: commands ---- */

struct bash {
    struct v1 *v; /* borrowed */
    char *dir;    /* owned: the folder for events; "": in the state directory */
    struct bash_store store;
    struct action_watch watch;
    struct list runs;  /* struct bash_run, owned: commands without an end */
    struct list links; /* struct bash_link, owned: WebSockets */
    unsigned nruns, nlinks;
    int64_t retention_ms; /* 0: forever */
    bool resumes;         /* the engine resumes: actions that end now belong to the
                           * previous worker */
    struct timer sweep;
    struct task publish; /* links have something to send */
};

/* A wait for the end of a command. Embedded in its owner. */
struct bash_wait {
    struct list node;
    /* Called once, when the command has ended; last: the number of its last event. */
    void (*ended)(struct bash_wait *w, uint64_t last);
};

/*
 * Starts the command of an ExecuteBashRequest (bash_request). Returns the number of its
 * BashCommand and sets id to its id. Never fails: if a command cannot start, its output
 * has the error.
 */
uint64_t bash_do(struct bash *b, const struct json *request, char id[BASH_ID + 1]);
extern const struct model bash_request;
/* Returns the running command with this id; NULL if it has ended or there is none. */
struct bash_run *bash_find_run(const struct bash *b, const char *id);
/* Does the command have no output event yet? */
bool bash_is_silent(const struct bash_run *run);
void bash_wait_end(struct bash_run *run, struct bash_wait *w);
/* Ends the wait. Idempotent. */
void bash_wait_stop(struct bash_wait *w);
void bash_runs_load(struct bash *b);
void bash_runs_start(struct bash *b);
/* Makes the links send new events at the end of this turn. */
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

/* dir: the folder for events; "": in the state directory. retention_ms 0: forever. */
struct bash *bash_open(struct v1 *v, struct str dir, int64_t retention_ms);
/* Like load, start, close and metrics of struct front. */
void bash_load(struct bash *b);
void bash_start(struct bash *b);
void bash_close(struct bash *b, bool another);
void bash_metrics(const struct bash *b, struct buf *out);

#endif
