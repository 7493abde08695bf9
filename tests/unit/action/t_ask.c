/* SPDX-License-Identifier: MIT */
/* Who waits for the observation of one action, and watchers that leave meanwhile. */
#include "worker.h"

#include "action/ask.h"

static unsigned calls;
static struct err why;

struct caller {
    struct action_ask ask;
    struct action_ask *drops; /* when it is called; NULL: none */
    bool asks;                /* again, when it is called */
};

static struct json *waits(void) { return json_parse(STR("{" WAITS "}"), &e); }

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *err)
{
    struct caller *c = container_of(q, struct caller, ask);
    struct action_order o = {.source = "t"};
    calls++;
    why = *err;
    CHECK_INT(q->id, 0);
    CHECK((observation != NULL) == (err->code == ERR_NONE));
    if (c->drops)
        action_ask_drop(c->drops);
    if (c->asks)
        CHECK_INT(action_ask(q, all, waits(), &o, &e), 0);
}

static void ask(struct caller *c)
{
    struct action_order o = {.source = "t"};
    c->ask.done = on_done;
    CHECK_INT(action_ask(&c->ask, all, waits(), &o, &e), 0);
    CHECK(c->ask.id != 0);
}

TEST(the_end_is_told_once_and_another_action_may_follow)
{
    struct caller c = {.asks = true};
    begin_worker("{}");
    ask(&c);
    uint64_t first = c.ask.id;
    CHECK_INT(actions_cancel(all, first, &e), 0);
    CHECK_INT(calls, 1);
    CHECK_INT(why.code, ERR_CANCELLED);
    CHECK(c.ask.id > first);
    c.asks = false;
    CHECK_INT(actions_cancel(all, c.ask.id, &e), 0);
    CHECK_INT(calls, 2);
    action_ask_drop(&c.ask);
}

TEST(what_is_dropped_is_not_told_and_goes_on)
{
    struct caller c = {0};
    begin_worker("{}");
    ask(&c);
    uint64_t id = c.ask.id;
    action_ask_drop(&c.ask);
    action_ask_drop(&c.ask);
    CHECK(actions_find(all, id));
    CHECK_INT(actions_cancel(all, id, &e), 0);
    CHECK_INT(calls, 0);
}

/* Two wait for the same action: the first one that is told drops the other, which is next
 * in the list, and then itself. */
TEST(a_watcher_may_end_the_next_one)
{
    struct caller a = {0}, b = {0}, c = {0};
    begin_worker("{}");
    ask(&a);
    b.ask.done = c.ask.done = on_done;
    action_ask_follow(&b.ask, all, a.ask.id);
    action_ask_follow(&c.ask, all, a.ask.id);
    a.drops = &b.ask;
    CHECK_INT(actions_cancel(all, a.ask.id, &e), 0);
    CHECK_INT(calls, 2); /* a and c */
}

TEST(an_action_that_a_client_repeats_is_the_same)
{
    struct caller a = {0}, b = {0};
    struct json *m = waits(), *again = waits();
    begin_worker("{}");
    json_put_z(m, "client_id", "one");
    json_put_z(again, "client_id", "one");
    a.ask.done = b.ask.done = on_done;
    CHECK_INT(action_ask_do(&a.ask, all, m, "t", &e), 0);
    CHECK_INT(actions_cancel(all, a.ask.id, &e), 0);
    CHECK_INT(calls, 1);
    CHECK_INT(action_ask_do(&b.ask, all, again, "t", &e), 0);
    CHECK_INT(calls, 2); /* it had ended: told at once */
    CHECK_INT(why.code, ERR_CANCELLED);
    CHECK_INT(action_ask_do(&b.ask, all, json_object(), "t", &e), -1);
    CHECK_INT(calls, 2);
}

T_MAIN
