/* SPDX-License-Identifier: MIT */
/* What the files of the supervisor share. */
#ifndef OD_REACH_OWN_H
#define OD_REACH_OWN_H

#include "base/list.h"
#include "base/map.h"
#include "reach/names.h"
#include "reach/notify.h"
#include "reach/rules.h"
#include "reach/supervisor.h"

#include <stdbool.h>
#include <sys/socket.h>

enum {
    DATAGRAM_MAX = 65536,
    SETTLED_MAX = 256, /* connected sockets whose copies are gone, for a second connect */
    SAID_MAX = 64,     /* refusals that are not said again at once */
    OWN_MAX = 64       /* ports of the server's own listeners */
};

/* What an epoll event points at; embedded in its owner. */
struct ready {
    enum ready_kind {
        READY_LISTENER,
        READY_CONNECT, /* struct sock, by .ready */
        READY_REAL,    /* the real socket of a stand-in, by .real_ready */
        READY_END,     /* our end of it, by .end_ready */
        READY_NAME,    /* struct lookup: it has ended */
        READY_FRONT,   /* open.c */
        READY_PROXY
    } kind;
};

struct reach_listener {
    struct ready ready;
    int fd; /* owned */
};

/* A call that is answered later. */
struct reach_wait {
    struct reach_listener *at; /* NULL: none */
    struct notify_call call;
    int64_t until; /* clock_ms; 0: no limit */
};

/* An internet socket of a program. */
struct sock {
    struct list node;
    struct ready ready, real_ready, end_ready;
    uint64_t inode;
    int64_t born_ms;
    int fd;     /* owned; a copy of what the program has */
    int family; /* AF_INET, AF_INET6 */
    bool stream, connecting;
    struct reach_wait wait; /* a connect, or a call that receives */
    /* A datagram socket: fd is the program's end of a unix pair. */
    int end;      /* owned; our end; -1: a stream */
    int real;     /* owned; -1: not needed yet */
    bool stalled; /* real is not read until the program has taken what is there */
    bool has_peer;
    struct where peer, peer_real;
    struct {
        struct where seen, real;
    } sent[4]; /* where it has sent to, by addresses that we handed out */
    unsigned sents;
};

struct supervisor {
    int epoll;
    struct reach *rules;
    struct resolver *names;
    struct opener *opener; /* owned; NULL: there are no secrets */
    struct lookup {
        struct ready ready;
        void *name; /* NULL: free */
    } lookups[NAMES_ASKED_MAX];
    unsigned own[OWN_MAX], owns;
    unsigned listeners;
    struct list socks;
    struct map by_inode;
    unsigned count, sweep_at; /* sockets; how many start a sweep */
    unsigned timed;           /* waits that have a limit */
    uint64_t settled[SETTLED_MAX];
    unsigned settleds;
    unsigned next_number; /* of a stand-in */
    struct {
        uint64_t hash;
        int64_t ms;
    } said[SAID_MAX];
    unsigned saids;
    int64_t second;           /* of the rate of refusals */
    unsigned in_second, more; /* said in it; not said */
    bool learns;              /* what a rule would allow is said, and done */
    struct learner *learner;  /* of files; owned; NULL: they are not learned */
    reach_refused_fn *refused;
    void *arg;
    char space[DATAGRAM_MAX + 64];
};

/* ---- supervisor.c ---- */

struct sock *sock_new(struct supervisor *s, int fd, int family, bool stream);
struct sock *sock_find(struct supervisor *s, uint64_t inode);
void sock_free(struct supervisor *s, struct sock *k);
/* Closes our copies of sockets of that age that are open in no program. */
void sweep(struct supervisor *s, int64_t age_ms);
void watch(struct supervisor *s, int fd, struct ready *r, uint32_t events, bool first);
/* Keeps the call for later; ms: how long it may wait, 0: no limit. */
void wait_set(struct supervisor *s, struct sock *k, struct reach_listener *l,
              const struct notify_call *c, int64_t ms);
void wait_clear(struct supervisor *s, struct sock *k);
/* Answers the call that waits, if one does. Returns whether its caller was there. */
bool wait_answer(struct supervisor *s, struct sock *k, int64_t value, int errnum);

/* From and to struct sockaddr. Returns -1 if it is no internet address of that family. */
int where_from(struct where *out, const struct sockaddr_storage *a, socklen_t n);
socklen_t where_to(const struct where *w, int family, struct sockaddr_storage *out);
/* Reads the address argument of a call. Returns 0, or an errno. */
int where_read(const struct notify_call *c, uint64_t from, uint64_t n,
               struct sockaddr_storage *a);
bool where_is_loopback(const struct where *w);
bool where_same(const struct where *a, const struct where *b);

/*
 * Judges a destination. seen: what the program gave; *real gets where that is. Returns
 * whether it is allowed; if not, it has been said, as refusal of `what` by this call.
 */
bool judge(struct supervisor *s, const struct notify_call *c, const char *what,
           const struct where *seen, struct where *real);
/* Says what the line "write PATH" would allow, and that it was done. */
void say_written(struct supervisor *s, pid_t pid, const char *path);
/* Says a refusal. to, why: texts; host with port 0: of no address. */
void refuse(struct supervisor *s, pid_t pid, const char *what, const char *host,
            unsigned port, const char *why);
/*
 * The same for what this rule would allow. Returns whether it is to be done all the same:
 * the supervisor learns.
 */
bool refuse_rule(struct supervisor *s, pid_t pid, const char *what, const char *host,
                 unsigned port, const char *why, const char *rule);

/* ---- stream.c ---- */

void do_socket(struct supervisor *s, struct reach_listener *l,
               const struct notify_call *c);
void do_connect(struct supervisor *s, struct reach_listener *l,
                const struct notify_call *c);
void do_bind(struct supervisor *s, struct reach_listener *l, const struct notify_call *c);
void do_listen(struct supervisor *s, struct reach_listener *l,
               const struct notify_call *c);
void connect_ready(struct supervisor *s, struct sock *k);
/* The limit of its calls in milliseconds, by SO_RCVTIMEO or SO_SNDTIMEO; 0: none. */
int64_t time_limit_ms(int fd, int option);

/* ---- open.c ---- */

struct reach_opened;

/* Takes the file of rules, for the proxy. */
void open_init(struct supervisor *s, int rules);
/*
 * Is the address that a program connects to, and where that is, one of a host that gets a
 * secret? Fills *what.
 */
bool open_wanted(struct supervisor *s, const struct where *seen, const struct where *real,
                 pid_t pid, struct reach_opened *what);
/* Where the program's socket is to be connected instead. Returns -1 with errno. */
int open_front(struct supervisor *s, struct where *to);
/* That socket is on its way: what comes from its port is this. */
void open_expect(struct supervisor *s, int fd, const struct reach_opened *what);
void open_front_ready(struct supervisor *s);
void open_proxy_ready(struct supervisor *s);

/* ---- learn.c ---- */

/* files: as supervisor_open has it. NULL: there is none. */
struct learner *learner_new(const struct json *files);
/*
 * A call that makes, changes or removes a file: says which line would allow it, and lets
 * the kernel do it. Returns false if it is another call.
 */
bool learn_call(struct supervisor *s, struct reach_listener *l,
                const struct notify_call *c);

/* ---- datagram.c ---- */

int datagram_open(struct supervisor *s, struct reach_listener *l,
                  const struct notify_call *c);
void datagram_connect(struct supervisor *s, struct reach_listener *l,
                      const struct notify_call *c, struct sock *k);
void datagram_bind(struct supervisor *s, struct reach_listener *l,
                   const struct notify_call *c, struct sock *k, const struct where *to);
/* A call that reads, writes or asks, on a number of a stand-in. */
void datagram_call(struct supervisor *s, struct reach_listener *l,
                   const struct notify_call *c);
void datagram_real_ready(struct supervisor *s, struct sock *k);
void datagram_end_ready(struct supervisor *s, struct sock *k);
/* Gives the program a datagram that comes from there. */
void datagram_push(struct supervisor *s, struct sock *k, const struct where *from,
                   const void *bytes, size_t n);
/* The time of a waiting call is over. */
void datagram_timeout(struct supervisor *s, struct sock *k);

#endif
