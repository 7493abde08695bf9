/* SPDX-License-Identifier: MIT */
/*
 * A call against a server that is killed at the worst moments. The server is a
 * child which accepts one connection after the other and does with each what
 * the case's function says; `turn` counts connections.
 */
#include "base/list.h"
#include "ipc/call.h"

#include "t.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

struct peer {
    int fd, turn;
    struct buf in;
};

typedef void serve_fn(struct peer *p);

static char path[300];
static struct err e;

/* The next frame from the client, its payload as text in out; 0: it left. */
static char next(struct peer *p, char *out, size_t size)
{
    struct frame f;
    size_t used;
    for (;;) {
        if (frame_parse(buf_str(&p->in), &f, &used) == 1)
            break;
        char *at = buf_reserve(&p->in, 65536);
        ssize_t n = read(p->fd, at, 65536);
        if (n <= 0)
            return 0;
        buf_commit(&p->in, (size_t)n);
    }
    size_t n = f.payload.n < size - 1 ? f.payload.n : size - 1;
    memcpy(out, f.payload.p, n);
    out[n] = '\0';
    buf_consume(&p->in, used);
    return f.type;
}

static void put(struct peer *p, const struct buf *out)
{
    if (write(p->fd, out->p, out->n) != (ssize_t)out->n)
        _exit(9);
}

static void put_json(struct peer *p, char type, const char *text)
{
    struct buf b = BUF_INIT(4096);
    frame_add(&b, type, str_of(text));
    put(p, &b);
    buf_release(&b);
}

static void put_bytes(struct peer *p, char type, uint64_t offset, const char *text)
{
    struct buf b = BUF_INIT(4096);
    frame_add_bytes(&b, type, offset, str_of(text));
    put(p, &b);
    buf_release(&b);
}

static int listen_there(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(path, sizeof(path), "%.90s/s", t_dir());
    snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    unlink(path);
    CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(fd, 8) == 0);
    return fd;
}

static pid_t start(serve_fn *fn)
{
    int ls = listen_there();
    pid_t pid = t_fork();
    if (pid != 0) {
        close(ls);
        return pid;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int turn = 0;; turn++) {
        struct peer p = {accept(ls, NULL, NULL), turn, BUF_INIT(FRAME_MAX)};
        fn(&p);
        close(p.fd);
        buf_release(&p.in);
    }
}

/* The client's side. */
struct user {
    struct call call;
    struct client client;
    struct json *request;
    struct buf out, err;
    int notes, signals;
};

static struct user *user_of(struct call *c)
{
    return container_of(c, struct user, call);
}

static int on_output(struct call *c, bool error, struct str bytes)
{
    struct user *u = user_of(c);
    buf_adds(error ? &u->err : &u->out, bytes);
    return 0;
}

static void on_note(struct call *c, const struct json *note)
{
    (void)note;
    user_of(c)->notes++;
}

static void on_signal(struct call *c, int signo)
{
    user_of(c)->signals = signo;
    call_leave(c, 0);
}

static const struct call_events events = {
    .on_output = on_output,
    .on_note = on_note,
    .on_signal = on_signal,
};

static void open_user(struct user *u)
{
    *u = (struct user){.out = BUF_INIT(1 << 20), .err = BUF_INIT(1 << 20)};
    u->request = json_object();
    json_put_z(u->request, "do", "run");
    CHECK_INT(client_open(&u->client, path, false, &e), 0);
    call_init(&u->call, &u->client, u->request, &events);
}

static void close_user(struct user *u)
{
    call_release(&u->call);
    client_close(&u->client);
    json_free(u->request);
    buf_release(&u->out);
    buf_release(&u->err);
}

/* Ten bytes of "0123…" a connection, some of them twice; then the result. */
static void serve_dropping(struct peer *p)
{
    char q[4096];
    static char first_id[64];
    if (next(p, q, sizeof(q)) != 'Q')
        return;
    struct json *j = json_parse(str_of(q), NULL);
    char id[64];
    snprintf(id, sizeof(id), "%.*s", STR_ARG(json_str(j, "id", "")));
    int64_t from = json_int(j, "output_from", -1);
    json_free(j);
    if (p->turn == 0)
        snprintf(first_id, sizeof(first_id), "%s", id);
    /* The same attempt, and from where it stopped. */
    if (strcmp(first_id, id) != 0 || strlen(id) != 32 ||
        from != (p->turn == 0 ? -1 : 100 + 10 * p->turn)) {
        put_json(p, 'R', "{\"ok\":false}");
        return;
    }
    if (p->turn == 0)
        put_json(p, 'N', "{\"note\":\"started\",\"op\":1,\"from\":100}");
    char text[16];
    int back = p->turn > 1 ? 3 : 0;
    for (int i = 0; i < 10 + back; i++)
        text[i] = (char)('0' + (10 - back + i) % 10);
    text[10 + back] = '\0';
    put_bytes(p, 'O', (uint64_t)(100 + 10 * p->turn - back), text);
    if (p->turn == 4)
        put_json(p, 'R', "{\"ok\":true,\"exit\":3}");
}

TEST(output_comes_once_over_lost_connections)
{
    pid_t pid = start(serve_dropping);
    struct user u;
    open_user(&u);
    struct json *r = call_run(&u.call, &e);
    CHECK(r != NULL);
    CHECK(json_bool(r, "ok", false));
    CHECK_INT(json_int(r, "exit", -1), 3);
    CHECK_MEM(u.out.p, u.out.n, "01234567890123456789012345678901234567890123456789");
    CHECK_INT(u.notes, 1);
    json_free(r);
    close_user(&u);
    kill(pid, SIGKILL);
}

/* Accepts 100,000 bytes, reads more, dies; the next takes what is not accepted. */
static void serve_input(struct peer *p)
{
    static uint64_t have;
    static uint64_t sum;
    char *space = malloc(FRAME_MAX);
    char type;
    uint64_t seen = have;
    while ((type = next(p, space, FRAME_MAX)) != 0) {
        if (type != 'I')
            continue;
        uint64_t offset = 0;
        for (int i = 7; i >= 0; i--)
            offset = offset << 8 | (unsigned char)space[i];
        size_t n = strlen(space + 8);
        if (offset > seen)
            _exit(8); /* a hole */
        if (n == 0 && offset == seen) {
            char result[64];
            snprintf(result, sizeof(result), "{\"ok\":true,\"sum\":%llu,\"n\":%llu}",
                     (unsigned long long)sum, (unsigned long long)have);
            put_json(p, 'R', result);
            break;
        }
        for (size_t i = (size_t)(seen - offset); i < n; i++) {
            if (p->turn == 0 && have == 100000)
                break;
            sum += (unsigned char)space[8 + i] * (have % 97 + 1);
            have++;
        }
        seen = have;
        struct buf b = BUF_INIT(64);
        frame_add_u64(&b, 'W', have);
        put(p, &b);
        buf_release(&b);
        if (p->turn == 0 && have == 100000)
            break;
    }
    free(space);
}

TEST(input_is_sent_again_from_what_was_accepted)
{
    pid_t pid = start(serve_input);
    char file[300];
    snprintf(file, sizeof(file), "%s/input", t_dir());
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    enum { SIZE = 3000001 };
    char *bytes = malloc(SIZE);
    uint64_t sum = 0;
    for (int i = 0; i < SIZE; i++) {
        bytes[i] = (char)('a' + (i * 31 + i / 7) % 26);
        sum += (unsigned char)bytes[i] * (uint64_t)(i % 97 + 1);
    }
    CHECK(write(fd, bytes, SIZE) == SIZE && lseek(fd, 0, SEEK_SET) == 0);
    free(bytes);
    struct user u;
    open_user(&u);
    u.call.input = fd;
    struct json *r = call_run(&u.call, &e);
    CHECK(r != NULL);
    CHECK_INT(json_int(r, "n", 0), SIZE);
    CHECK_INT(json_int(r, "sum", 0), sum);
    json_free(r);
    close_user(&u);
    kill(pid, SIGKILL);
}

static void serve_window(struct peer *p)
{
    /* Nothing is ever accepted: how much comes? */
    char *space = malloc(FRAME_MAX);
    size_t total = 0;
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    while (p->in.n > 0 || poll(&f, 1, 300) > 0) {
        char type = next(p, space, FRAME_MAX);
        if (type == 0)
            break;
        total += type == 'I' ? strlen(space + 8) : 0;
        if (type == 'I' && total == FRAME_INPUT_WINDOW)
            put_json(p, 'N', "{\"note\":\"full\"}");
    }
    char result[64];
    snprintf(result, sizeof(result), "{\"ok\":true,\"n\":%zu}", total);
    put_json(p, 'R', result);
    free(space);
}

TEST(unaccepted_input_stays_within_the_window)
{
    pid_t pid = start(serve_window);
    int in[2];
    CHECK(pipe(in) == 0);
    pid_t writer = t_fork();
    if (writer == 0) {
        static char block[4096];
        memset(block, 'x', sizeof(block));
        while (write(in[1], block, sizeof(block)) > 0)
            continue;
        _exit(0);
    }
    struct user u;
    open_user(&u);
    u.call.input = in[0];
    struct json *r = call_run(&u.call, &e);
    CHECK(r != NULL);
    CHECK_INT(json_int(r, "n", 0), FRAME_INPUT_WINDOW);
    CHECK_INT(u.notes, 1);
    json_free(r);
    close_user(&u);
    kill(pid, SIGKILL);
    kill(writer, SIGKILL);
}

/* Bytes "a", given at once; then the end. */
static struct json *put_many(size_t n, bool ended)
{
    struct user u;
    char *bytes = malloc(n);
    memset(bytes, 'a', n);
    open_user(&u);
    CHECK_INT(call_put(&u.call, str_n(bytes, n)), 0);
    CHECK_INT(ended ? call_put(&u.call, STR("")) : 0, 0);
    free(bytes);
    struct json *r = call_run(&u.call, &e);
    close_user(&u);
    return r;
}

TEST(what_is_put_follows_the_request_in_its_window)
{
    pid_t pid = start(serve_input);
    struct json *r = put_many(1000000, true);
    CHECK_INT(json_int(r, "n", 0), 1000000);
    json_free(r);
    kill(pid, SIGKILL);
    pid = start(serve_window);
    r = put_many(1000000, false);
    CHECK_INT(json_int(r, "n", 0), FRAME_INPUT_WINDOW);
    json_free(r);
    kill(pid, SIGKILL);
    struct call call;
    struct client client = {.fd = -1};
    call_init(&call, &client, NULL, NULL);
    char *bytes = calloc(1, FRAME_MAX + 1);
    CHECK_INT(call_put(&call, str_n(bytes, FRAME_MAX + 1)), -1);
    CHECK_INT(call_put(&call, str_n(bytes, 1)), 0);
    CHECK_INT(call.kept.n, 1);
    free(bytes);
    call_release(&call);
}

/* Marks of a session's own lie between what it shows. */
static void serve_jumps(struct peer *p)
{
    char q[4096];
    next(p, q, sizeof(q));
    put_bytes(p, 'O', 50, "ab");
    put_bytes(p, 'O', 70, "cd");
    put_bytes(p, 'E', 0, "err");
    put_bytes(p, 'O', 71, "de");
    put_bytes(p, 'O', 60, "old");
    put_json(p, '?', "of a later version");
    put_json(p, 'R', "{\"ok\":true}");
}

TEST(offsets_may_jump_and_overlap)
{
    pid_t pid = start(serve_jumps);
    struct user u;
    open_user(&u);
    struct json *r = call_run(&u.call, &e);
    CHECK(r != NULL);
    CHECK_MEM(u.out.p, u.out.n, "abcde");
    CHECK_MEM(u.err.p, u.err.n, "err");
    json_free(r);
    close_user(&u);
    kill(pid, SIGKILL);
}

static void serve_death(struct peer *p)
{
    char q[4096];
    next(p, q, sizeof(q));
    put_json(p, 'N', "{\"note\":\"started\"}");
    _exit(0);
}

TEST(a_server_that_ended_is_gone_and_nothing_is_asked_again)
{
    start(serve_death);
    struct user u;
    open_user(&u);
    CHECK(call_run(&u.call, &e) == NULL);
    CHECK_INT(e.code, ERR_GONE);
    CHECK_INT(u.notes, 1);
    close_user(&u);
}

/* Its place is taken before it is gone, by one that would run anything. */
static void serve_replaced(struct peer *p)
{
    char q[4096];
    next(p, q, sizeof(q));
    int ls = listen_there();
    if (t_fork() == 0) {
        close(p->fd);
        listen(ls, 8); /* who listens last is who the kernel names */
        for (;;) {
            struct peer other = {accept(ls, NULL, NULL), 0, BUF_INIT(FRAME_MAX)};
            if (next(&other, q, sizeof(q)) == 'Q')
                put_json(&other, 'R', "{\"ok\":true}");
        }
    }
    _exit(0);
}

TEST(a_server_that_took_its_place_is_not_asked)
{
    start(serve_replaced);
    struct user u;
    open_user(&u);
    struct json *r = call_run(&u.call, &e);
    CHECK(r == NULL);
    CHECK_INT(e.code, ERR_GONE);
    close_user(&u);
}

static void serve_junk(struct peer *p)
{
    static const char junk[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    if (write(p->fd, junk, sizeof(junk) - 1) < 0)
        _exit(1);
    pause();
}

TEST(what_speaks_something_else_is_named)
{
    pid_t pid = start(serve_junk);
    struct user u;
    open_user(&u);
    CHECK(call_run(&u.call, &e) == NULL);
    CHECK_INT(e.code, ERR_INVALID);
    close_user(&u);
    kill(pid, SIGKILL);
}

/* Says in a file what it was told last. */
static void serve_silent(struct peer *p)
{
    char q[4096], type, last = 0;
    while ((type = next(p, q, sizeof(q))) != 0)
        last = type;
    char file[300];
    snprintf(file, sizeof(file), "%s/last-%c", t_dir(), last);
    close(open(file, O_WRONLY | O_CREAT, 0600));
}

TEST(a_signal_leaves_and_says_so_to_the_server)
{
    pid_t pid = start(serve_silent);
    int sig[2];
    CHECK(pipe2(sig, O_NONBLOCK) == 0);
    CHECK(write(sig[1], "\2", 1) == 1);
    struct user u;
    open_user(&u);
    u.call.signals = sig[0];
    CHECK(call_run(&u.call, &e) == NULL);
    CHECK_INT(e.code, ERR_CANCELLED);
    CHECK_INT(u.signals, 2);
    close_user(&u);
    char file[300];
    snprintf(file, sizeof(file), "%s/last-X", t_dir());
    T_WAIT(access(file, F_OK) == 0);
    kill(pid, SIGKILL);
}

TEST(a_stuck_server_is_noticed)
{
    pid_t pid = start(serve_silent);
    struct user u;
    open_user(&u);
    u.call.limit_ms = 1;
    CHECK(call_run(&u.call, &e) == NULL);
    CHECK_INT(e.code, ERR_TIMEOUT);
    close_user(&u);
    kill(pid, SIGKILL);
}

static void serve_result(struct peer *p)
{
    char q[4096];
    next(p, q, sizeof(q));
    put_json(p, 'R', "{\"ok\":true,\"exit\":5}");
}

TEST(a_result_that_came_counts_although_the_time_is_over)
{
    pid_t pid = start(serve_result);
    struct user u;
    open_user(&u);
    u.call.limit_ms = -CALL_GUARD_MS + 1; /* over from the start */
    t_pause_ms(2);
    struct json *r = NULL;
    /* Sent by hand, so that the result is there before the first look. */
    struct buf q = BUF_INIT(64);
    frame_add(&q, 'Q', STR("{}"));
    CHECK(write(u.client.fd, q.p, q.n) == (ssize_t)q.n);
    struct pollfd f = {.fd = u.client.fd, .events = POLLIN};
    CHECK_INT(poll(&f, 1, 10000), 1);
    r = call_run(&u.call, &e);
    CHECK(r != NULL);
    CHECK_INT(json_int(r, "exit", 0), 5);
    json_free(r);
    buf_release(&q);
    close_user(&u);
    kill(pid, SIGKILL);
}

TEST(no_server_and_none_started)
{
    struct client c;
    snprintf(path, sizeof(path), "%s/none", t_dir());
    CHECK_INT(client_open(&c, path, false, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    client_close(&c);
    struct json *q = json_object();
    CHECK(call_simple(path, q, 1000, &e) == NULL);
    CHECK_INT(e.code, ERR_NOTFOUND);
    json_free(q);
}

TEST(writing_waits_for_a_full_pipe)
{
    struct user u = {.request = NULL};
    call_init(&u.call, NULL, NULL, &events);
    int p[2];
    CHECK(pipe2(p, O_NONBLOCK) == 0);
    enum { SIZE = 300000 };
    pid_t pid = t_fork();
    if (pid == 0) {
        char space[4096];
        size_t n = 0;
        fcntl(p[0], F_SETFL, 0);
        while (n < SIZE) {
            ssize_t got = read(p[0], space, sizeof(space));
            if (got <= 0)
                _exit(1);
            n += (size_t)got;
        }
        _exit(0);
    }
    char *bytes = calloc(1, SIZE);
    CHECK_INT(call_write(&u.call, p[1], str_n(bytes, SIZE)), 0);
    CHECK_INT(t_reap(pid), 0);
    free(bytes);

    /* It stays full: a signal ends the wait. */
    int sig[2];
    CHECK(pipe2(sig, O_NONBLOCK) == 0 && write(sig[1], "\2", 1) == 1);
    u.call.signals = sig[0];
    bytes = calloc(1, SIZE);
    CHECK_INT(call_write(&u.call, p[1], str_n(bytes, SIZE)), -1);
    CHECK_INT(errno, ECANCELED);
    free(bytes);
    close(p[0]);
    signal(SIGPIPE, SIG_IGN);
    CHECK_INT(call_write(&u.call, p[1], STR("x")), -1);
    CHECK_INT(errno, EPIPE);
    call_release(&u.call);
}

T_MAIN
