/* SPDX-License-Identifier: MIT */
/* The worker's side of the keeper. */
#include "keeper/keeper_client.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "base/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    MESSAGES_PER_TURN = 64,
    INPUT_AHEAD = 192 << 10,
    FLOW_AGAIN_MS = 250 /* between messages about a caller that is far behind */
};

struct keeper_client_question {
    struct list node;
    uint64_t token;
    keeper_client_answer_fn *fn;
    keeper_client_upgrade_fn *upgraded; /* instead of fn, for an upgrade */
    uint64_t reaper;                    /* that was asked: uid | gid << 32 */
    void *arg;
};

/* A program handed over and not claimed yet. */
struct handed {
    struct keep_proc r;
    int in, spool[2];
};

struct keeper_client {
    struct io io;
    const struct keeper_client_events *ev;
    void *arg;
    struct map procs;  /* by id: struct proc, borrowed */
    struct map handed; /* by id: struct handed, owned */
    struct list asks;
    uint64_t next_id, next_token;
    char *space; /* owned: for one message. Not cleared, so only used pages take memory */
};

static struct str id_key(const uint64_t *id) { return str_n(id, sizeof(*id)); }

/*
 * Returns -1 with errno if the message is too long for a datagram and cannot be passed in
 * a memfd. Shorter messages are always sent: their callers ignore the result.
 */
static int send_to(struct keeper_client *h, const struct keep_msg *m)
{
    while (keep_send(h->io.fd, m) < 0) {
        if (m->key.n + m->value.n + m->body.n > KEEP_DATA &&
            (errno == EMSGSIZE || errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
             errno == ENOSYS))
            return -1;
        if (errno != EAGAIN) {
            log_error("the keeper does not answer: %m");
            _exit(1);
        }
        struct pollfd p = {.fd = h->io.fd, .events = POLLOUT};
        poll(&p, 1, -1);
    }
    return 0;
}

static void take_handed(struct keeper_client *h, struct keep_msg *m)
{
    struct handed *n = xnew(struct handed);
    memcpy(&n->r, m->body.p, sizeof(n->r));
    int at = 0, *slots[] = {&n->in, &n->spool[0], &n->spool[1]};
    for (int i = 0; i < 3; i++) {
        bool there = (m->h.a & (1u << i)) && at < m->nfds;
        *slots[i] = there ? m->fds[at++] : -1;
    }
    m->nfds = 0;
    if (n->r.id >= h->next_id)
        h->next_id = n->r.id + 1;
    map_put(&h->handed, id_key(&n->r.id), n);
}

static void seen(struct keeper_client *h, uint64_t id, unsigned records)
{
    struct keep_msg m = {.h = {.type = KEEP_SEEN, .id = id, .a = records}};
    send_to(h, &m);
}

static void on_proc(struct keeper_client *h, struct keep_msg *m)
{
    if (m->body.n != sizeof(struct keep_proc))
        return;
    if (m->h.flags & KEEP_ALL) {
        take_handed(h, m);
        seen(h, m->h.id, 1);
        return;
    }
    struct proc *p = map_get(&h->procs, id_key(&m->h.id));
    if (p) {
        memcpy(&p->r, m->body.p, sizeof(p->r));
        /* Acknowledged by halves, so that the keeper can go on; input does it as well. */
        if (++p->unseen >= KEEP_AHEAD / 2) {
            unsigned records = p->unseen;
            p->unseen = 0;
            seen(h, m->h.id, records);
        }
        p->changed(p);
    }
}

/*
 * Returns whether m answers q. If q's reaper is gone, m answers all that was asked before
 * the token upto.
 */
static bool answers(const struct keep_msg *m, const struct keeper_client_question *q,
                    uint64_t upto)
{
    bool before = (int64_t)(q->token - upto) < 0;
    return !q->upgraded &&
           (m->h.id ? q->token == m->h.id : q->reaper == m->h.b && before);
}

static void on_answer(struct keeper_client *h, struct keep_msg *m)
{
    struct reaper_answer ans = {0};
    int errnum = (int)m->h.a;
    uint64_t upto = h->next_token;
    if (m->body.n == sizeof(ans))
        memcpy(&ans, m->body.p, sizeof(ans));
    else if (errnum == 0)
        errnum = EPROTO;
    /* From the beginning after each: fn may ask, and cancel other questions. */
    for (struct list *it = h->asks.next; it != &h->asks;) {
        struct keeper_client_question *a = list_entry(it, struct keeper_client_question,
                                                      node);
        it = it->next;
        if (!answers(m, a, upto))
            continue;
        list_del(&a->node);
        if (a->fn)
            a->fn(a->arg, &ans, errnum);
        free(a);
        it = h->asks.next;
    }
}

static void on_upgraded(struct keeper_client *h, struct keep_msg *m)
{
    struct list *it, *tmp;
    list_each (it, tmp, &h->asks) {
        struct keeper_client_question *a = list_entry(it, struct keeper_client_question,
                                                      node);
        if (!a->upgraded || a->token != m->h.id)
            continue;
        list_del(&a->node);
        a->upgraded(a->arg, m->body);
        free(a);
    }
}

static void on_message(struct keeper_client *h, struct keep_msg *m)
{
    switch (m->h.type) {
    case KEEP_HELD:
        if (m->nfds > 0) {
            h->ev->held(h->arg, m->body, m->fds[0]);
            m->nfds = 0;
        }
        break;
    case KEEP_STATE:
        h->ev->state(h->arg, m->key, m->value);
        break;
    case KEEP_PROC:
        on_proc(h, m);
        break;
    case KEEP_READY:
        h->ev->ready(h->arg);
        break;
    case KEEP_ANSWER:
        on_answer(h, m);
        break;
    case KEEP_UPGRADED:
        on_upgraded(h, m);
        break;
    case KEEP_SIGNAL:
        h->ev->signal(h->arg, (int)m->h.a);
        break;
    default:
        break;
    }
}

static void on_io(struct io *io, uint32_t events)
{
    struct keeper_client *h = container_of(io, struct keeper_client, io);
    (void)events;
    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
        struct keep_msg m;
        int r = keep_recv(io->fd, &m, h->space);
        if (r < 0 && errno == EAGAIN)
            return;
        if (r == 0) { /* without a keeper there is nothing to serve */
            log_error("the keeper is gone");
            _exit(1);
        }
        if (r < 0 && errno == ENOMEM) /* the lost message may be a session's only state */
            xalloc_failed(KEEP_FAR_MAX);
        if (r < 0)
            continue;
        on_message(h, &m);
        keep_release(&m);
    }
}

struct keeper_client *keeper_client_open(struct loop *l, int fd,
                                         const struct keeper_client_events *ev, void *arg)
{
    ASSERT(fd >= 0);
    struct keeper_client *h = xnew(struct keeper_client);
    h->space = xrealloc(NULL, sizeof(struct keep_head) + KEEP_DATA, 1);
    h->ev = ev;
    h->arg = arg;
    h->next_id = 1;
    /* Tokens of an earlier worker must not be answered to this one. */
    random_bytes(&h->next_token, sizeof(h->next_token));
    map_init(&h->procs);
    map_init(&h->handed);
    list_init(&h->asks);
    if (io_start(l, &h->io, fd, EPOLLIN, on_io) < 0) {
        free(h->space);
        free(h);
        return NULL;
    }
    return h;
}

int keeper_client_claim(struct keeper_client *h, struct proc *p, uint64_t id)
{
    struct handed *n = map_del(&h->handed, id_key(&id));
    if (!n)
        return -1;
    ASSERT(!p->keeper);
    p->keeper = h;
    p->r = n->r;
    p->in = n->in;
    p->spool[0] = n->spool[0];
    p->spool[1] = n->spool[1];
    p->sent = n->r.input;
    free(n);
    map_put(&h->procs, id_key(&p->r.id), p);
    return 0;
}

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

void keeper_client_drop_unclaimed(struct keeper_client *h)
{
    void *value;
    struct str key;
    for (void *e = NULL; (e = map_next(&h->handed, e, &key, &value));) {
        struct handed *n = value;
        struct keep_msg m = {.h = {.type = KEEP_FORGET, .id = n->r.id}};
        log_warn("program %llu belongs to nobody, forgotten",
                 (unsigned long long)n->r.id);
        send_to(h, &m);
        close_all((int[]){n->in, n->spool[0], n->spool[1]}, 3);
        free(n);
    }
    map_release(&h->handed);
    map_init(&h->handed);
}

uint64_t keeper_client_next_id(const struct keeper_client *h) { return h->next_id; }

int keeper_client_spawn(struct keeper_client *h, struct proc *p,
                        const struct keeper_client_spawn *s, struct err *e)
{
    ASSERT(!p->keeper);
    bool pty = (s->kind & KEEP_PTY) != 0;
    struct buf body = BUF_INIT(LIMIT_SPAWN_MAX);
    struct keep_msg m = {.h = {.type = KEEP_SPAWN,
                               .id = h->next_id,
                               .a = (uint64_t)s->uid | (uint64_t)s->gid << 32,
                               .b = s->offset,
                               .flags = s->kind | KEEP_AWAITED |
                                        (s->whole ? (unsigned)KEEP_WHOLE : 0u),
                               .kib = (uint32_t)(s->spool_bytes >> 10)},
                         .key = s->key,
                         .value = s->value};
    int r = reaper_spawn_body(&body, s->program, s->cwd, s->argv, s->envp);
    for (int i = 0; i < (pty ? 1 : 3); i++)
        m.fds[m.nfds++] = s->child[i];
    if (!pty && s->in >= 0)
        m.fds[m.nfds++] = s->in;
    for (int i = 0; i < 2 && s->out[i] >= 0; i++) {
        m.fds[m.nfds++] = s->out[i];
        m.fds[m.nfds++] = s->spool[i];
    }
    m.body = buf_str(&body);
    errno = EMSGSIZE;
    if (r < 0 || send_to(h, &m) < 0) {
        int why = errno;
        buf_release(&body);
        close_all(
            (int[]){s->in, pty ? -1 : s->out[0], s->out[1], s->spool[0], s->spool[1]}, 5);
        if (why != EMSGSIZE)
            return err_sys(e, why, "cannot start %s", s->program);
        return err_set(e, ERR_LIMIT,
                       "cannot start %s: arguments and environment are longer than "
                       "%d bytes; unset what is not needed",
                       s->program, LIMIT_SPAWN_MAX);
    }
    *p = (struct proc){.keeper = h,
                       .in = pty ? s->in : -1,
                       .spool = {s->spool[0], s->spool[1]},
                       .uid = s->uid,
                       .gid = s->gid,
                       .changed = p->changed};
    p->r.id = h->next_id++;
    p->r.kind = s->kind;
    p->r.out[0].cap = p->r.out[1].cap = s->spool_bytes;
    p->r.out[0].offset = s->offset;
    for (int i = 0; i < 2; i++) {
        p->flow[i].set = true;
        p->flow[i].at = p->r.out[i].offset;
    }
    map_put(&h->procs, id_key(&p->r.id), p);
    buf_release(&body);
    if (!pty)
        close_all((int[]){s->in, s->out[0], s->out[1]}, 3);
    return 0;
}

void keeper_client_input_only(struct keeper_client *h, struct proc *p, int fd)
{
    struct keep_msg m = {
        .h = {.type = KEEP_SPAWN, .id = h->next_id, .flags = KEEP_BARE | KEEP_IN},
        .fds = {fd},
        .nfds = 1};
    ASSERT(!p->keeper && fd >= 0);
    *p = (struct proc){.keeper = h, .in = -1, .spool = {-1, -1}, .changed = p->changed};
    p->r.id = h->next_id++;
    map_put(&h->procs, id_key(&p->r.id), p);
    send_to(h, &m);
    close(fd);
}

static void write_with(struct proc *p, unsigned flags, struct str bytes, struct str key,
                       struct str value)
{
    struct keep_msg m = {.h = {.type = KEEP_WRITE,
                               .flags = flags,
                               .id = p->r.id,
                               .a = p->sent,
                               .b = p->unseen},
                         .body = bytes,
                         .key = key,
                         .value = value};
    p->unseen = 0;
    send_to(p->keeper, &m);
    p->sent += bytes.n;
}

void keeper_client_write(struct proc *p, struct str bytes, struct str key,
                         struct str value)
{
    write_with(p, 0, bytes, key, value);
}

void keeper_client_write_quietly(struct proc *p, struct str bytes, struct str key,
                                 struct str value)
{
    write_with(p, KEEP_QUIET, bytes, key, value);
}

void keeper_client_write_awaited(struct proc *p, struct str bytes, struct str key,
                                 struct str value)
{
    if (!p->flow[0].set) {
        p->flow[0].set = true;
        p->flow[0].at = p->r.out[0].offset;
    }
    write_with(p, KEEP_QUIET | KEEP_AWAITED, bytes, key, value);
}

static void send_flow(struct proc *p, int i, uint64_t at)
{
    struct keep_msg m = {
        .h = {.type = KEEP_FLOW, .id = p->r.id, .a = at, .b = (uint64_t)i}};
    send_to(p->keeper, &m);
    p->flow[i].set = at != HOLD_NOBODY;
    p->flow[i].at = at;
    p->flow[i].ms = clock_ms();
}

bool keeper_client_flow(struct proc *p, int i, uint64_t at)
{
    const struct keep_stream *s = &p->r.out[i];
    bool held = (p->r.flags & KEEP_P_HELD) != 0;
    if (!p->keeper || (at == HOLD_NOBODY && !p->flow[i].set))
        return false;
    /* The end of waiting is sent only if output is, or much could be, held back. */
    uint64_t told = p->flow[i].at, ahead = s->offset > told ? s->offset - told : 0;
    if (at == HOLD_NOBODY) {
        if (ahead > LIMIT_SPOOL_FLOOR || s->eof || held)
            send_flow(p, i, at);
        return false;
    }
    /* On a full disk the spool may hold no more than was reserved for it. */
    bool full = (p->r.flags & KEEP_P_FULL) != 0;
    uint64_t cap = full && s->cap > KEEP_RESERVED ? KEEP_RESERVED : s->cap;
    bool far = s->offset > at && s->offset - at > cap / 2;
    if (!p->flow[i].set || at < told || at - told > cap / 8 ||
        (at > told && held && (full || clock_ms() - p->flow[i].ms >= FLOW_AGAIN_MS)))
        send_flow(p, i, at);
    return far || held;
}

void keeper_client_flow_again(struct proc *p, int i)
{
    if (p->keeper && p->flow[i].set)
        send_flow(p, i, p->flow[i].at);
}

size_t keeper_client_room(const struct proc *p)
{
    /* Input that is pending at the keeper, and input on its way. */
    uint64_t ahead = p->r.input_pending + (p->sent - p->r.input);
    return ahead >= INPUT_AHEAD ? 0 : (size_t)(INPUT_AHEAD - ahead);
}

void keeper_client_close_input(struct proc *p)
{
    struct keep_msg m = {.h = {.type = KEEP_CLOSE, .id = p->r.id}};
    send_to(p->keeper, &m);
}

void keeper_client_forget(struct proc *p)
{
    if (!p->keeper)
        return;
    struct keep_msg m = {.h = {.type = KEEP_FORGET, .id = p->r.id}};
    send_to(p->keeper, &m);
    map_del(&p->keeper->procs, id_key(&p->r.id));
    close_all((int[]){p->in, p->spool[0], p->spool[1]}, 3);
    p->in = p->spool[0] = p->spool[1] = -1;
    p->keeper = NULL;
}

void keeper_client_put(struct keeper_client *h, struct str key, struct str value)
{
    struct keep_msg m = {.h = {.type = KEEP_PUT}, .key = key, .value = value};
    if (send_to(h, &m) < 0)
        log_error("the state of %.*s cannot be kept: %m", STR_ARG(key));
}

void keeper_client_keep(struct keeper_client *h, struct str name, int fd)
{
    struct keep_msg m = {.h = {.type = KEEP_HOLD}, .body = name, .fds = {fd}, .nfds = 1};
    send_to(h, &m);
}

void keeper_client_rules(struct keeper_client *h, struct str rules)
{
    struct keep_msg m = {
        .h = {.type = KEEP_RULES}, .key = STR(KEEP_RULES_KEY), .value = rules};
    send_to(h, &m);
}

void keeper_client_ask(struct keeper_client *h, uid_t uid, gid_t gid,
                       const struct reaper_request *q, keeper_client_answer_fn *fn,
                       void *arg)
{
    struct keeper_client_question *a = xnew(struct keeper_client_question);
    a->token = h->next_token++;
    a->fn = fn;
    a->reaper = (uint64_t)uid | (uint64_t)gid << 32;
    a->arg = arg;
    list_add_tail(&h->asks, &a->node);
    struct keep_msg m = {.h = {.type = KEEP_REAPER, .id = a->token, .a = a->reaper},
                         .body = str_n(q, sizeof(*q))};
    send_to(h, &m);
}

void keeper_client_upgrade(struct keeper_client *h, uint64_t token, int file,
                           struct str name, keeper_client_upgrade_fn *fn, void *arg)
{
    int why = errno;
    struct keeper_client_question *a = xnew(struct keeper_client_question);
    ASSERT(fn);
    a->token = token;
    a->upgraded = fn;
    a->arg = arg;
    list_add_tail(&h->asks, &a->node);
    struct keep_msg m = {.h = {.type = KEEP_UPGRADE, .id = token, .a = (uint64_t)why},
                         .body = name,
                         .fds = {file},
                         .nfds = file >= 0};
    send_to(h, &m);
}

void keeper_client_ask_cancel(struct keeper_client *h, void *arg)
{
    struct list *it, *tmp;
    list_each (it, tmp, &h->asks) {
        struct keeper_client_question *a = list_entry(it, struct keeper_client_question,
                                                      node);
        if (a->arg == arg) {
            list_del(&a->node);
            free(a);
        }
    }
}

void keeper_client_serving(struct keeper_client *h)
{
    struct keep_msg m = {.h = {.type = KEEP_SERVING}};
    send_to(h, &m);
}

void keeper_client_stop(struct keeper_client *h, int64_t grace_ms)
{
    struct keep_msg m = {.h = {.type = KEEP_STOP, .a = (uint64_t)grace_ms}};
    send_to(h, &m);
}
