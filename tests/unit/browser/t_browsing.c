/* SPDX-License-Identifier: MIT */
/*
 * Browsers by name and calls to them: their turns, ends and limits, what a worker takes
 * up from the one before. The process of a browser is played: what is in process.h
 * is the tests' own here, so a host says what a case wants, and when.
 */
#include "base/limits.h"
#include "browser/browsing_own.h"
#include "engine/part.h"
#include "keeper/keeper_client.h"

#include "t.h"

/* ---- processes that are none ---- */

struct process {
    char name[64];
    struct buf in;     /* what it was told */
    uint64_t accepted; /* of that the keeper has; UINT64_MAX: all */
    size_t room;
    uint64_t said;
    struct op *reader;
    bool ended, eof;
    int signo; /* it was sent last */
};

static struct engine *engine_of_all;
static uint64_t spool_room = LIMIT_SPOOL_MEMORY;
static struct process all[8];
static int count;

/* The engine has no other parts here. */
const struct part *const engine_parts[] = {NULL};

struct process *process_start(struct engine *en, const struct process_opts *o,
                              struct err *e)
{
    struct process *p = &all[count++];
    (void)en;
    (void)e;
    CHECK(count <= 8);
    *p = (struct process){.room = 1 << 20, .accepted = UINT64_MAX};
    snprintf(p->name, sizeof(p->name), "%.*s", STR_ARG(o->name));
    CHECK_STR(o->argv[0], "od-browser");
    buf_init(&p->in, 1 << 22);
    buf_addz(&p->in, "");
    return p;
}

struct process *process_find(struct engine *en, struct str name)
{
    (void)en;
    for (int i = 0; i < count; i++) {
        if (str_eq(name, str_of(all[i].name)))
            return &all[i];
    }
    return NULL;
}

void process_wait(struct process *p, struct op *take)
{
    take->process = p;
    p->reader = take;
}

size_t process_stdin_room(const struct process *p, uint64_t *accepted)
{
    *accepted = p->accepted < p->in.n ? p->accepted : p->in.n;
    return p->room;
}

void process_stdin(struct process *p, uint64_t offset, struct str bytes, bool eof)
{
    CHECK_INT(offset, p->in.n);
    buf_adds(&p->in, bytes);
    p->eof |= eof;
}

void process_ask(struct process *p, struct str bytes, struct str key, struct str value)
{
    keeper_client_put(engine_of_all->keeper, key, value);
    process_stdin(p, p->in.n, bytes, false);
}

int process_signal(struct process *p, int sig, bool tree, struct err *e)
{
    (void)tree;
    (void)e;
    p->signo = sig;
    return 0;
}

bool process_ended(const struct process *p) { return p->ended; }
const char *process_name(const struct process *p) { return p->name; }
pid_t process_pid(const struct process *p) { return p->ended ? 0 : 4242; }
struct engine *process_engine(const struct process *p)
{
    (void)p;
    return engine_of_all;
}

/* What the rest of the engine knows of processes. */
struct process *process_by_call(struct engine *en, const char *id)
{
    (void)en;
    (void)id;
    return NULL;
}
void process_resume(struct engine *en, struct str name, struct str state)
{
    (void)en;
    (void)name;
    (void)state;
}
uint64_t process_output(const struct process *p) { return p->said; }
const struct keep_stream *process_stream(const struct process *p, int i, int *fd)
{
    (void)p;
    (void)i;
    *fd = -1;
    return NULL;
}
struct json *process_json(const struct process *p)
{
    (void)p;
    return json_object();
}
void process_cancel(struct process *p) { (void)p; }
uint64_t process_spool_bytes(const struct process *p)
{
    (void)p;
    return 0;
}
void process_flow(struct process *p) { (void)p; }
bool process_disk_full(const struct process *p)
{
    (void)p;
    return false;
}
uint64_t process_spool_room(struct engine *en, bool whole)
{
    (void)en;
    (void)whole;
    return spool_room;
}
bool process_forget_oldest(struct engine *en)
{
    (void)en;
    return false;
}
void process_free(struct process *p) { (void)p; }

/* ---- a worker, and a keeper that only remembers ---- */

static int keeper = -1;
static struct buf kept = BUF_INIT(LIMIT_BLOB_MAX); /* the last state that was stored */
static struct timer soon;

static void on_soon(struct timer *t)
{
    (void)t;
    loop_stop(engine_of_all->loop);
}

/* Two turns: what one deferred is done in the other. */
static void turn(void)
{
    static char space[sizeof(struct keep_head) + KEEP_DATA];
    struct keep_msg m;
    for (int i = 0; i < 2; i++) {
        timer_begin(engine_of_all->loop, &soon, 0, on_soon);
        CHECK_INT(loop_run(engine_of_all->loop), 0);
        while (keep_recv(keeper, &m, space) == 1) {
            buf_reset(&kept);
            buf_adds(&kept, m.value);
        }
    }
}

/* The next worker: what it knows, it has from the keeper. */
static struct engine *next_worker(void)
{
    static struct engine workers[4];
    static int n;
    struct err e = ERR_INIT;
    struct engine *before = engine_of_all, *en = &workers[n++];
    int fds[2] = {-1, -1};
    static const struct keeper_client_events none;
    struct loop *loop = before ? before->loop : loop_new();
    CHECK(loop != NULL);
    CHECK_INT(engine_open(en, loop, &e), 0);
    if (before) {
        en->keeper = before->keeper;
    } else {
        CHECK_INT(keep_pair(fds), 0);
        keeper = fds[1];
        CHECK((en->keeper = keeper_client_open(loop, fds[0], &none, NULL)) != NULL);
    }
    engine_of_all = en;
    return en;
}

static struct browsing *open_one(void)
{
    struct err e = ERR_INIT;
    struct browsing_opts o = {.downloads = STR("/d"), .cwd = STR("/")};
    struct browsing *b = browsing_open(next_worker(), STR("one"), &o, &e);
    CHECK(b != NULL);
    return b;
}

/* Another worker takes it up as the keeper has it. */
static struct browsing *take_over(void)
{
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    turn();
    buf_adds(&state, buf_str(&kept));
    CHECK(state.n > 0);
    browsing_resume(next_worker(), STR("one"), buf_str(&state));
    buf_release(&state);
    struct browsing *b = browsing_lookup(engine_of_all, STR("one"));
    CHECK(b != NULL);
    return b;
}

/* ---- calls ---- */

struct asker {
    int times;
    char url[100];
    struct err e;
};

static void on_done(void *owner, const struct json *answer, const struct err *e)
{
    struct asker *a = owner;
    a->times++;
    CHECK((answer == NULL) == (e != NULL));
    if (e)
        a->e = *e;
    else
        snprintf(a->url, sizeof(a->url), "%s", json_str(answer, "url", "").p);
}

static struct browsing_call *try_to_ask(struct browsing *b, const char *id,
                                        struct asker *a, struct err *e)
{
    struct json *what = json_object();
    struct browsing_ask q = {.id = id, .what = what, .timeout_ms = 5000};
    json_put_z(what, "actions", id);
    struct browsing_call *c = browsing_ask(b, &q, on_done, a, e);
    json_free(what);
    return c;
}

static struct browsing_call *ask(struct browsing *b, const char *id, struct asker *a)
{
    struct err e = ERR_INIT;
    *a = (struct asker){0};
    struct browsing_call *c = try_to_ask(b, id, a, &e);
    CHECK(c != NULL);
    turn();
    return c;
}

/* What the host was told since it was looked at last. */
#define TOLD(p, text) \
    do { \
        CHECK_STR(buf_z(&(p)->in) + told, text); \
        told = (p)->in.n; \
    } while (0)
static size_t told;

static void say(struct process *p, const char *text)
{
    struct str s = str_of(text);
    uint64_t at = p->said;
    p->said += s.n;
    CHECK_INT(p->reader->sink->output(p->reader, 0, at, s), s.n);
    turn();
}

static void end_host(struct process *p, int signo)
{
    p->ended = true;
    p->reader->r.signo = signo;
    p->reader->sink->done(p->reader);
    turn();
}

#define LINE(id)   "{\"id\":\"" id "\",\"within\":5000,\"actions\":\"" id "\"}\n"
#define ANSWER(id) "{\"id\":\"" id "\",\"url\":\"of " id "\"}\n"

static void failed(const struct asker *a, enum err_code code, const char *text)
{
    CHECK_INT(a->times, 1);
    CHECK_INT(a->e.code, code);
    CHECK(strstr(a->e.text, text) != NULL);
}

TEST(calls_come_one_after_the_other)
{
    struct browsing *b = open_one();
    struct asker x, y;
    CHECK_INT(count, 0); /* it starts with its first call */
    ask(b, "A", &x);
    ask(b, "B", &y);
    CHECK_INT(count, 1);
    TOLD(&all[0], LINE("A"));
    say(&all[0], "{\"dir\":\"/tmp/x\"}\nnothing of ours\n\n" ANSWER("B") "{\"id\":\"A\"");
    CHECK_INT(x.times + y.times, 0);
    say(&all[0], ",\"url\":\"of A\"}\n");
    CHECK_INT(x.times, 1);
    CHECK_STR(x.url, "of A");
    CHECK_INT(y.times, 0);
    TOLD(&all[0], LINE("B"));
    say(&all[0], ANSWER("B"));
    CHECK_STR(y.url, "of B");
    CHECK_INT(x.times + y.times, 2);
    struct json *j = browsing_json(b);
    CHECK_STR(json_str(j, "state", "").p, "idle");
    CHECK_STR(json_str(j, "url", "").p, "of B");
    json_free(j);
}

TEST(a_call_whose_time_the_host_ends_leaves_the_browser)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    ask(b, "B", &y);
    char line[100];
    snprintf(line, sizeof(line),
             "{\"id\":\"A\",\"failed\":\"in action 2\",\"code\":%d}\n", ERR_TIMEOUT);
    say(&all[0], line);
    failed(&x, ERR_TIMEOUT, "in action 2");
    say(&all[0], ANSWER("B"));
    CHECK_STR(y.url, "of B");
    CHECK_INT(count, 1);
    CHECK(!all[0].eof && !all[0].signo);
}

TEST(a_host_that_says_nothing_long_after_is_ended)
{
    struct asker x, y;
    next_worker();
    all[count++] = (struct process){.name = "od-browser-x",
                                    .in = BUF_INIT(1 << 20),
                                    .room = 1 << 20,
                                    .accepted = UINT64_MAX};
    buf_addz(&all[0].in, LINE("A"));
    char state[300];
    snprintf(state, sizeof(state),
             "{\"process\":\"od-browser-x\",\"call\":{\"id\":\"A\",\"begun\":1000,"
             "\"timeout\":1,\"in\":0,\"len\":%zu}}",
             all[0].in.n);
    browsing_resume(engine_of_all, STR("one"), str_of(state));
    struct browsing *b = browsing_lookup(engine_of_all, STR("one"));
    ask(b, "A", &x);
    ask(b, "B", &y);
    failed(&x, ERR_TIMEOUT, "did not answer within 15 s more: it was ended");
    CHECK(all[0].eof);
    CHECK_INT(all[0].signo, SIGTERM);
    CHECK_INT(count, 2);
    TOLD(&all[1], LINE("B"));
    say(&all[1], ANSWER("B"));
    CHECK_STR(y.url, "of B");
}

TEST(a_call_that_waits_is_cancelled_at_once)
{
    struct browsing *b = open_one();
    struct asker x, y, z;
    ask(b, "A", &x);
    struct browsing_call *c = ask(b, "B", &y);
    ask(b, "C", &z);
    CHECK(!browsing_runs(c));
    browsing_cancel(c);
    turn();
    failed(&y, ERR_CANCELLED, "before it began");
    CHECK(!timer_active(&b->idle)); /* it is in use */
    TOLD(&all[0], LINE("A"));
    say(&all[0], ANSWER("A"));
    TOLD(&all[0], LINE("C"));
    CHECK_INT(y.times, 1);
    CHECK(!timer_active(&b->idle));
    say(&all[0], ANSWER("C"));
    CHECK(timer_active(&b->idle));
}

TEST(a_call_that_runs_is_cancelled_by_the_host)
{
    struct browsing *b = open_one();
    struct asker x, y;
    struct browsing_call *c = ask(b, "A", &x);
    ask(b, "B", &y);
    CHECK(browsing_runs(c));
    browsing_cancel(c);
    browsing_cancel(c);
    TOLD(&all[0], LINE("A") "{\"cancel\":\"A\"}\n");
    CHECK_INT(x.times, 0);
    char line[100];
    snprintf(line, sizeof(line), "{\"id\":\"A\",\"failed\":\"cancelled\",\"code\":%d}\n",
             ERR_CANCELLED);
    say(&all[0], line);
    failed(&x, ERR_CANCELLED, "cancelled");
    TOLD(&all[0], LINE("B"));
    CHECK(!all[0].eof && !all[0].signo);
}

TEST(an_answer_that_was_sooner_than_the_cancel_is_one)
{
    struct browsing *b = open_one();
    struct asker x;
    browsing_cancel(ask(b, "A", &x));
    say(&all[0], ANSWER("A"));
    CHECK_STR(x.url, "of A");
    CHECK_INT(x.times, 1);
}

TEST(lost_output_is_asked_for_again)
{
    struct browsing *b = open_one();
    struct asker x;
    ask(b, "A", &x);
    TOLD(&all[0], LINE("A"));
    say(&all[0], "{\"id\":\"A\",\"te");
    all[0].said += 1000;
    all[0].reader->sink->note(all[0].reader, NOTE_GAP, "", all[0].said - 1000, all[0].said);
    turn();
    TOLD(&all[0], "{\"again\":\"A\"}\n");
    say(&all[0], "xt\":\"of it\"}");
    say(&all[0], "\n" ANSWER("A"));
    CHECK_INT(x.times, 1);
    CHECK_STR(x.url, "of A");
}

TEST(a_host_with_the_smallest_spool_goes_on)
{
    static char line[(256 << 10) / 8];
    spool_room = 256 << 10;
    struct browsing *b = open_one();
    struct asker x;
    ask(b, "A", &x);
    TOLD(&all[0], LINE("A"));
    memset(line, 'x', sizeof(line) - 1);
    say(&all[0], line); /* as much as it may print before it is told to go on */
    TOLD(&all[0], "{\"read\":32767}\n");
    say(&all[0], "\n" ANSWER("A"));
    CHECK_STR(x.url, "of A");
}

TEST(a_call_that_is_read_again_ends_with_its_browser)
{
    struct browsing *b = open_one();
    struct asker x;
    ask(b, "A", &x)->call.step = CALL_REPLAYED;
    browsing_close(b);
    failed(&x, ERR_CANCELLED, "the browser one was closed");
}

TEST(the_same_id_attaches_and_later_has_the_answer_again)
{
    struct browsing *b = open_one();
    struct asker x, y, z;
    struct err e = ERR_INIT;
    browsing_drop(ask(b, "A", &x)); /* it runs on */
    CHECK(ask(b, "A", &y) != NULL);
    TOLD(&all[0], LINE("A"));
    say(&all[0], ANSWER("A"));
    CHECK_INT(x.times, 0);
    CHECK_STR(y.url, "of A");
    ask(b, "A", &y);
    TOLD(&all[0], "{\"again\":\"A\"}\n");
    say(&all[0], ANSWER("A"));
    CHECK_STR(y.url, "of A");
    ask(b, "B", &z);
    TOLD(&all[0], LINE("B"));
    say(&all[0], ANSWER("B"));
    CHECK(try_to_ask(b, "A", &x, &e) == NULL); /* the host has the last one only */
    CHECK_INT(e.code, ERR_GONE);
    turn();
    TOLD(&all[0], "");
}

TEST(one_that_waits_and_is_dropped_is_never_begun)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    browsing_drop(ask(b, "B", &y));
    say(&all[0], ANSWER("A"));
    TOLD(&all[0], LINE("A"));
    CHECK_INT(y.times, 0);
}

TEST(another_worker_takes_up_the_call_that_runs)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    say(&all[0], "{\"dir\":\"/tmp/x\"}\n{\"id\":\"A\",");
    b = take_over();
    CHECK_INT(count, 1);
    CHECK_STR(json_str(b->opts, "downloads", "").p, "/d");
    CHECK_INT(all[0].reader->cursor, 0); /* what was read since is read again */
    all[0].said = 0;
    struct browsing_call *c = ask(b, "A", &y);
    CHECK_INT(c->call.timeout_ms, 5000);
    TOLD(&all[0], LINE("A"));
    browsing_cancel(c);
    TOLD(&all[0], "{\"cancel\":\"A\"}\n");
    say(&all[0], "{\"dir\":\"/tmp/x\"}\n{\"id\":\"A\",\"url\":\"of A\",\"title\":\"T\","
                 "\"mode\":\"text\"}\n");
    CHECK_STR(y.url, "of A");
    CHECK_INT(x.times, 0);
    int64_t used_ms = b->used_ms -= 1000;
    browsing_save_and_ask(b, STR(""));
    b = take_over(); /* between calls */
    CHECK_STR(b->dir, "/tmp/x");
    CHECK_STR(b->url, "of A");
    CHECK_STR(b->title, "T");
    CHECK_STR(b->mode, "text");
    CHECK_INT(b->used_ms, used_ms);
    CHECK_INT(all[0].reader->cursor, all[0].said);
    ask(b, "A", &y);
    TOLD(&all[0], "{\"again\":\"A\"}\n");
    CHECK_INT(count, 1);
    say(&all[0], ANSWER("A"));
    c = ask(b, "B", &x);
    TOLD(&all[0], LINE("B"));
    uint64_t in = c->call.in;
    CHECK(in > 0);
    b = take_over();
    CHECK_INT(companion_first(&b->host)->in, in);
}

TEST(a_call_that_never_reached_the_keeper_is_sent_again)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    all[0].accepted = 0;
    buf_reset(&all[0].in); /* it went with the worker */
    b = take_over();
    ask(b, "A", &y);
    TOLD(&all[0], LINE("A"));
    all[0].accepted = 5;
    buf_truncate(&all[0].in, 5); /* and now a part of it came */
    told = 5;
    b = take_over();
    all[0].accepted = UINT64_MAX;
    ask(b, "A", &y);
    TOLD(&all[0], "\n" LINE("A"));
    say(&all[0], ANSWER("A"));
    CHECK_STR(y.url, "of A");
}

TEST(nobodys_host_is_ended_by_the_next_worker)
{
    struct asker x;
    ask(open_one(), "A", &x);
    next_worker();
    map_put(&engine_of_all->processes, str_of(all[0].name), &all[0]);
    browsing_resumed(engine_of_all);
    CHECK(all[0].eof);
    CHECK_INT(all[0].signo, SIGTERM);
}

TEST(a_host_that_ends_fails_its_call_and_the_next_one_has_another)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    ask(b, "B", &y);
    end_host(&all[0], 9);
    failed(&x, ERR_GONE, "ended by signal 9");
    CHECK_INT(count, 2);
    CHECK_STR(buf_z(&all[1].in), LINE("B"));
    say(&all[1], ANSWER("B"));
    CHECK_STR(y.url, "of B");
}

TEST(closing_ends_all_of_it)
{
    struct browsing *b = open_one();
    struct asker x, y;
    ask(b, "A", &x);
    ask(b, "B", &y);
    browsing_close(b);
    turn();
    failed(&x, ERR_CANCELLED, "the browser one was closed");
    failed(&y, ERR_CANCELLED, "the browser one was closed");
    CHECK(all[0].eof);
    CHECK_INT(all[0].signo, SIGTERM);
    CHECK_INT(kept.n, 0); /* the keeper forgets it */
    CHECK(browsing_lookup(engine_of_all, STR("one")) == NULL);
}

TEST(what_is_too_much_is_refused)
{
    struct browsing *b = open_one();
    struct browsing_opts o = {0}, odd = {.mode = STR("odd")};
    struct asker x;
    struct err e = ERR_INIT;
    for (int i = 0; i < LIMIT_QUEUE_MAX; i++)
        ask(b, "", &x);
    CHECK(try_to_ask(b, "B", &x, &e) == NULL);
    CHECK_INT(e.code, ERR_LIMIT);
    b = browsing_open(engine_of_all, STR("two"), &o, &e);
    ask(b, "A", &x);
    all[1].room = 10;
    say(&all[1], ANSWER("A"));
    ask(b, "B", &x);
    failed(&x, ERR_LIMIT, "the browser's input takes 10 now");
    CHECK(browsing_open(engine_of_all, STR("a/b"), &o, &e) == NULL);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK(browsing_open(engine_of_all, STR("c"), &odd, &e) == NULL);
    CHECK_INT(e.code, ERR_INVALID);
    char name[20];
    for (int i = 2; i < LIMIT_BROWSERS_MAX; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        CHECK(browsing_open(engine_of_all, str_of(name), &o, &e) != NULL);
    }
    CHECK(browsing_open(engine_of_all, STR("more"), &o, &e) == NULL);
    CHECK_INT(e.code, ERR_LIMIT);
}

T_MAIN
