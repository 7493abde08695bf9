/* SPDX-License-Identifier: MIT */
/* The DevTools protocol: answers out of order, events, errors, peers that lie. */
#include "base/clock.h"
#include "base/limits.h"
#include "cdp/cdp.h"

#include "t.h"

#include <sys/socket.h>

static struct cdp devtools;
static int peer = -1;
static struct buf events = BUF_INIT(1 << 16);

static void on_event(void *owner, struct str session, struct str method,
                     const struct json *params)
{
    CHECK(owner == &devtools);
    buf_addf(&events, "%.*s/%.*s/%lld ", STR_ARG(session), STR_ARG(method),
             (long long)json_int(params, "n", 0));
    if (str_eq(method, STR("ask")))
        cdp_tell(&devtools, session, "Told", NULL);
}

static void open_pair(void)
{
    int fds[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    peer = fds[1];
    cdp_open(&devtools, fds[0], fds[0], on_event, &devtools);
    CHECK_INT(devtools.last_id, CDP_ID_FROM);
    devtools.last_id = 0;
    buf_reset(&events);
    buf_addz(&events, "");
}

static void say(struct str bytes)
{
    CHECK(write(peer, bytes.p, bytes.n) == (ssize_t)bytes.n);
}
/* Messages, each with its zero byte. */
#define SAY(text) say((struct str){text, sizeof(text)})

static int64_t soon(void) { return clock_ms() + 10000; }

TEST(a_call_and_its_answer)
{
    char got[200] = "";
    struct err e = ERR_INIT;
    open_pair();
    struct json *params = json_object();
    json_put_z(params, "url", "about:blank");
    CHECK_INT(cdp_send(&devtools, STR("S1"), "Page.navigate", params), 1);
    CHECK(read(peer, got, sizeof(got)) > 0);
    CHECK_STR(got, "{\"id\":1,\"method\":\"Page.navigate\",\"params\":{\"url\":"
                   "\"about:blank\"},\"sessionId\":\"S1\"}");
    SAY("{\"id\":1,\"result\":{\"a\":5}}");
    struct json *j = cdp_wait(&devtools, 1, soon(), &e);
    CHECK_INT(json_int(json_get(j, "result"), "a", 0), 5);
    json_free(j);
    cdp_close(&devtools);
}

TEST(answers_out_of_order_and_events_between)
{
    struct err e = ERR_INIT;
    open_pair();
    int one = cdp_send(&devtools, STR(""), "One", NULL),
        two = cdp_send(&devtools, STR(""), "Two", NULL);
    SAY("{\"method\":\"hello\",\"params\":{\"n\":1}}\0"
        "{\"id\":2,\"result\":{\"a\":2}}\0"
        "{\"method\":\"ask\",\"sessionId\":\"S\",\"params\":{\"n\":2}}\0"
        "{\"id\":1,\"result\":{\"a\":1}}");
    struct json *j = cdp_wait(&devtools, one, soon(), &e);
    CHECK_INT(json_int(json_get(j, "result"), "a", 0), 1);
    json_free(j);
    j = cdp_wait(&devtools, two, soon(), &e);
    CHECK_INT(json_int(json_get(j, "result"), "a", 0), 2);
    json_free(j);
    CHECK_STR(buf_z(&events), "/hello/1 S/ask/2 ");
    char got[400];
    ssize_t n = read(peer, got, sizeof(got) - 1);
    CHECK(n > 0 && memmem(got, (size_t)n, "Told", 4));
    cdp_close(&devtools);
}

TEST(errors_have_the_peers_words)
{
    struct err e = ERR_INIT;
    open_pair();
    cdp_send(&devtools, STR(""), "Page.navigate", NULL);
    SAY("{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"Cannot navigate\"}}");
    CHECK(!cdp_wait(&devtools, 1, soon(), &e));
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_STR(e.text, "Cannot navigate");
    cdp_send(&devtools, STR(""), "X", NULL);
    SAY("{\"id\":2,\"result\":{\"t\":\"a\\u0000b\"}}");
    CHECK(!cdp_wait(&devtools, 2, soon(), &e));
    CHECK_INT(e.code, ERR_INVALID);
    CHECK(!cdp_wait(&devtools, 7, soon(), &e));
    CHECK_INT(e.code, ERR_LIMIT);
    cdp_close(&devtools);
}

TEST(a_call_that_nobody_answers)
{
    struct err e = ERR_INIT;
    open_pair();
    cdp_send(&devtools, STR(""), "Slow", NULL);
    CHECK(!cdp_wait(&devtools, 1, clock_ms() + 5, &e));
    CHECK_INT(e.code, ERR_TIMEOUT);
    SAY("{\"id\":1,\"result\":{}}\0{\"method\":\"e\"}");
    while (events.n == 0)
        CHECK_INT(cdp_turn(&devtools, soon()), 1);
    for (int i = 0; i < CDP_PENDING_MAX; i++) /* the late answer gave its place back */
        CHECK(cdp_send(&devtools, STR(""), "Again", NULL) > 0);
    CHECK_INT(cdp_send(&devtools, STR(""), "One too many", NULL), -1);
    cdp_close(&devtools);
}

TEST(what_goes_on_for_ever_keeps_no_deadline_from_coming)
{
    struct err e = ERR_INIT;
    open_pair();
    int id = cdp_send(&devtools, STR(""), "One", NULL);
    SAY("{\"method\":\"flood\",\"params\":{\"n\":1}}");
    CHECK(cdp_wait(&devtools, id, clock_ms() - 1, &e) == NULL);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK_STR(buf_z(&events), "");
    CHECK_INT(cdp_turn(&devtools, soon()), 1);
    CHECK_STR(buf_z(&events), "/flood/1 ");
    SAY("{\"id\":1,\"result\":{}}"); /* too late, and nobody's */
    CHECK_INT(cdp_turn(&devtools, soon()), 1);
    for (int i = 0; i < 2 * CDP_PENDING_MAX; i++) { /* nor do they take a place */
        cdp_send(&devtools, STR(""), "Some", NULL);
        CHECK(cdp_wait(&devtools, i + 2, clock_ms() - 1, &e) == NULL);
        CHECK_INT(e.code, ERR_TIMEOUT);
    }
    cdp_close(&devtools);
}

static void check(struct halt *h)
{
    char what = 0;
    CHECK_INT(read(h->fds[1], &what, 1), 1);
    h->cut |= what == 'c';
    h->ended |= what == 'e';
}

TEST(a_word_from_outside_cuts_a_wait_or_ends_it_all)
{
    struct err e = ERR_INIT;
    int word[2];
    CHECK_INT(pipe(word), 0);
    struct halt h = {.fds = {-1, word[0]}, .check = check};
    open_pair();
    devtools.stop = &h;
    CHECK(!halt_over(&h));
    CHECK_INT(write(word[1], "-c", 2), 2);
    CHECK(cdp_call(&devtools, STR(""), "One", NULL, soon(), &e) == NULL);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK(halt_over(&h) && !devtools.ended);
    h.cut = false;
    h.end_ms = clock_ms() - 1;
    CHECK(halt_over(&h));
    CHECK(cdp_call(&devtools, STR(""), "Two", NULL, soon(), &e) == NULL);
    CHECK_INT(e.code, ERR_TIMEOUT);
    h.end_ms = 0;
    int three = cdp_send(&devtools, STR(""), "Three", NULL);
    SAY("{\"id\":3,\"result\":{\"a\":3}}");
    struct json *j = cdp_wait(&devtools, three, soon(), &e);
    CHECK_INT(json_int(json_get(j, "result"), "a", 0), 3);
    json_free(j);
    CHECK_INT(write(word[1], "e", 1), 1);
    CHECK(cdp_call(&devtools, STR(""), "Four", NULL, soon(), &e) == NULL);
    CHECK_INT(e.code, ERR_CANCELLED);
    CHECK(devtools.ended);
    cdp_close(&devtools);
}

TEST(the_end_of_the_browser_ends_calls)
{
    struct err e = ERR_INIT;
    open_pair();
    cdp_send(&devtools, STR(""), "One", NULL);
    close(peer);
    CHECK(!cdp_wait(&devtools, 1, soon(), &e));
    CHECK_INT(e.code, ERR_GONE);
    CHECK_INT(cdp_send(&devtools, STR(""), "Two", NULL), -1);
    CHECK(!cdp_call(&devtools, STR(""), "Two", NULL, soon(), &e));
    CHECK_STR(e.text, "the browser has ended");
    cdp_close(&devtools);
}

TEST(lies)
{
    open_pair();
    cdp_send(&devtools, STR(""), "One", NULL);
    cdp_take(&devtools, STR("{\"id\":9,\"result\":{}}\0{\"id\":-1}\0[]\0nonsense\0\0\0"
                            "{\"id\":0}\0{\"id\":\"1\"}\0{\"method\":7}\0"));
    CHECK(!devtools.ended && events.n == 0 && !devtools.pending[0].reply);
    cdp_take(&devtools, STR("{\"id\":1}\0{\"id\":1,\"result\":{}}\0"));
    CHECK(devtools.pending[0].reply && !json_has(devtools.pending[0].reply, "result"));
    static char much[1 << 20];
    memset(much, 'x', sizeof(much));
    for (int i = 0; i < LIMIT_CDP_MESSAGE / (int)sizeof(much); i++)
        cdp_take(&devtools, str_n(much, sizeof(much)));
    CHECK(!devtools.ended);
    cdp_take(&devtools, str_n(much, 2));
    CHECK(devtools.ended);
    CHECK_INT(devtools.why.code, ERR_LIMIT);
    cdp_close(&devtools);
}

TEST(big_answers_as_text)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(0);
    open_pair();
    CHECK_INT(cdp_send_big(&devtools, STR(""), "A", NULL), 1);
    CHECK_INT(cdp_send_big(&devtools, STR(""), "B", NULL), 2);
    CHECK_INT(cdp_send_big(&devtools, STR(""), "C", NULL), 3);
    CHECK_INT(cdp_send(&devtools, STR(""), "D", NULL), 4);
    SAY("{\"id\":2,\"error\":{\"code\":1,\"message\":\"no such thing\"}}");
    SAY("{\"id\":4,\"result\":{\"a\":6}}");
    SAY("{\"method\":\"M\",\"params\":{\"n\":3}}");
    SAY("{\"sessionId\":\"S\",\"result\":{\"a\":5},\"id\":1}");
    SAY("{\"id\":3,\"resul\":{}}");
    CHECK_INT(cdp_wait_big(&devtools, 1, soon(), &b, &e), 0);
    CHECK_STR(buf_z(&b), "{\"sessionId\":\"S\",\"result\":{\"a\":5},\"id\":1}");
    CHECK_INT(cdp_wait_big(&devtools, 2, soon(), &b, &e), -1);
    CHECK_STR(e.text, "no such thing");
    CHECK_INT(cdp_wait_big(&devtools, 3, soon(), &b, &e), -1);
    CHECK_STR(e.text, "the browser's answer has no result");
    struct json *j = cdp_wait(&devtools, 4, soon(), &e);
    CHECK_INT(json_int(json_get(j, "result"), "a", 0), 6);
    json_free(j);
    CHECK_STR(buf_z(&events), "/M/3 ");
    CHECK_INT(cdp_send_big(&devtools, STR(""), "E", NULL), 5);
    CHECK_INT(cdp_wait_big(&devtools, 5, clock_ms() + 20, &b, &e), -1);
    CHECK_INT(e.code, ERR_TIMEOUT);
    SAY("{\"id\":5,\"result\":{}}");
    CHECK_INT(cdp_turn(&devtools, soon()), 1);
    CHECK_INT(cdp_wait_big(&devtools, 5, soon(), &b, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    buf_release(&b);
    cdp_close(&devtools);
}

static struct buf theirs = BUF_INIT(1 << 16);

/* Messages of session T are somebody else's. */
static bool on_text(void *owner, struct str text, bool is_cut)
{
    CHECK(owner == &theirs);
    if (!str_ends(text, STR(",\"sessionId\":\"T\"}")))
        return false;
    CHECK(!is_cut || text.n == 2 * CDP_END);
    buf_addf(&theirs, "%s%.*s ", is_cut ? "cut " : "", (int)(is_cut ? 8 : text.n),
             text.p);
    return true;
}

/* Appends 'x' until the message has n bytes more. */
static void fill(size_t n)
{
    static char much[1 << 16];
    memset(much, 'x', sizeof(much));
    for (size_t part; n > 0; n -= part) {
        part = n < sizeof(much) ? n : sizeof(much);
        cdp_take(&devtools, str_n(much, part));
    }
}

TEST(somebody_else_on_the_connection)
{
    char got[300] = "";
    open_pair();
    devtools.on_text = on_text;
    devtools.text_owner = &theirs;
    CHECK_INT(cdp_pass(&devtools, STR("{\"id\":7}"), STR(",\"sessionId\":\"T\"}")), 0);
    CHECK(read(peer, got, sizeof(got)) > 0);
    CHECK_STR(got, "{\"id\":7,\"sessionId\":\"T\"}");
    CHECK_INT(cdp_send(&devtools, STR(""), "One", NULL), 1);
    cdp_take(&devtools, STR("{\"id\":1,\"sessionId\":\"T\"}\0{\"method\":\"e\"}\0"));
    CHECK_STR(buf_z(&theirs), "{\"id\":1,\"sessionId\":\"T\"} ");
    CHECK(!devtools.pending[0].reply);
    CHECK_STR(buf_z(&events), "/e/0 ");
    buf_reset(&theirs);
    /* One that is too long ends nothing but itself, in pieces of any size. */
    for (size_t tail = 1; tail <= 18; tail += 17) {
        static const char end[] = "\",\"sessionId\":\"T\"}";
        cdp_take(&devtools, STR("{\"id\":1,\"r\":\""));
        fill(LIMIT_CDP_MESSAGE + 1000);
        for (size_t i = 0; i < sizeof(end); i += tail)
            cdp_take(&devtools, str_sub(str_n(end, sizeof(end)), i, tail));
        CHECK_STR(buf_z(&theirs), "cut {\"id\":1, ");
        CHECK(!devtools.ended);
        buf_reset(&theirs);
    }
    cdp_take(&devtools, STR("{\"id\":1,\"sessionId\":\"T\"}\0"));
    CHECK_STR(buf_z(&theirs), "{\"id\":1,\"sessionId\":\"T\"} ");
    /* Ours ends the connection, as without them. */
    fill(LIMIT_CDP_MESSAGE + 1);
    CHECK(!devtools.ended);
    cdp_take(&devtools, STR("}\0"));
    CHECK(devtools.ended);
    CHECK_INT(cdp_pass(&devtools, STR("{}"), STR("}")), -1);
    buf_release(&theirs);
    cdp_close(&devtools);
}

T_MAIN
