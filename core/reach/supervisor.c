/* SPDX-License-Identifier: MIT */
#include "reach/own.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/landlock.h"
#include "os/procfs.h"
#include "reach/address.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    TURN_EVENTS = 32,
    SWEEP_FIRST = 64,
    FRESH_MS = 1000,  /* a younger socket may be on its way from one program to another */
    SOCKS_MAX = 8192, /* of which we have copies */
    AGAIN_MS = 10000, /* before the same refusal is said again */
    SAID_IN_SECOND = 20,
    ABOVE_MAX = 32, /* processes above one */
    PLACE_MAX = 340
};

int reach_kernel(char why[200])
{
    enum { NET_ABI = 4 };
    int abi = landlock_abi();
    if (abi < NET_ABI) {
        snprintf(why, 200,
                 "Landlock of this kernel (ABI %d) has no rights for the network, which "
                 "need ABI 4, of Linux 6.7",
                 abi < 0 ? 0 : abi);
        return -1;
    }
    if (notify_possible() == 0)
        return 0;
    snprintf(why, 200,
             "the kernel or the container refuses seccomp's user notification with "
             "descriptors, of Linux 5.14 (%s)",
             strerror(errno));
    return -1;
}

/* ---- addresses ---- */

int where_from(struct where *out, const struct sockaddr_storage *a, socklen_t n)
{
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    memset(out, 0, sizeof(*out));
    if (a->ss_family == AF_INET && n >= sizeof(*v4)) {
        address_of_ipv4(out->a, &v4->sin_addr);
        out->port = ntohs(v4->sin_port);
        return 0;
    }
    /* RFC 2133's address, without the scope, is as long as this. */
    if (a->ss_family == AF_INET6 && n >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
        memcpy(out->a, &v6->sin6_addr, 16);
        out->port = ntohs(v6->sin6_port);
        return 0;
    }
    return -1;
}

socklen_t where_to(const struct where *w, int family, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    memset(out, 0, sizeof(*out));
    if (family == AF_INET6) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)w->port);
        memcpy(&v6->sin6_addr, w->a, 16);
        return sizeof(*v6);
    }
    if (!address_is_ipv4(w->a))
        return 0;
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)w->port);
    memcpy(&v4->sin_addr, w->a + 12, 4);
    return sizeof(*v4);
}

int where_read(const struct notify_call *c, uint64_t from, uint64_t n,
               struct sockaddr_storage *a)
{
    memset(a, 0, sizeof(*a));
    if ((int64_t)n < (int64_t)sizeof(a->ss_family) || n > sizeof(*a))
        return EINVAL;
    return notify_read((pid_t)c->pid, from, a, (size_t)n) ? 0 : EFAULT;
}

bool where_same(const struct where *a, const struct where *b)
{
    return a->port == b->port && memcmp(a->a, b->a, 16) == 0;
}

bool where_is_loopback(const struct where *w)
{
    static const unsigned char one[16] = {[15] = 1}, none[16];
    if (address_is_ipv4(w->a))
        return w->a[12] == 127 || memcmp(w->a + 12, none, 4) == 0;
    return memcmp(w->a, one, 16) == 0 || memcmp(w->a, none, 16) == 0;
}

/*
 * Is it an address of this machine? Then it is also where datagrams to it come from.
 * Binding says less: one can bind to a broadcast address, or to any (ip_nonlocal_bind).
 */
static bool is_here(const struct where *w)
{
    struct sockaddr_storage a;
    struct where to = *w, from;
    if (address_is_ipv4(w->a) ? w->a[12] >= 224
                              : w->a[0] == 0xff) /* multicast and above */
        return false;
    to.port = 9; /* nothing is sent */
    int family = address_is_ipv4(w->a) ? AF_INET : AF_INET6;
    socklen_t n = where_to(&to, family, &a);
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool here = fd >= 0 && connect(fd, (struct sockaddr *)&a, n) == 0;
    n = sizeof(a);
    here = here && getsockname(fd, (struct sockaddr *)&a, &n) == 0 &&
           where_from(&from, &a, n) == 0 && memcmp(from.a, w->a, 16) == 0;
    if (fd >= 0)
        close(fd);
    return here;
}

static void print_address(const struct where *w, char out[INET6_ADDRSTRLEN + 2])
{
    if (address_is_ipv4(w->a))
        inet_ntop(AF_INET, w->a + 12, out, INET6_ADDRSTRLEN);
    else
        inet_ntop(AF_INET6, w->a, out, INET6_ADDRSTRLEN);
}

/* ---- saying what is refused ---- */

/* Has it been said lately, or too much else? */
static bool is_quiet(struct supervisor *s, const char *what, const char *host,
                     unsigned port, pid_t pid)
{
    static const uint64_t seed[2] = {1, 2};
    char key[400];
    int64_t now = clock_ms();
    int n = snprintf(key, sizeof(key), "%s %s %u %d", what, host, port, (int)pid);
    uint64_t hash = map_hash(seed, str_n(key, (size_t)n < sizeof(key) ? (size_t)n
                                                                      : sizeof(key) - 1));
    for (unsigned i = 0; i < SAID_MAX; i++) {
        if (s->said[i].hash == hash && now - s->said[i].ms < AGAIN_MS && s->said[i].ms)
            return true;
    }
    if (now / 1000 != s->second) {
        s->second = now / 1000;
        s->in_second = 0;
    }
    if (s->in_second >= SAID_IN_SECOND) {
        s->more++;
        return true;
    }
    s->in_second++;
    s->said[s->saids].hash = hash;
    s->said[s->saids].ms = now;
    s->saids = (s->saids + 1) % SAID_MAX;
    return false;
}

/* HOST:PORT, as a rule has it; port 0: HOST alone. */
static void print_place(const char *host, unsigned port, char out[PLACE_MAX])
{
    bool v6 = strchr(host, ':') != NULL;
    if (port)
        snprintf(out, PLACE_MAX, "%s%.300s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "",
                 port);
    else
        snprintf(out, PLACE_MAX, "%.300s", host);
}

/* rule: what would allow it; NULL: nothing would. */
static void tell(struct supervisor *s, pid_t pid, const char *what, const char *to,
                 const char *why, const char *rule)
{
    struct procfs_stat st;
    struct json *o = json_object(), *above = json_array();
    json_put_z(o, "what", what);
    json_put_z(o, "to", to);
    json_put_z(o, "why", why);
    json_put_int(o, "pid", pid);
    if (procfs_stat(pid, &st) == 0) {
        json_put_str(o, "program", str_of(st.comm));
        for (int i = 0; i < ABOVE_MAX && st.ppid > 0 && st.ppid != getpid(); i++) {
            json_push_int(above, st.ppid);
            if (procfs_stat(st.ppid, &st) < 0)
                break;
        }
    }
    json_put(o, "within", above);
    if (rule)
        json_put_z(o, "rule", rule);
    if (rule && s->learns)
        json_put_bool(o, "learned", true);
    if (s->more) {
        json_put_int(o, "more", s->more);
        s->more = 0;
    }
    struct buf allowed = BUF_INIT(300);
    reach_text(s->rules, &allowed, 240);
    json_put_str(o, "allowed", buf_str(&allowed));
    buf_release(&allowed);
    s->refused(s->arg, o);
    json_free(o);
}

static void say(struct supervisor *s, pid_t pid, const char *what, const char *host,
                unsigned port, const char *why, const char *rule)
{
    char to[PLACE_MAX];
    print_place(host, port, to);
    if (!is_quiet(s, what, host, port, pid))
        tell(s, pid, what, to, why, rule);
}

void say_written(struct supervisor *s, pid_t pid, const char *path)
{
    struct buf rule = BUF_INIT(PATH_MAX + 16);
    bool quote = strpbrk(path, " #\"") != NULL;
    buf_addf(&rule, "write %s%s%s", quote ? "\"" : "", path, quote ? "\"" : "");
    tell(s, pid, "write", path, "no rule allows it", buf_z(&rule));
    buf_release(&rule);
}

void refuse(struct supervisor *s, pid_t pid, const char *what, const char *host,
            unsigned port, const char *why)
{
    say(s, pid, what, host, port, why, NULL);
}

bool refuse_rule(struct supervisor *s, pid_t pid, const char *what, const char *host,
                 unsigned port, const char *why, const char *rule)
{
    say(s, pid, what, host, port, why, rule);
    return s->learns;
}

/* The same for a rule of reach for this host and port. */
static bool refuse_reach(struct supervisor *s, pid_t pid, const char *what,
                         const char *host, unsigned port, const char *why,
                         const char *allows)
{
    char place[PLACE_MAX], rule[PLACE_MAX + 8];
    print_place(allows, port, place);
    snprintf(rule, sizeof(rule), "reach %s", place);
    return refuse_rule(s, pid, what, host, port, why, rule);
}

/* ---- judging ---- */

static bool is_own_port(const struct supervisor *s, unsigned port)
{
    for (unsigned i = 0; i < s->owns; i++) {
        if (s->own[i] == port)
            return true;
    }
    return false;
}

bool judge(struct supervisor *s, const struct notify_call *c, const char *what,
           const struct where *seen, struct where *real)
{
    static const unsigned char loop4[4] = {127, 0, 0, 1}, none[16];
    char text[INET6_ADDRSTRLEN + 2], why[120];
    *real = *seen;
    if (address_is_ipv4(seen->a) && memcmp(seen->a + 12, none, 4) == 0)
        memcpy(real->a + 12, loop4, 4);
    const char *name = names_meaning(s->names, seen->a, real->a);
    bool here = !name && (where_is_loopback(real) || is_here(real));
    if (here && is_own_port(s, real->port)) {
        print_address(real, text);
        refuse(s, (pid_t)c->pid, what, text, real->port,
               "the server's own listener is out of reach of programs in its fence");
        return false;
    }
    if (here || !reach_limits(s->rules))
        return true;
    print_address(real, text);
    if (name && reach_name(s->rules, str_of(name), real->port)) {
        if (!reach_is_private(real->a) || reach_address(s->rules, real->a, real->port) ||
            names_in_hosts(s->rules, real->a, real->port))
            return true;
        snprintf(why, sizeof(why),
                 "the name resolves to the private address %s, which no rule allows",
                 text);
        return refuse_reach(s, (pid_t)c->pid, what, name, real->port, why, text);
    }
    if (reach_address(s->rules, real->a, real->port) ||
        (!name && names_in_hosts(s->rules, real->a, real->port)))
        return true;
    const char *to = name ? name : text;
    return refuse_reach(s, (pid_t)c->pid, what, to, real->port, "no rule allows it", to);
}

/* ---- the table of sockets ---- */

void watch(struct supervisor *s, int fd, struct ready *r, uint32_t events, bool first)
{
    struct epoll_event e = {.events = events, .data.ptr = r};
    epoll_ctl(s->epoll, first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &e);
}

static struct str key_of(const uint64_t *inode) { return str_n(inode, sizeof(*inode)); }

struct sock *sock_find(struct supervisor *s, uint64_t inode)
{
    return inode ? map_get(&s->by_inode, key_of(&inode)) : NULL;
}

struct sock *sock_new(struct supervisor *s, int fd, int family, bool stream)
{
    struct stat st;
    struct sock *k = xnew(struct sock);
    k->ready.kind = READY_CONNECT;
    k->real_ready.kind = READY_REAL;
    k->end_ready.kind = READY_END;
    k->inode = fstat(fd, &st) == 0 ? (uint64_t)st.st_ino : 0;
    k->born_ms = clock_ms();
    k->fd = fd;
    k->family = family;
    k->stream = stream;
    k->end = k->real = -1;
    list_add_tail(&s->socks, &k->node);
    map_put(&s->by_inode, key_of(&k->inode), k);
    s->count++;
    return k;
}

static void close_watched(struct supervisor *s, int fd)
{
    if (fd < 0)
        return;
    /* Another process's copy would keep it in the set. */
    epoll_ctl(s->epoll, EPOLL_CTL_DEL, fd, NULL);
    close(fd);
}

void wait_set(struct supervisor *s, struct sock *k, struct reach_listener *l,
              const struct notify_call *c, int64_t ms)
{
    wait_clear(s, k);
    k->wait = (struct reach_wait){l, *c, ms > 0 ? clock_ms() + ms : 0};
    s->timed += ms > 0;
}

void wait_clear(struct supervisor *s, struct sock *k)
{
    s->timed -= k->wait.at && k->wait.until;
    k->wait.at = NULL;
}

bool wait_answer(struct supervisor *s, struct sock *k, int64_t value, int errnum)
{
    struct reach_listener *l = k->wait.at;
    wait_clear(s, k);
    return l && notify_answer(l->fd, k->wait.call.id, value, errnum);
}

void sock_free(struct supervisor *s, struct sock *k)
{
    wait_answer(s, k, 0, EACCES);
    map_del(&s->by_inode, key_of(&k->inode));
    list_del(&k->node);
    close_watched(s, k->fd);
    close_watched(s, k->end);
    close_watched(s, k->real);
    free(k);
    s->count--;
}

static void mark_open(struct map *open, struct supervisor *s, pid_t pid)
{
    int fd = notify_open_fds(pid);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *x;
    while (d && (x = readdir(d))) {
        uint64_t number;
        struct sock *k = str_to_u64(str_of(x->d_name), &number) == 0
                             ? sock_find(s, notify_inode(pid, (int)number))
                             : NULL;
        if (k)
            map_put(open, key_of(&k->inode), k);
    }
    if (d)
        closedir(d);
}

void sweep(struct supervisor *s, int64_t age_ms)
{
    struct procfs_list all = {0};
    struct map open;
    struct list *it, *tmp;
    int64_t now = clock_ms();
    map_init(&open);
    procfs_all(&all, 1 << 16);
    for (size_t i = 0; i < all.n; i++) {
        if (all.v[i].pid != getpid())
            mark_open(&open, s, all.v[i].pid);
    }
    procfs_release(&all);
    list_each (it, tmp, &s->socks) {
        struct sock *k = list_entry(it, struct sock, node);
        if (!map_get(&open, key_of(&k->inode)) && !k->wait.at &&
            now - k->born_ms >= age_ms)
            sock_free(s, k);
    }
    map_release(&open);
    s->sweep_at = 2 * s->count > SWEEP_FIRST ? 2 * s->count : SWEEP_FIRST;
    if (s->count >= SOCKS_MAX) /* programs that cannot be looked into */
        sock_free(s, list_first(&s->socks, struct sock, node));
}

/* ---- the turn ---- */

static void do_call(struct supervisor *s, struct reach_listener *l,
                    const struct notify_call *c)
{
    switch (c->nr) {
    case SYS_socket:
        if (s->count >= s->sweep_at)
            sweep(s, FRESH_MS);
        do_socket(s, l, c);
        break;
    case SYS_connect:
        do_connect(s, l, c);
        break;
    case SYS_bind:
        do_bind(s, l, c);
        break;
    case SYS_listen:
        do_listen(s, l, c);
        break;
    default:
        if (!learn_call(s, l, c))
            datagram_call(s, l, c);
        break;
    }
}

static void listener_close(struct supervisor *s, struct reach_listener *l)
{
    struct list *it, *tmp;
    list_each (it, tmp, &s->socks) {
        struct sock *k = list_entry(it, struct sock, node);
        if (k->wait.at == l)
            wait_clear(s, k);
    }
    close_watched(s, l->fd);
    free(l);
    s->listeners--;
}

static void listener_turn(struct supervisor *s, struct reach_listener *l, uint32_t events)
{
    struct notify_call c;
    /* Without a call, asking for one could block. */
    if (!(events & EPOLLIN)) {
        listener_close(s, l);
        return;
    }
    if (notify_next(l->fd, &c))
        do_call(s, l, &c);
}

static void on_timeout(struct supervisor *s, struct sock *k)
{
    if (!k->stream) {
        datagram_timeout(s, k);
        return;
    }
    /* SO_SNDTIMEO: as connect(2) says */
    wait_answer(s, k, 0, EINPROGRESS);
}

int supervisor_wait(const struct supervisor *s)
{
    int64_t first = INT64_MAX, now = clock_ms();
    const struct list *it;
    if (s->timed == 0)
        return -1;
    for (it = s->socks.next; it != &s->socks; it = it->next) {
        const struct sock *k = list_entry(it, const struct sock, node);
        if (k->wait.at && k->wait.until && k->wait.until < first)
            first = k->wait.until;
    }
    return first <= now ? 0 : first - now > 60000 ? 60000 : (int)(first - now);
}

static void end_waits(struct supervisor *s)
{
    struct list *it, *tmp;
    int64_t now = clock_ms();
    list_each (it, tmp, &s->socks) {
        struct sock *k = list_entry(it, struct sock, node);
        if (k->wait.at && k->wait.until && k->wait.until <= now)
            on_timeout(s, k);
    }
}

/* One event at a time: what it frees, another one could point at. */
static bool one_event(struct supervisor *s)
{
    struct epoll_event e;
    if (epoll_wait(s->epoll, &e, 1, 0) < 1)
        return false;
    struct ready *r = e.data.ptr;
    switch (r->kind) {
    case READY_LISTENER:
        listener_turn(s, container_of(r, struct reach_listener, ready), e.events);
        break;
    case READY_CONNECT:
        connect_ready(s, container_of(r, struct sock, ready));
        break;
    case READY_REAL:
        datagram_real_ready(s, container_of(r, struct sock, real_ready));
        break;
    case READY_END:
        datagram_end_ready(s, container_of(r, struct sock, end_ready));
        break;
    case READY_NAME:
        names_ready(s->names, container_of(r, struct lookup, ready)->name);
        break;
    case READY_FRONT:
        open_front_ready(s);
        break;
    case READY_PROXY:
        open_proxy_ready(s);
        break;
    }
    return true;
}

void supervisor_turn(struct supervisor *s)
{
    for (int i = 0; i < TURN_EVENTS && one_event(s); i++)
        ;
    if (s->timed > 0)
        end_waits(s);
}

void supervisor_extend(struct supervisor *s, const struct json *more)
{
    reach_extend(s->rules, more);
}

unsigned supervisor_listeners(const struct supervisor *s) { return s->listeners; }

int supervisor_fd(const struct supervisor *s) { return s->epoll; }

void supervisor_add(struct supervisor *s, int fd)
{
    struct reach_listener *l = xnew(struct reach_listener);
    l->ready.kind = READY_LISTENER;
    l->fd = fd;
    s->listeners++;
    notify_prepare(fd);
    watch(s, fd, &l->ready, EPOLLIN, true);
}

/* ---- names ---- */

static void on_answer(void *arg, const struct names_asker *who, const void *bytes,
                      size_t n)
{
    struct supervisor *s = arg;
    struct sock *k = sock_find(s, who->inode);
    if (k && !k->stream)
        datagram_push(s, k, &who->at, bytes, n);
}

static void on_refused(void *arg, const struct names_asker *who, struct str name)
{
    char text[256];
    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    refuse_reach(arg, who->pid, "name", text, 0, "no rule allows it", text);
}

static void on_watch(void *arg, int fd, void *name, bool on)
{
    struct supervisor *s = arg;
    for (unsigned i = 0; i < NAMES_ASKED_MAX; i++) {
        struct lookup *l = &s->lookups[i];
        if (on ? l->name != NULL : l->name != name)
            continue;
        l->ready.kind = READY_NAME;
        l->name = on ? name : NULL;
        if (on)
            watch(s, fd, &l->ready, EPOLLIN, true);
        return;
    }
}

static const struct names_events on_names = {on_answer, on_refused, on_watch};

struct json *supervisor_read(int file)
{
    struct buf text = BUF_INIT(LIMIT_SPAWN_MAX);
    struct err e = ERR_INIT;
    char *room;
    ssize_t n = 1;
    /* Processes share the offset. */
    while (n > 0 && (room = buf_reserve(&text, 4096)) &&
           (n = pread(file, room, 4096, (off_t)text.n)) > 0)
        buf_commit(&text, (size_t)n);
    struct json *rules = n == 0 ? json_parse(buf_str(&text), &e) : NULL;
    if (text.p)
        explicit_bzero(text.p, text.n); /* secrets may be in it */
    buf_release(&text);
    return rules;
}

struct supervisor *supervisor_open(const struct json *rules, int file,
                                   reach_refused_fn *refused, void *arg)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) {
        close(file);
        return NULL;
    }
    struct supervisor *s = xnew(struct supervisor);
    const struct json *x = json_first(json_get(rules, "own"));
    s->epoll = epoll;
    s->rules = reach_load(json_get(rules, "rules"));
    s->names = names_open(s->rules, &on_names, s);
    for (; x && s->owns < OWN_MAX; x = json_next(x))
        s->own[s->owns++] = (unsigned)json_int_value(x, 0);
    list_init(&s->socks);
    map_init(&s->by_inode);
    s->sweep_at = SWEEP_FIRST;
    s->learns = json_bool(rules, "learn", false);
    names_learn(s->names, s->learns);
    s->learner = learner_new(json_get(rules, "files"));
    open_init(s, file);
    s->refused = refused;
    s->arg = arg;
    return s;
}
