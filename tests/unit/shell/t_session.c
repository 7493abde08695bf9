/* SPDX-License-Identifier: MIT */
/*
 * What a session knows of its shell and of its commands, without a shell: the
 * records in the file r in every state of arrival, and the answers it keeps.
 */
#include "shell/session_own.h"

#include "base/limits.h"
#include "shell/spool.h"
#include "t.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>

static char path_var[] = "PATH=/first:/second";
static char *env[] = {path_var, NULL};
static char *bare[] = {NULL};

struct fixture {
    struct loop *loop;
    struct engine en;
    struct session *s;
    int keeper; /* the other end of en.keeper */
};

static void (*on_emptied)(void); /* a file was cut to nothing just now */

int ftruncate(int fd, off_t size)
{
    int r = (int)syscall(SYS_ftruncate, fd, size);
    if (r == 0 && size == 0 && on_emptied)
        on_emptied();
    return r;
}

/* Each case has a process of its own, so what it opens ends with it. */
static struct fixture *open_fixture(char **with)
{
    static struct fixture all[8];
    static int n;
    struct err e = ERR_INIT;
    struct fixture *f = &all[n++];
    *f = (struct fixture){.loop = loop_new()};
    CHECK(f->loop != NULL);
    CHECK_INT(engine_open(&f->en, f->loop, &e), 0);
    f->en.env = with;
    struct session_opts o = {0};
    f->s = session_get(&f->en, STR("main"), &o, &e);
    CHECK(f->s != NULL);
    return f;
}

/* The file r, empty, as the session's shell finds it. */
static int open_records(struct fixture *f)
{
    char path[300];
    snprintf(f->s->sh.dir, sizeof(f->s->sh.dir), "%s", t_dir());
    snprintf(path, sizeof(path), "%s/r", f->s->sh.dir);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg, (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg, (void)key, (void)value;
}

static void on_ready(void *arg) { loop_stop(((struct fixture *)arg)->loop); }

static void on_signal(void *arg, int signo) { (void)arg, (void)signo; }

/* A keeper that the test is itself. */
static void open_keeper(struct fixture *f)
{
    static const struct keeper_client_events events = {on_held, on_state, on_ready,
                                                       on_signal};
    int fds[2];
    CHECK_INT(keep_pair(fds), 0);
    f->keeper = fds[1];
    f->en.keeper = keeper_client_open(f->loop, fds[0], &events, f);
    CHECK(f->en.keeper != NULL);
}

static void put(int fd, struct str bytes)
{
    CHECK_INT(write(fd, bytes.p, bytes.n), (long)bytes.n);
}

/* ---- output that was overwritten ---- */

/* A shell that has written so much since its command was typed, and the ring so little. */
static void write_over(struct fixture *f, uint64_t typed_at, uint64_t offset)
{
    enum { RING = 4096 };
    struct session *s = f->s;
    struct err e = ERR_INIT;
    uint64_t valid = offset - RING;
    open_keeper(f);
    s->proc.keeper = f->en.keeper;
    s->proc.spool[0] = spool_make(NULL, "ring", &e);
    CHECK(s->proc.spool[0] >= 0);
    CHECK_INT(pwrite(s->proc.spool[0], &valid, sizeof(valid), RING), sizeof(valid));
    s->proc.r.out[0].cap = RING;
    s->proc.r.out[0].offset = offset;
    s->state = SESSION_TYPED;
    s->run.seq = s->cmd.seq = 1;
    s->cmd.typed_at = s->scan.at = typed_at;
    buf_addz(&s->run.text, "head -c 100000 /dev/zero");
    snprintf(s->sh.nonce, sizeof(s->sh.nonce), "01234567");
    session_changed(&s->proc);
    CHECK_INT(s->scan.at, offset);
}

TEST(a_start_that_was_overwritten_leaves_a_gap_and_no_empty_answer)
{
    struct fixture *f = open_fixture(env);
    write_over(f, 100, 100000);
    session_end_command(f->s, 99990, 0);
    CHECK(f->s->cmd.started);
    CHECK_INT(f->s->cmd.from, 100);
    CHECK_INT(f->s->cmd.to, 99990);
    CHECK_INT(f->s->run.text.n, 0); /* it ran: it is not run again */
}

TEST(a_command_that_did_not_begin_has_no_output)
{
    struct fixture *f = open_fixture(env);
    write_over(f, 99000, 100000);
    session_end_command(f->s, 99990, 0);
    CHECK_INT(f->s->cmd.from, 99990);
    CHECK_INT(f->s->cmd.to, 99990);
}

/* ---- records ---- */

#define RECORD \
    "E\0" \
    "3\0" \
    "7\0" \
    "hB!\0" \
    "/usr\0" \
    "4242\0" \
    "/a:/b\0"

TEST(before_the_first_end_path_is_that_of_the_environment)
{
    struct fixture *f = open_fixture(env);
    CHECK_STR(session_path(f->s), "/first:/second");
    CHECK_INT(session_last_background(f->s), 0);
    buf_add(&f->s->given.env, "PATH=/own", sizeof("PATH=/own"));
    session_first_path(f->s);
    CHECK_STR(session_path(f->s), "/own");
    f = open_fixture(bare);
    CHECK_STR(session_path(f->s), "");
}

TEST(a_record_is_taken_when_all_of_it_is_there)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    struct str whole = STR(RECORD);
    for (size_t i = 0; i < whole.n; i++) {
        session_read_records(f->s);
        CHECK_INT(f->s->report.seq, 0);
        CHECK_STR(session_path(f->s), "/first:/second");
        put(fd, str_n(whole.p + i, 1));
    }
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 3);
    CHECK_INT(f->s->report.status, 7);
    CHECK_STR(f->s->report.flags, "hB!");
    CHECK_STR(session_cwd(f->s), "/usr");
    CHECK_INT(session_last_background(f->s), 4242);
    CHECK_STR(session_path(f->s), "/a:/b");
    CHECK_INT(f->s->report.at, whole.n);
}

TEST(records_that_begin_anew_are_found_by_the_next_worker)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    f->s->report.at = 50000; /* of the file as it was before it was emptied */
    put(fd, STR(RECORD));
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 3);
    CHECK_INT(f->s->report.at, sizeof(RECORD) - 1);
}

TEST(the_last_record_is_what_holds)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    put(fd, STR(RECORD "D\0input\0"
                       "P\0"
                       "4\0"
                       "0\0"
                       "h\0"
                       "/\0"
                       "\0"
                       "\0"));
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 4);
    CHECK_STR(session_cwd(f->s), "/");
    CHECK_INT(session_last_background(f->s), 0);
    CHECK_STR(session_path(f->s), "");
    CHECK(str_find(str_of(f->s->report.dropped), STR("dropped: input")) >= 0);
}

TEST(what_is_no_record_changes_nothing)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    put(fd, STR(RECORD "E\0"
                       "x\0"
                       "0\0"
                       "h\0"
                       "/tmp\0"
                       "1\0"
                       "/x\0"));
    put(fd, STR("E\0"
                "5\0"
                "-1\0"
                "h\0"
                "/tmp\0"
                "1\0"
                "/x\0"));
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 3);
    CHECK_STR(session_cwd(f->s), "/usr");
    CHECK_STR(session_path(f->s), "/a:/b");
    put(fd, STR("E\0"
                "6\0"
                "0\0"
                "h\0"
                "/\0"
                "99999999999\0"
                "/x\0"));
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 6);
    CHECK_INT(session_last_background(f->s), 0); /* no pid is as large */
}

/* PATH of n bytes: /d/d/d…:/d/d… with a colon after every 100 bytes. */
static void put_long_path(int fd, size_t n)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_adds(&b, STR("E\0"
                     "1\0"
                     "0\0"
                     "h\0"
                     "/\0"
                     "0\0"));
    for (size_t i = 0; i < n; i++)
        buf_addc(&b, i % 100 == 99 ? ':' : i % 2 ? 'd' : '/');
    buf_addc(&b, 0);
    put(fd, buf_str(&b));
    buf_release(&b);
}

TEST(a_long_path_ends_with_a_whole_directory)
{
    static const size_t sizes[][2] = {
        {4094, 4094}, {4095, 4095}, {4096, 3999}, {4099, 3999}, {9000, 3999}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fixture *f = open_fixture(env);
        put_long_path(open_records(f), sizes[i][0]);
        session_read_records(f->s);
        CHECK_INT(f->s->report.seq, 1);
        CHECK_INT(strlen(session_path(f->s)), sizes[i][1]);
    }
}

TEST(more_records_than_are_read_at_once)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    struct buf cwd = BUF_INIT(8192);
    for (int i = 0; i < 4095; i++)
        buf_addc(&cwd, '/');
    for (int i = 1; i <= 9; i++) {
        struct buf b = BUF_INIT(8192);
        buf_addf(&b, "E%c%d%c0%ch%c%s%c%d%c/bin%c", 0, i, 0, 0, 0, buf_z(&cwd), 0,
                 i + 100, 0, 0);
        put(fd, buf_str(&b));
        buf_release(&b);
    }
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 9);
    CHECK_INT(session_last_background(f->s), 109);
    CHECK_INT(strlen(session_cwd(f->s)), 4095);
    buf_release(&cwd);
}

TEST(a_file_that_has_grown_begins_again)
{
    struct fixture *f = open_fixture(env);
    int fd = open_records(f);
    for (size_t n = 0; n <= RECORDS_MAX; n += sizeof(RECORD) - 1)
        put(fd, STR(RECORD));
    open_keeper(f);
    session_read_records(f->s);
    session_empty_records(f->s);
    CHECK_INT(f->s->report.at, 0);
    CHECK_INT(lseek(fd, 0, SEEK_END), 0);
    put(fd, STR("E\0"
                "8\0"
                "0\0"
                "h\0"
                "/\0"
                "0\0"
                "/z\0"));
    session_read_records(f->s);
    CHECK_INT(f->s->report.seq, 8);
}

/* ---- the next worker ---- */

#define MARK "\033]7723;0a1b2c3d;E;3;7\a"

static struct fixture *dying; /* the worker that on_emptied looks at */
static struct buf kept;       /* the last state of its session at the keeper */

static void keep_last_state(void)
{
    static char space[sizeof(struct keep_head) + KEEP_DATA];
    struct keep_msg m;
    while (keep_recv(dying->keeper, &m, space) > 0) {
        if (str_eq(m.key, STR("session/main"))) {
            buf_reset(&kept);
            buf_adds(&kept, m.value);
        }
        keep_close_fds(&m);
    }
    on_emptied = NULL;
}

/* A shell whose command 3 runs; output that tells its end is there already. */
static void run_command(struct fixture *f)
{
    struct session *s = f->s;
    struct err e = ERR_INIT;
    s->proc.keeper = f->en.keeper;
    s->proc.spool[0] = spool_make(NULL, "spool", &e);
    s->proc.r = (struct keep_proc){.id = 1, .flags = KEEP_P_STARTED};
    s->proc.r.out[0].cap = 1 << 20;
    snprintf(s->sh.nonce, sizeof(s->sh.nonce), "0a1b2c3d");
    s->state = SESSION_RUNNING;
    s->run.seq = 3;
    s->cmd = (struct command){.seq = 3, .started = true};
    session_save(s);
    put(s->proc.spool[0], STR(MARK));
    s->proc.r.out[0].offset = sizeof(MARK) - 1;
}

/* What the keeper hands over, and the state: as the worker at its start has them. */
static struct session *take_over(struct fixture *f, const struct fixture *from)
{
    struct keep_proc r = from->s->proc.r;
    struct keep_msg proc = {
        .h = {.type = KEEP_PROC, .id = r.id, .a = 2, .flags = KEEP_ALL},
        .body = str_n(&r, sizeof(r)),
        .fds = {from->s->proc.spool[0]},
        .nfds = 1};
    struct keep_msg ready = {.h = {.type = KEEP_READY}};
    open_keeper(f);
    CHECK_INT(keep_send(f->keeper, &proc), 0);
    CHECK_INT(keep_send(f->keeper, &ready), 0);
    CHECK_INT(loop_run(f->loop), 0);
    session_resume(&f->en, STR("next"), buf_str(&kept));
    struct session *s = session_find(&f->en, STR("next"));
    CHECK(s != NULL);
    session_catch_up(s);
    return s;
}

TEST(an_end_is_known_to_a_worker_that_takes_over_when_the_records_are_emptied)
{
    struct fixture *f = open_fixture(env), *next = open_fixture(env);
    int fd = open_records(f);
    buf_init(&kept, LIMIT_BLOB_MAX);
    for (size_t n = 0; n <= RECORDS_MAX; n += sizeof(RECORD) - 1)
        put(fd, STR(RECORD));
    open_keeper(f);
    run_command(f);
    dying = f;
    on_emptied = keep_last_state;
    session_changed(&f->s->proc);
    CHECK(on_emptied == NULL);
    CHECK_INT(lseek(fd, 0, SEEK_END), 0);
    struct session *s = take_over(next, f);
    CHECK(!session_busy(s));
    CHECK(session_untold(s));
    CHECK_INT(s->cmd.status, 7);
    CHECK_STR(session_cwd(s), "/usr");
    CHECK_STR(session_path(s), "/a:/b");
    CHECK_INT(session_last_background(s), 4242);
    buf_release(&kept);
}

/* ---- answers that are kept ---- */

static void had(struct session *s, const char *id, uint64_t seq)
{
    struct answer *d = &s->answers.kept[s->answers.next++ % ANSWERS_KEPT];
    *d = (struct answer){.seq = seq};
    snprintf(d->id, sizeof(d->id), "%s", id);
}

TEST(the_newest_call_that_begins_so)
{
    struct fixture *f = open_fixture(env);
    CHECK(session_call(f->s, STR("")) == NULL);
    had(f->s, "a-1", 1);
    had(f->s, "b-2", 2);
    had(f->s, "a-3", 3);
    had(f->s, "", 4);
    CHECK_STR(session_call(f->s, STR("a-")), "a-3");
    CHECK_STR(session_call(f->s, STR("a-1")), "a-1");
    CHECK_STR(session_call(f->s, STR("b")), "b-2");
    CHECK_STR(session_call(f->s, STR("")), "a-3");
    CHECK(session_call(f->s, STR("c")) == NULL);
    CHECK(session_call(f->s, STR("a-33")) == NULL);
    snprintf(f->s->cmd.id, sizeof(f->s->cmd.id), "b-5");
    CHECK_STR(session_call(f->s, STR("b")), "b-5");
    CHECK_STR(session_call(f->s, STR("a")), "a-3");
    for (int i = 0; i < ANSWERS_KEPT; i++)
        had(f->s, "z", (uint64_t)i + 6);
    CHECK(session_call(f->s, STR("a")) == NULL);
}

TEST(an_end_is_untold_until_somebody_hears_of_it)
{
    struct fixture *f = open_fixture(env);
    CHECK(!session_untold(f->s));
    f->s->state = SESSION_IDLE;
    f->s->run.untold = OP_ENDED;
    CHECK(session_untold(f->s));
    f->s->run.untold = OP_SHELL_ENDED;
    CHECK(session_untold(f->s));
    f->s->state = SESSION_RUNNING;
    CHECK(!session_untold(f->s));
}

/* ---- who watches all commands ---- */

static struct seen {
    unsigned began, ended;
    struct command_seen last;
    char id[LIMIT_ID + 1], why[sizeof(((struct err *)0)->text)];
} watched;

static void see(struct seen *w, const struct command_seen *c)
{
    w->last = *c;
    snprintf(w->id, sizeof(w->id), "%s", c->id);
    snprintf(w->why, sizeof(w->why), "%s", c->failed ? c->failed->text : "");
}

static void on_began(void *arg, const struct command_seen *c)
{
    struct seen *w = arg;
    w->began++;
    see(w, c);
}

static void on_ended(void *arg, const struct command_seen *c)
{
    struct seen *w = arg;
    w->ended++;
    see(w, c);
}

static const struct session_watch watch = {on_began, on_ended, &watched};

static void on_op_done(struct op *op) { *(struct op_result *)op->owner = op->r; }

static size_t take_all(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    (void)op, (void)stream, (void)offset;
    return bytes.n;
}

static const struct op_sink sink = {.output = take_all, .done = on_op_done};

/* A shell with that output whose command 3, "x-3", was typed and is waited for. */
static void type_command(struct fixture *f, struct op_result *r, struct str output)
{
    struct op *op = op_new(OP_RUN, &sink, r);
    open_records(f);
    open_keeper(f);
    run_command(f);
    f->s->state = SESSION_TYPED;
    f->s->cmd.started = false;
    snprintf(f->s->cmd.id, sizeof(f->s->cmd.id), "x-3");
    CHECK_INT(pwrite(f->s->proc.spool[0], output.p, output.n, 0), (long)output.n);
    f->s->proc.r.out[0].offset = output.n;
    snprintf(op->id, sizeof(op->id), "x-3");
    *r = (struct op_result){.state = OP_NOTHING};
    session_run(f->s, op);
    watched = (struct seen){0};
    session_watch(&f->en, &watch);
}

#define BEGINS "\033]7723;0a1b2c3d;S;3\a"

TEST(a_watcher_is_called_once_when_a_command_begins_and_once_when_it_ends)
{
    struct fixture *f = open_fixture(env);
    struct op_result r;
    struct command_seen c;
    type_command(f, &r, STR(BEGINS "some output" MARK));
    int fd = open_records(f);
    put(fd, STR(RECORD));
    uint64_t all = f->s->proc.r.out[0].offset;
    f->s->proc.r.out[0].offset = sizeof(BEGINS) - 1;
    session_changed(&f->s->proc);
    CHECK_INT(watched.began, 1);
    CHECK_INT(watched.ended, 0);
    CHECK_STR(watched.id, "x-3");
    CHECK_INT(watched.last.seq, 3);
    CHECK(watched.last.began && !watched.last.ended && watched.last.session == f->s);
    CHECK_INT(watched.last.from, sizeof(BEGINS) - 1);
    CHECK(session_command(f->s, "x-3", &c));
    CHECK(c.began && !c.ended);
    CHECK_INT(c.from, sizeof(BEGINS) - 1);
    f->s->proc.r.out[0].offset = all;
    session_changed(&f->s->proc);
    CHECK_INT(watched.began, 1);
    CHECK_INT(watched.ended, 1);
    CHECK(watched.last.ended && watched.last.began && !watched.last.shell_ended);
    CHECK(watched.last.failed == NULL);
    CHECK_INT(watched.last.exit, 7);
    CHECK_INT(watched.last.signo, 0);
    CHECK_INT(watched.last.from, sizeof(BEGINS) - 1);
    CHECK_INT(watched.last.to, sizeof(BEGINS "some output") - 1);
    CHECK_INT(r.state, OP_ENDED); /* its caller knows too */
    CHECK(session_command(f->s, "x-3", &c));
    CHECK(c.ended);
    CHECK_INT(c.exit, 7);
    CHECK_INT(c.to, sizeof(BEGINS "some output") - 1);
    CHECK(!session_command(f->s, "x-4", &c));
    CHECK(!session_command(f->s, "", &c));
}

TEST(the_end_of_a_command_that_a_worker_before_saw_begin_is_known_by_its_id)
{
    struct fixture *f = open_fixture(env), *next = open_fixture(env);
    struct command_seen c;
    struct op_result r;
    buf_init(&kept, LIMIT_BLOB_MAX);
    type_command(f, &r, STR(BEGINS "some output" MARK));
    put(open_records(f), STR(RECORD));
    session_save(f->s); /* then that worker dies */
    dying = f;
    keep_last_state();
    session_watch(&next->en, &watch);
    struct session *s = take_over(next, f);
    CHECK_INT(watched.began, 1);
    CHECK_INT(watched.ended, 1);
    CHECK_STR(watched.id, "x-3");
    CHECK(session_command(s, "x-3", &c));
    CHECK(c.ended);
    CHECK_INT(c.exit, 7);
    CHECK_INT(c.from, sizeof(BEGINS) - 1);
    buf_release(&kept);
}

TEST(a_command_that_was_signalled_says_by_which)
{
    struct fixture *f = open_fixture(env);
    struct command_seen c;
    had(f->s, "k", 1);
    f->s->answers.kept[0].status = 137;
    CHECK(session_command(f->s, "k", &c));
    CHECK_INT(c.signo, 9);
    CHECK_INT(c.exit, 137);
}

TEST(a_shell_that_exits_between_an_end_and_its_prompt_leaves_nobody_waiting)
{
    struct fixture *f = open_fixture(env);
    struct op_result r;
    type_command(f, &r, STR(BEGINS "some output" MARK));
    put(open_records(f), STR(RECORD));
    f->s->sh.pty = true;
    f->s->cmd.fed = true; /* somebody typed to it, so its prompt is waited for */
    session_changed(&f->s->proc);
    CHECK_INT(f->s->end.step, END_AT_PROMPT);
    CHECK_INT(watched.ended, 0);
    CHECK_INT(r.state, OP_NOTHING);
    f->s->proc.r.flags |= KEEP_P_EXITED;
    f->s->proc.r.out[0].eof = true;
    session_shell_exit(f->s);
    CHECK_INT(r.state, OP_ENDED);
    CHECK_INT(r.exit, 7);
    CHECK_INT(watched.ended, 1);
    CHECK_INT(watched.last.exit, 7);
}

TEST(a_session_that_is_removed_ends_its_command)
{
    struct fixture *f = open_fixture(env);
    struct op_result r;
    type_command(f, &r, STR("prompt"));
    session_free(f->s);
    CHECK_INT(watched.began, 0);
    CHECK_INT(watched.ended, 1);
    CHECK_STR(watched.why, "session main was ended");
    CHECK_INT(r.state, OP_FAILED);
}

TEST(whether_the_terminal_shows_what_is_typed)
{
    struct fixture *f = open_fixture(env);
    struct termios t;
    CHECK(!session_echoes(f->s)); /* it has none */
    f->s->proc.in = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    f->s->sh.pty = true;
    CHECK(f->s->proc.in >= 0);
    CHECK_INT(tcgetattr(f->s->proc.in, &t), 0);
    t.c_lflag |= ECHO;
    CHECK_INT(tcsetattr(f->s->proc.in, TCSANOW, &t), 0);
    CHECK(session_echoes(f->s));
    t.c_lflag &= ~(tcflag_t)ECHO;
    CHECK_INT(tcsetattr(f->s->proc.in, TCSANOW, &t), 0);
    CHECK(!session_echoes(f->s));
}

/* ---- a command's standard input ---- */

static struct keep_msg heard;

/* The next message about a program; states are passed over. */
static int hear(struct fixture *f)
{
    static char space[sizeof(struct keep_head) + KEEP_DATA];
    while (keep_recv(f->keeper, &heard, space) > 0) {
        if (heard.h.type != KEEP_PUT)
            return heard.h.type;
    }
    return 0;
}

static struct session *open_feed(struct fixture *f)
{
    struct session *s = f->s;
    struct err e = ERR_INIT;
    open_keeper(f);
    close(open_records(f));
    CHECK_INT(session_open_feed(s, &e), 0);
    CHECK_INT(hear(f), KEEP_SPAWN);
    CHECK(heard.h.flags == (KEEP_BARE | KEEP_IN) && heard.nfds == 1);
    snprintf(s->cmd.id, sizeof(s->cmd.id), "call");
    return s;
}

TEST(input_that_is_repeated_is_fed_once)
{
    static char big[100 << 10];
    struct fixture *f = open_fixture(env);
    uint64_t accepted = 9;
    CHECK_INT(session_stdin_room(f->s, "call", &accepted), 0);
    session_stdin(f->s, 0, STR("nobody"), true);
    struct session *s = open_feed(f);
    CHECK_INT(session_stdin_room(s, "other", &accepted), 0);
    CHECK_INT(accepted, 9);
    CHECK_INT(session_stdin_room(s, "call", &accepted), 192 << 10);
    CHECK_INT(accepted, 0);
    session_stdin(s, 0, STR("hello"), false);
    CHECK_INT(hear(f), KEEP_WRITE);
    CHECK_MEM(heard.body.p, heard.body.n, "hello");
    session_stdin(s, 3, STR("lo, you"), false);
    CHECK_INT(hear(f), KEEP_WRITE);
    CHECK_MEM(heard.body.p, heard.body.n, ", you");
    CHECK_INT(heard.h.a, 5);
    session_stdin(s, 0, STR("hello"), false); /* it is there */
    CHECK_INT(hear(f), 0);
    session_stdin(s, 10, str_n(big, sizeof(big)), false);
    CHECK(hear(f) == KEEP_WRITE && heard.body.n == 64 << 10);
    CHECK(hear(f) == KEEP_WRITE && heard.body.n == sizeof(big) - (64 << 10));
    CHECK_INT(session_stdin_room(s, "call", &accepted), (192 << 10) - 10 - sizeof(big));
    CHECK_INT(accepted, 10 + sizeof(big));
    session_forget_feed(s);
    CHECK_INT(hear(f), KEEP_FORGET);
    CHECK_INT(session_stdin_room(s, "call", &accepted), 0);
    session_forget_feed(s);
    CHECK_INT(hear(f), 0);
}

TEST(the_end_of_input_waits_for_the_command_to_open_it)
{
    for (int started = 0; started < 2; started++) {
        struct fixture *f = open_fixture(env);
        struct session *s = open_feed(f);
        s->cmd.started = started;
        session_stdin(s, 0, STR(""), true);
        CHECK_INT(hear(f), started ? KEEP_CLOSE : 0);
        session_stdin(s, 0, STR(""), true);
        CHECK_INT(hear(f), 0); /* once */
        CHECK_INT(s->input.feeding, FEED_EOF);
    }
}

TEST(a_session_without_a_folder_feeds_nothing)
{
    struct fixture *f = open_fixture(env);
    struct err e = ERR_INIT;
    open_keeper(f);
    snprintf(f->s->sh.dir, sizeof(f->s->sh.dir), "/nonexistent");
    CHECK_INT(session_open_feed(f->s, &e), -1);
    CHECK(strstr(e.text, "cannot make /nonexistent/i for the command's input"));
    CHECK_INT(f->s->input.feeding, FEED_NONE);
    session_resume_feed(f->s, 0, true);
    session_resume_feed(f->s, 77, true); /* the keeper has no such program */
    CHECK_INT(f->s->input.feeding, FEED_NONE);
    CHECK_INT(hear(f), 0);
}

T_MAIN
