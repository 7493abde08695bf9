/* SPDX-License-Identifier: MIT */
#include "reach/names.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "os/file.h"
#include "os/spawn.h"
#include "reach/address.h"
#include "reach/rules.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* RFC 1035, 4.1.1 and 3.2 */
enum { HEADER = 12, TYPE_A = 1, TYPE_AAAA = 28, CLASS_IN = 1, ANSWER_TTL = 30 };
enum { NO_ERROR = 0, SERVER_FAILURE = 2, NO_SUCH_NAME = 3, NOT_IMPLEMENTED = 4 };
enum { NAME_TEXT = 254, LOOKUP_S = 20, FILE_BYTES = 64 << 10 };

/* What a lookup writes. */
struct names_found {
    int32_t code; /* NO_ERROR, … */
    uint32_t n;
    unsigned char a[2 * NAMES_ADDRESSES][16];
};

struct names_given {
    struct name *name;
    unsigned char real[16];
};

struct name {
    char text[NAME_TEXT];
    struct names_found found;
    uint32_t given[2 * NAMES_ADDRESSES]; /* index in names.given of each address */
    int64_t until_ms;                    /* 0: not looked up yet */
    int pipe;                            /* owned; -1: no lookup runs */
};

struct waiter {
    struct name *name; /* NULL: free */
    struct names_asker who;
    unsigned n;
    unsigned char question[NAMES_QUESTION_MAX];
};

struct resolver {
    const struct reach *rules;
    const struct names_events *ev;
    void *arg;
    struct map by_text;
    struct names_given *given; /* owned */
    uint32_t givens, cap;
    unsigned asked;
    bool learns;
    struct waiter waiters[NAMES_WAITERS];
};

struct resolver *names_open(const struct reach *rules, const struct names_events *ev,
                            void *arg)
{
    struct resolver *n = xnew(struct resolver);
    n->rules = rules;
    n->ev = ev;
    n->arg = arg;
    map_init(&n->by_text);
    return n;
}

void names_learn(struct resolver *n, bool on) { n->learns = on; }

/* ---- addresses that are handed out ---- */

static uint32_t low_half(const unsigned char a[16])
{
    return (uint32_t)a[12] << 24 | (uint32_t)a[13] << 16 | (uint32_t)a[14] << 8 | a[15];
}

/* The address of index i: 198.18.1.0 and on, or fd6f:6400:: and on. */
static void make_address(uint32_t i, bool ipv4, unsigned char out[16])
{
    uint32_t low = ipv4 ? 0xc6120100u + i : i + 1;
    memset(out, 0, 16);
    if (ipv4) {
        address_map(out);
    } else {
        out[0] = 0xfd;
        out[1] = 0x6f;
        out[2] = 0x64;
    }
    for (int k = 0; k < 4; k++)
        out[12 + k] = (unsigned char)(low >> (24 - 8 * k));
}

const char *names_meaning(const struct resolver *n, const unsigned char a[16],
                          unsigned char real[16])
{
    unsigned char again[16];
    bool ipv4 = address_is_ipv4(a);
    uint32_t i = low_half(a) - (ipv4 ? 0xc6120100u : 1);
    if (i >= n->givens)
        return NULL;
    make_address(i, ipv4, again);
    if (memcmp(a, again, 16) != 0 || address_is_ipv4(n->given[i].real) != ipv4)
        return NULL;
    memcpy(real, n->given[i].real, 16);
    return n->given[i].name->text;
}

/* The index of this address of the name: as before, or a new one. UINT32_MAX: none left.
 */
static uint32_t give(struct resolver *n, struct name *m, const unsigned char real[16])
{
    for (uint32_t i = 0; i < n->givens; i++) {
        if (n->given[i].name == m && memcmp(n->given[i].real, real, 16) == 0)
            return i;
    }
    if (n->givens >= NAMES_GIVEN_MAX)
        return UINT32_MAX;
    if (n->givens == n->cap) {
        n->cap = n->cap ? 2 * n->cap : 64;
        n->given = xrealloc(n->given, n->cap, sizeof(*n->given));
    }
    n->given[n->givens].name = m;
    memcpy(n->given[n->givens].real, real, 16);
    return n->givens++;
}

/* ---- the lookup, in a child ---- */

static void look_up(const char *text, int out)
{
    struct names_found f = {.code = SERVER_FAILURE};
    const struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL, *x;
    alarm(LOOKUP_S);
    int rc = getaddrinfo(text, NULL, &want, &list);
    if (rc == 0)
        f.code = NO_ERROR;
    else if (rc == EAI_NONAME || rc == EAI_NODATA)
        f.code = NO_SUCH_NAME;
    for (x = list; rc == 0 && x && f.n < 2 * NAMES_ADDRESSES; x = x->ai_next) {
        const struct sockaddr_in *v4 = (const void *)x->ai_addr;
        const struct sockaddr_in6 *v6 = (const void *)x->ai_addr;
        if (x->ai_family == AF_INET) {
            address_of_ipv4(f.a[f.n++], &v4->sin_addr);
        } else if (x->ai_family == AF_INET6) {
            memcpy(f.a[f.n++], &v6->sin6_addr, 16);
        }
    }
    ssize_t ignored = write(out, &f, sizeof(f));
    (void)ignored;
    _exit(0);
}

static void start_lookup(struct resolver *n, struct name *m)
{
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0)
        return;
    pid_t pid = spawn_copy(&p[1], 1);
    if (pid == 0)
        look_up(m->text, 3);
    close(p[1]);
    if (pid < 0) {
        close(p[0]);
        return;
    }
    fcntl(p[0], F_SETFL, O_NONBLOCK);
    m->pipe = p[0];
    n->asked++;
    n->ev->watch(n->arg, p[0], m, true);
}

/* ---- questions and answers ---- */

/*
 * Reads the one question: the name in lower case into text, its type, and where it ends.
 * Returns -1 if it is none that is answered.
 */
static int read_question(const unsigned char *p, size_t n, char text[NAME_TEXT],
                         unsigned *type, size_t *end)
{
    size_t at = HEADER, used = 0;
    if (n < HEADER || (p[2] & 0x80) || (p[4] << 8 | p[5]) != 1)
        return -1;
    while (at < n && p[at] != 0) {
        size_t len = p[at++];
        if (len > 63 || at + len >= n || used + len + 2 > NAME_TEXT)
            return -1;
        if (used > 0)
            text[used++] = '.';
        for (size_t i = 0; i < len; i++) {
            char c = (char)p[at++];
            if (c >= 'A' && c <= 'Z')
                c = (char)(c + 32);
            if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '_'))
                return -1;
            text[used++] = c;
        }
    }
    text[used] = 0;
    if (at + 5 > n || (p[at + 3] << 8 | p[at + 4]) != CLASS_IN)
        return -1;
    *type = (unsigned)(p[at + 1] << 8 | p[at + 2]);
    *end = at + 5;
    return 0;
}

struct names_reply {
    unsigned char bytes[NAMES_ANSWER_MAX];
    size_t n;
};

static void put16(struct names_reply *r, unsigned v)
{
    r->bytes[r->n++] = (unsigned char)(v >> 8);
    r->bytes[r->n++] = (unsigned char)v;
}

/* Begins the answer to a question that ends at `end`. */
static void begin(struct names_reply *r, const unsigned char *question, size_t end,
                  int code)
{
    memcpy(r->bytes, question, end);
    r->bytes[2] = (unsigned char)(0x80 | (question[2] & 0x79)); /* QR; as asked: RD */
    r->bytes[3] = (unsigned char)(0x80 | code);                 /* RA */
    memset(r->bytes + 6, 0, 6);
    if (end == HEADER) /* the question was not understood */
        r->bytes[4] = r->bytes[5] = 0;
    r->n = end;
}

static void add(struct names_reply *r, unsigned type, const unsigned char a[16])
{
    unsigned size = type == TYPE_A ? 4 : 16;
    if (r->n + 12 + size > sizeof(r->bytes))
        return;
    put16(r, 0xc000 | HEADER); /* the name of the question (RFC 1035, 4.1.4) */
    put16(r, type);
    put16(r, CLASS_IN);
    put16(r, 0);
    put16(r, ANSWER_TTL);
    put16(r, size);
    memcpy(r->bytes + r->n, a + 16 - size, size);
    r->n += size;
    r->bytes[7]++;
}

static void send_reply(struct resolver *n, const struct names_asker *who,
                       const struct names_reply *r)
{
    n->ev->answer(n->arg, who, r->bytes, r->n);
}

static void answer_code(struct resolver *n, const struct names_asker *who,
                        const unsigned char *q, size_t end, int code)
{
    struct names_reply r;
    begin(&r, q, end, code);
    send_reply(n, who, &r);
}

static void answer_found(struct resolver *n, const struct names_asker *who,
                         struct name *m, const unsigned char *q, size_t end,
                         unsigned type)
{
    struct names_reply r;
    begin(&r, q, end, m->found.code);
    for (uint32_t i = 0; i < m->found.n; i++) {
        unsigned char a[16];
        bool ipv4 = address_is_ipv4(m->found.a[i]);
        if (m->given[i] == UINT32_MAX || ipv4 != (type == TYPE_A))
            continue;
        make_address(m->given[i], ipv4, a);
        if (type == TYPE_A || type == TYPE_AAAA)
            add(&r, type, a);
    }
    send_reply(n, who, &r);
}

static bool is_localhost(const char *text)
{
    size_t k = strlen(text);
    return strcmp(text, "localhost") == 0 ||
           (k > 10 && strcmp(text + k - 10, ".localhost") == 0);
}

/* RFC 6761, 6.3 */
static void answer_localhost(struct resolver *n, const struct names_asker *who,
                             const unsigned char *q, size_t end, unsigned type)
{
    static const unsigned char four[16] = {[12] = 127, [15] = 1}, six[16] = {[15] = 1};
    struct names_reply r;
    begin(&r, q, end, NO_ERROR);
    if (type == TYPE_A || type == TYPE_AAAA)
        add(&r, type, type == TYPE_A ? four : six);
    send_reply(n, who, &r);
}

/* What follows the labels of a service, as in _http._tcp.NAME (RFC 2782). */
static struct str behind_service(const char *text)
{
    struct str rest = str_of(text);
    while (rest.n > 0 && rest.p[0] == '_')
        str_cut(&rest, '.');
    return rest;
}

static struct name *name_for(struct resolver *n, const char *text)
{
    struct name *m = map_get(&n->by_text, str_of(text));
    if (m || n->by_text.count >= NAMES_MAX)
        return m;
    m = xnew(struct name);
    snprintf(m->text, sizeof(m->text), "%s", text);
    m->pipe = -1;
    map_put(&n->by_text, str_of(m->text), m);
    return m;
}

/* Keeps the question until the lookup has ended. Returns -1 if too many wait. */
static int keep_question(struct resolver *n, struct name *m,
                         const struct names_asker *who, const unsigned char *q,
                         size_t end)
{
    for (unsigned i = 0; i < NAMES_WAITERS; i++) {
        struct waiter *w = &n->waiters[i];
        if (w->name)
            continue;
        w->name = m;
        w->who = *who;
        w->n = (unsigned)end;
        memcpy(w->question, q, end);
        return 0;
    }
    return -1;
}

void names_ask(struct resolver *n, const struct names_asker *who, const void *bytes,
               size_t size)
{
    const unsigned char *q = bytes;
    char text[NAME_TEXT];
    unsigned type;
    size_t end;
    if (size > NAMES_QUESTION_MAX || read_question(q, size, text, &type, &end) < 0) {
        if (size >= HEADER && !(q[2] & 0x80))
            answer_code(n, who, q, HEADER, NOT_IMPLEMENTED);
        return;
    }
    if (is_localhost(text)) {
        answer_localhost(n, who, q, end, type);
        return;
    }
    if (!n->learns && !reach_name(n->rules, str_of(text), 0)) {
        if (!reach_is_searched(n->rules, str_of(text)) &&
            !reach_name(n->rules, behind_service(text), 0))
            n->ev->refused(n->arg, who, str_of(text));
        answer_code(n, who, q, end, NO_SUCH_NAME);
        return;
    }
    struct name *m = name_for(n, text);
    if (m && m->until_ms > clock_ms()) {
        answer_found(n, who, m, q, end, type);
        return;
    }
    if (m && m->pipe < 0 && n->asked < NAMES_ASKED_MAX)
        start_lookup(n, m);
    if (!m || m->pipe < 0 || keep_question(n, m, who, q, end) < 0)
        answer_code(n, who, q, end, SERVER_FAILURE);
}

bool names_opens(const struct resolver *n, const void *bytes, size_t size)
{
    char text[NAME_TEXT];
    unsigned type;
    size_t end;
    return size <= NAMES_QUESTION_MAX &&
           read_question(bytes, size, text, &type, &end) == 0 &&
           reach_opens(n->rules, str_of(text), 0);
}

void names_ready(struct resolver *n, void *name)
{
    struct name *m = name;
    struct names_found f = {0};
    ssize_t got = read(m->pipe, &f, sizeof(f));
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    n->ev->watch(n->arg, m->pipe, m, false);
    close(m->pipe);
    m->pipe = -1;
    n->asked--;
    if (got != (ssize_t)sizeof(f) || f.n > 2 * NAMES_ADDRESSES)
        f = (struct names_found){.code = SERVER_FAILURE};
    m->found = f;
    for (uint32_t i = 0; i < f.n; i++)
        m->given[i] = give(n, m, f.a[i]);
    m->until_ms = f.code == SERVER_FAILURE ? 0 : clock_ms() + NAMES_TTL_MS;
    for (unsigned i = 0; i < NAMES_WAITERS; i++) {
        struct waiter *w = &n->waiters[i];
        char text[NAME_TEXT];
        unsigned type;
        size_t end;
        if (w->name != m)
            continue;
        w->name = NULL;
        if (read_question(w->question, w->n, text, &type, &end) == 0)
            answer_found(n, &w->who, m, w->question, end, type);
    }
}

/* ---- the machine's files ---- */

static bool same_address(struct str word, const unsigned char a[16])
{
    char text[64];
    unsigned char b[16] = {0};
    if (word.n >= sizeof(text))
        return false;
    memcpy(text, word.p, word.n);
    text[word.n] = 0;
    if (inet_pton(AF_INET6, text, b) != 1) {
        address_map(b);
        if (inet_pton(AF_INET, text, b + 12) != 1)
            return false;
    }
    return memcmp(a, b, 16) == 0;
}

static struct str next_word(struct str *line)
{
    size_t from = 0, to;
    while (from < line->n && (line->p[from] == ' ' || line->p[from] == '\t'))
        from++;
    for (to = from; to < line->n && line->p[to] != ' ' && line->p[to] != '\t'; to++) {
        if (line->p[to] == '#') {
            line->n = to;
            break;
        }
    }
    struct str word = str_sub(*line, from, to - from);
    *line = str_sub(*line, to, line->n);
    return word;
}

bool names_is_server(const unsigned char a[16])
{
    struct buf text = BUF_INIT(FILE_BYTES);
    struct err e = ERR_INIT;
    bool is = false;
    file_read("/etc/resolv.conf", FILE_BYTES, &text, &e);
    for (struct str rest = buf_str(&text); rest.n > 0 && !is;) {
        struct str line = str_cut(&rest, '\n');
        is = str_eq(next_word(&line), STR("nameserver")) &&
             same_address(next_word(&line), a);
    }
    buf_release(&text);
    return is;
}

typedef bool hosts_fits(const struct reach *rules, struct str name, unsigned port);

/* The first name of the address that fits; n 0: there is none. text has its bytes. */
static struct str find_in_hosts(const struct reach *rules, const unsigned char a[16],
                                unsigned port, hosts_fits *fits, struct buf *text)
{
    struct err e = ERR_INIT;
    file_read("/etc/hosts", FILE_BYTES, text, &e);
    for (struct str rest = buf_str(text); rest.n > 0;) {
        struct str line = str_cut(&rest, '\n'), word;
        if (!same_address(next_word(&line), a))
            continue;
        while ((word = next_word(&line)).n > 0) {
            if (fits(rules, word, port))
                return word;
        }
    }
    return (struct str){0};
}

bool names_in_hosts(const struct reach *rules, const unsigned char a[16], unsigned port)
{
    struct buf text = BUF_INIT(FILE_BYTES);
    bool is = find_in_hosts(rules, a, port, reach_name, &text).n > 0;
    buf_release(&text);
    return is;
}

bool names_opened_in_hosts(const struct reach *rules, const unsigned char a[16],
                           unsigned port, char name[REACH_NAME_MAX + 1])
{
    struct buf text = BUF_INIT(FILE_BYTES);
    struct str found = find_in_hosts(rules, a, port, reach_opens, &text);
    bool is = reach_name_of(found, name) > 0;
    buf_release(&text);
    return is;
}
