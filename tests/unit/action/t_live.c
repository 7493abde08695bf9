/* SPDX-License-Identifier: MIT */
/*
 * Kinds that run in the worker itself or in a process of which the keeper, which is this
 * test, says what becomes; and who watches them.
 */
#include "action/cell.h"
#include "action/describe.h"
#include "shell/process.h"

#include "worker.h"

static void until_last(uint64_t id)
{
    T_WAIT((turn(), last() >= id));
}

static void ends_with(const char *text, const char *words)
{
    order(text);
    until_last(2);
    if (!strstr(event_of(last()), words))
        T_FAIL("%s: %s", text, event_of(last()));
}

/* ---- what cannot be done ---- */

TEST(without_a_session_nothing_is_reached)
{
    static const char *const rows[] = {
        "\"input\",\"args\":{\"text\":\"x\"}", "\"key\",\"args\":{\"key\":\"C-c\"}", "\"eof\"",
        "\"signal\",\"args\":{\"signal\":\"INT\"}",
        "\"signal\",\"args\":{\"signal\":2,\"tree\":true}",
        "\"resize\",\"args\":{\"rows\":2,\"cols\":2}", "\"wait\""};
    char text[200];
    begin_worker("{}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(text, sizeof(text), "{\"action\":%s,\"session\":\"s\"}", rows[i]);
        uint64_t id = order(text);
        CHECK_INT(last(), id + 1);
        CHECK(strstr(event_of(last()), "there is no session s, so nothing runs in it"));
        CHECK(strstr(event_of(last()), "\"code\":\"NOTFOUND\""));
    }
}

TEST(a_process_that_does_not_exist_is_not_reached)
{
    static const char *const rows[] = {
        "\"input\",\"args\":{\"text\":\"x\",", "\"eof\",\"args\":{",
        "\"signal\",\"args\":{\"signal\":\"INT\",", "\"resize\",\"args\":{\"rows\":2,\"cols\":2,"};
    char text[200];
    begin_worker("{}");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        snprintf(text, sizeof(text), "{\"action\":%s\"process\":\"none\"}}", rows[i]);
        order(text);
        CHECK(strstr(event_of(last()), "there is no process none\""));
    }
    refused("{\"action\":\"input\",\"args\":{}}", ERR_INVALID, "input takes \"text\", or");
    refused("{\"action\":\"input\",\"args\":{\"text\":\"x\",\"base64\":\"eA==\"}}", ERR_INVALID,
            ", not both");
    refused("{\"action\":\"signal\",\"args\":{\"signal\":65}}", ERR_INVALID, "signal");
    refused("{\"action\":\"resize\",\"args\":{\"rows\":0,\"cols\":2}}", ERR_INVALID, "rows");
    refused("{\"action\":\"page\",\"args\":{\"url\":\"x\",\"act\":\"wait\"}}", ERR_INVALID,
            "page takes url or act, not both");
    refused("{\"action\":\"process\",\"args\":{}}", ERR_INVALID, "takes argv or command");
    refused("{\"action\":\"process\",\"args\":{\"argv\":[\"\"]}}", ERR_INVALID,
            "argv must begin with the name");
    refused("{\"action\":\"process\",\"args\":{\"argv\":[\"x\"],\"command\":\"y\"}}", ERR_INVALID,
            "and not both");
    refused("{\"action\":\"process\",\"args\":{\"argv\":[\"x\"],\"tty\":{\"rows\":0,"
            "\"cols\":1}}}", ERR_INVALID, "tty must be");
}

/* ---- processes ---- */

static struct keep_proc r;

static void say(uint32_t flags)
{
    r.flags |= flags;
    struct keep_msg m = {.h = {.type = KEEP_PROC, .id = r.id}, .body = str_n(&r, sizeof(r))};
    CHECK_INT(keep_send(keeper, &m), 0);
    turn();
}

static uint64_t start(const char *text)
{
    uint64_t id = order(text);
    CHECK_INT(sent.h.type, KEEP_SPAWN);
    r = (struct keep_proc){.id = sent.h.id, .kind = sent.h.flags & 7, .pid = 4711};
    r.out[0].cap = r.out[1].cap = (uint64_t)sent.h.kib << 10;
    return id;
}

static void say_end(int status)
{
    r.out[0].eof = r.out[1].eof = 1;
    r.status = status;
    say(KEEP_P_STARTED | KEEP_P_EXITED);
}

static int told_process, told_end;
static uint64_t end_of, end_is;

static void on_process(struct action_watch *w, const struct action *a, struct process *p)
{
    CHECK(w && p && a->id == 1);
    told_process++;
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end, const struct err *why)
{
    CHECK(w && why);
    told_end++;
    end_of = cause;
    end_is = end;
}

TEST(a_process_is_observed_at_its_end)
{
    static struct action_watch w = {.process = on_process, .ended = on_ended};
    begin_worker("{}");
    t_sh("mkdir -p spool");
    be_ready();
    actions_unwatch(&w);
    actions_watch(all, &w);
    start("{\"action\":\"process\",\"args\":{\"command\":\"exit 3\"}}");
    CHECK(told_process == 1 && told_end == 0);
    say(KEEP_P_STARTED);
    CHECK_INT(pwrite(sent.fds[4], "text", 4, 0), 4);
    CHECK_INT(pwrite(sent.fds[6], "worse", 5, 0), 5);
    r.out[0].offset = 4;
    r.out[1].offset = 5;
    say_end(3 << 8);
    CHECK_INT(last(), 2);
    CHECK(told_end == 1 && end_of == 1 && end_is == 2);
    CHECK(strstr(event_of(2), "\"exit_code\":3,\"observation\":\"process\","
                              "\"content\":\"text\",\"extras\":{\"process\":\"p1\","));
    CHECK(strstr(event_of(2), "\"stderr\":{\"content\":\"worse\"}}}"));
    CHECK(!strstr(event_of(2), "timed_out"));
    actions_unwatch(&w);
    start("{\"action\":\"process\",\"args\":{\"argv\":[\"x\"],\"merge\":true}}");
    CHECK_INT(r.kind, 0);
    say_end(9);
    CHECK(told_process == 1 && told_end == 1);
    CHECK(strstr(event_of(4), "\"exit_code\":137,") && strstr(event_of(4), "\"signal\":9"));
    CHECK(!strstr(event_of(4), "stderr"));
}

TEST(a_process_is_stopped_in_time_or_when_it_is_cancelled)
{
    struct reaper_request q;
    begin_worker("{}");
    t_sh("mkdir -p spool");
    be_ready();
    start("{\"action\":\"process\",\"args\":{\"command\":\"x\",\"timeout\":0.001}}");
    say(KEEP_P_STARTED);
    T_WAIT((turn(), sent.h.type == KEEP_REAPER));
    say_end(9);
    CHECK(strstr(event_of(2), "\"timed_out\":true"));
    uint64_t id = start("{\"action\":\"process\",\"args\":{\"command\":\"x\"}}");
    say(KEEP_P_STARTED);
    CHECK_INT(actions_cancel(all, id, &e), 0);
    take_sent();
    CHECK_INT(sent.h.type, KEEP_REAPER);
    CHECK_INT(sent.h.body, sizeof(q));
    CHECK_INT(last(), id); /* it ends when the process has */
    say_end(15);
    CHECK_INT(last(), id + 1);
    CHECK(strstr(event_of(last()), "\"signal\":15") && !strstr(event_of(last()), "timed_out"));
}

TEST(a_process_is_known_by_its_action)
{
    begin_worker("{}");
    t_sh("mkdir -p spool");
    be_ready();
    uint64_t id = start("{\"action\":\"process\",\"args\":{\"command\":\"x\"}}");
    const struct action *a = actions_find(all, id);
    CHECK(a->kind->begun(a));
    CHECK(a->begun && !a->resumed);
    char call[LIMIT_ID + 1], want[LIMIT_ID + 1];
    action_call(a, call);
    snprintf(want, sizeof(want), "act:%s:1", a->key);
    CHECK_STR(call, want);
    CHECK(process_by_call(en, call));
    CHECK(!action_typed(a));
}

/* ---- files ---- */

TEST(files_are_changed_in_the_directory_of_the_session)
{
    char text[600];
    begin_worker("{}");
    be_ready();
    snprintf(text, sizeof(text), "{\"action\":\"mkdir\",\"args\":{\"path\":\"%s/new\"}}", t_dir());
    order(text);
    CHECK_INT(last(), 1);
    until_last(2);
    CHECK(strstr(event_of(2), "\"cause\":1,\"session\":\"main\",\"observation\":\"mkdir\""));
    t_sh("test -d new");
    order(text); /* it is there */
    until_last(4);
    snprintf(text, sizeof(text), "{\"action\":\"stat\",\"args\":{\"path\":\"%s/none\"}}", t_dir());
    order(text);
    until_last(6);
    CHECK(strstr(event_of(6), "\"observation\":\"error\""));
    CHECK(strstr(event_of(6), "none"));
    snprintf(text, sizeof(text),
             "{\"action\":\"mkdir\",\"args\":{\"path\":\"%s/other\","
             "\"user\":\"no-such-user\"}}", t_dir());
    order(text);
    until_last(8);
    CHECK(strstr(event_of(8), "\"observation\":\"error\"") &&
          strstr(event_of(8), "no-such-user"));
    t_sh("test ! -e other");
    /* Each change in a folder that is watched is an event. */
    snprintf(text, sizeof(text), "{\"action\":\"watch\",\"args\":{\"path\":\"%s/new\"}}", t_dir());
    uint64_t id = order(text);
    struct action *a = actions_find(all, id);
    CHECK(a && a->begun && a->own);
    for (int i = 0; last() == id; i++) {
        t_sh("echo %d >new/f", i);
        for (int n = 0; n < 20 && last() == id; n++) {
            turn();
            t_pause_ms(5);
        }
    }
    char want[100];
    snprintf(want, sizeof(want),
             "{\"observation\":\"file_change\",\"session\":\"main\",\"content\":\"\","
             "\"extras\":{\"watch\":%llu,", (unsigned long long)id);
    CHECK(strncmp(event_of(id + 1), want + 1, strlen(want) - 1) == 0);
    CHECK_INT(actions_cancel(all, id, &e), 0);
    CHECK(strstr(event_of(last()), "The action was cancelled\""));
}

/* ---- waits ---- */

TEST(a_wait_is_for_what_there_is)
{
    begin_worker("{}");
    ends_with("{\"action\":\"wait\",\"args\":{\"id\":99}}", "there is no session main, so");
    refused("{\"action\":\"wait\",\"args\":{\"until\":\"never\"}}", ERR_INVALID, "until");
    refused("{\"action\":\"wait\",\"args\":{\"id\":0}}", ERR_INVALID, "id");
}

/* ---- cells, as their kernel says them ---- */

static int begun_as, said, answered;
static const struct action_result *followed;

static void on_begun(struct cell_follower *f, int64_t count)
{
    CHECK(f);
    begun_as = (int)count;
}

static void on_said(struct cell_follower *f, struct str type, const struct json *content)
{
    CHECK(f && content && str_eq(type, STR("stream")));
    said++;
}

static void on_follower_end(struct cell_follower *f, const struct action_result *result)
{
    CHECK(f);
    followed = result;
}

static void on_answer(void *owner, struct str text)
{
    CHECK(owner == &answered);
    CHECK_MEM(text.p, text.n, "yes");
    answered++;
}

TEST(what_a_cell_says_is_an_event_and_goes_to_who_follows)
{
    static struct cell_follower f = {
        .begun = on_begun, .said = on_said, .ended = on_follower_end};
    static struct action_cell c, other;
    struct json *content = json_parse(
        STR("{\"name\":\"stdout\",\"text\":\"hello\\n\"}"), &e);
    begin_worker("{}");
    uint64_t id = order("{" WAITS "}"), next = order("{" WAITS "}");
    action_cell_begin(&c, all, id, "main", on_answer, &answered);
    action_cell_begin(&other, all, next, "main", on_answer, NULL);
    CHECK(action_cell_find(all, id) == &c && action_cell_find(all, next) == &other);
    CHECK(!action_cell_find(all, next + 1));
    action_cell_follow(all, id, &f);
    action_cell_begun(&c, 7);
    CHECK_INT(begun_as, 7);
    action_cell_begun(&other, 8);
    CHECK_INT(begun_as, 7);
    action_cell_said(&c, STR("stream"), content);
    action_cell_said(&other, STR("stream"), content);
    CHECK_INT(said, 1);
    CHECK_INT(last(), next); /* gathered for a while */
    action_cell_asks(&c, STR("really? "), false);
    CHECK_INT(last(), next + 2);
    CHECK(strstr(event_of(next + 1), "\"observation\":\"cell_output\"") &&
          strstr(event_of(next + 1), "hello\\n") &&
          strstr(event_of(next + 1), "\"from\":0,\"to\":6"));
    CHECK(strstr(event_of(next + 2), "really? "));
    CHECK_INT(action_cell_input(all, next, STR("yes"), &e), -1);
    CHECK_INT(action_cell_input(all, id, STR("yes\n"), &e), 0);
    CHECK_INT(answered, 1);
    CHECK_INT(action_cell_input(all, id, STR("yes"), &e), -1); /* once */
    action_cell_over(&c);
    action_cell_over(&c);
    CHECK(!action_cell_find(all, id));
    action_cell_over(&other); /* the rest of its output */
    CHECK(strstr(event_of(last()), "hello\\n"));
    CHECK_INT(actions_cancel(all, next, &e), 0);
    CHECK(!followed);
    CHECK_INT(actions_cancel(all, id, &e), 0);
    CHECK(followed);
    json_free(content);
}

TEST(a_wait_for_a_cell_ends_with_its_question_or_with_it)
{
    static struct action_cell c;
    struct action_order o = {.kind = &action_cell};
    begin_worker("{}");
    uint64_t cell = action_open(all, json_object(), &o, &e)->id;
    action_cell_begin(&c, all, cell, "main", on_answer, &answered);
    order("{\"action\":\"wait\",\"args\":{\"id\":1}}");
    order("{\"action\":\"wait\",\"args\":{\"id\":1,\"until\":\"input\"}}");
    CHECK_INT(last(), 3);
    action_cell_asks(&c, STR("who? "), true);
    CHECK(actions_find(all, 2) && !actions_find(all, 3));
    CHECK(strstr(event_of(last()), "\"cause\":3,") &&
          strstr(event_of(last()), "\"state\":\"yes\",\"hidden\":true}") &&
          strstr(event_of(last()), "\"content\":\"who? \"") &&
          strstr(event_of(last()), "\"why\":\"input\""));
    order("{\"action\":\"wait\",\"args\":{\"id\":1,\"until\":\"input\"}}");
    CHECK(strstr(event_of(last()), "\"why\":\"input\"")); /* it asks already */
    uint64_t late = order("{\"action\":\"wait\",\"args\":{\"id\":1},\"timeout\":0.001}");
    until_last(late + 1);
    CHECK(strstr(event_of(last()), "\"why\":\"timeout\""));
    action_cell_over(&c);
    action_end(actions_find(all, cell), STR(""), NULL);
    CHECK(!actions_find(all, 2));
    CHECK(strstr(event_of(last()), "\"cause\":2,") &&
          strstr(event_of(last()), "\"extras\":{\"command\":1}}"));
}

/* ---- kinds ---- */

static enum action_resume resume;
static int starts;

static enum action_resume how_resume(const struct action *a)
{
    (void)a;
    return resume;
}

static void on_start(struct action *a)
{
    CHECK(a->begun && a->resumed);
    starts++;
}

TEST(what_a_worker_had_begun_ends_as_its_kind_says)
{
    static const struct param_list takes = {.about = "x"};
    static const struct action_kind kind = {.name = "odd",
                                            .at_once = true,
                                            .takes = &takes,
                                            .resume = how_resume,
                                            .start = on_start};
    struct action_order o = {.kind = &kind};
    begin_worker("{}");
    for (int i = 0; i < 4; i++) {
        resume = (enum action_resume[]){ACTION_RESUME, ACTION_DONE, ACTION_UNKNOWN,
                                        ACTION_INTERRUPTED}[i];
        struct action *a = action_open(all, json_object(), &o, &e);
        uint64_t id = a->id;
        action_resume(a);
        CHECK_INT(starts, 1);
        CHECK((actions_find(all, id) != NULL) == (i == 0));
        CHECK_INT(last(), id + (i > 0));
        const char *text = event_of(last());
        if (i == 1)
            CHECK(strstr(text, "\"observation\":\"odd\",\"content\":\"\",\"extras\":{}}"));
        if (i == 2)
            CHECK(strstr(text, "whether it was done cannot be known\"") &&
                  strstr(text, "\"code\":\"GONE\""));
        if (i == 3)
            CHECK(strstr(text, "interrupted and not applied\""));
    }
}

TEST(kinds_are_listed_with_their_arguments)
{
    struct json *list = actions_json();
    const struct action_kind *k;
    size_t i = 0;
    for (struct json *v = json_first(list); v; v = json_next(v), i++) {
        k = action_kind_at(i);
        CHECK(k && str_eq(json_str(v, "action", ""), str_of(k->name)));
        CHECK(str_eq(json_str(v, "summary", ""), str_of(k->takes->about)));
        CHECK_STR(json_str(json_get(v, "args"), "type", "").p, "object");
    }
    CHECK(i > 30 && !action_kind_at(i));
    json_free(list);
}

TEST(figures_of_actions)
{
    struct buf b = BUF_INIT(1 << 16);
    begin_worker("{}");
    order("{" WAITS "}");
    all->stats.command_ms = 1500;
    all->stats.commands = 2;
    all->stats.refused = 3;
    part_action.metrics(en, &b);
    static const char *const lines[] = {
        "od_worker_starts_total 1\n",  "od_actions_total 1\n",
        "od_actions_repeated_total 0\n", "od_actions_pending 1\n",
        "od_observations_total 0\n",   "od_action_errors_total 0\n",
        "od_command_duration_seconds_sum 1.500\n", "od_command_duration_seconds_count 2\n",
        "od_events_first_id 1\n",      "od_events_next_id 2\n",
        "od_events_in_memory 0\n",     "od_events_refused_total 3\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        if (!strstr(buf_z(&b), lines[i]))
            T_FAIL("%s", lines[i]);
    buf_release(&b);
}

/* ---- lines ---- */

#define HEAD "{\"id\":5,\"timestamp\":\"2026-11-21T10:00:00.000001\""
#define NAME "0123456789abcdef0123456789abcdef"

TEST(a_look_at_a_line_stays_in_it)
{
    static const char text[] = HEAD ",\"key\":\"" NAME "\",\"session\":\"main\","
                                    "\"client_id\":\"c\\\"d\",\"action\":\"run\"}";
    struct event_members l;
    event_members(STR(text), &l);
    CHECK(l.id == 5 && l.kind == EVENT_ACTION);
    CHECK_MEM(l.key.p, l.key.n, NAME);
    CHECK_MEM(l.session.p, l.session.n, "main");
    CHECK_MEM(l.client_id.p, l.client_id.n, "\"c\\\"d\"");
    event_members(str_n(text, (size_t)(strstr(text, ",\"client_id") - text)), &l);
    CHECK(l.kind == EVENT_ACTION && l.client_id.n == 0 && l.session.n == 4);
    event_members(str_n(text, (size_t)(strstr(text, ",\"session") - text)), &l);
    CHECK(l.kind == EVENT_ACTION && l.session.n == 0);
    event_members(STR(HEAD ",\"key\":\"short\"}"), &l);
    CHECK_INT(l.kind, EVENT_OTHER);
    event_members(STR(HEAD ",\"cause\":x}"), &l);
    CHECK_INT(l.kind, EVENT_OTHER);
    event_members(STR(HEAD
                      ",\"cause\":12,\"session\":\"\",\"output\":{\"from\":3,\"to\":45},"
                      "\"observation\":\"ended\",\"x\":1}"),
                  &l);
    CHECK(l.kind == EVENT_END && l.cause == 12 && l.session.n == 0);
    CHECK(l.has_output && l.from == 3 && l.to == 45 && l.ended);
    event_members(STR(HEAD ",\"cause\":12,\"session\":\"a\",\"output\":{\"from\":3},"
                           "\"observation\":\"ended\"}"),
                  &l);
    CHECK(l.kind == EVENT_END && !l.has_output && !l.ended);
    event_members(STR("{\"cause\":1}"), &l);
    CHECK(l.kind == EVENT_OTHER && l.id == 0);
}

TEST(secrets_in_pieces_of_output)
{
    size_t at = 99, n = 99;
    begin_worker("{}");
    CHECK(!actions_has_secrets(all) && !actions_find_secret(all, STR("word"), &at, &n));
    CHECK_INT(actions_secret(all, STR("word"), &e), 0);
    CHECK_INT(actions_secret(all, STR("word"), &e), 0);
    CHECK_INT(actions_secret(all, STR("wordy"), &e), 0);
    CHECK_INT(actions_secret(all, STR(""), &e), 0);
    CHECK_INT(all->nsecrets, 2);
    CHECK(actions_has_secrets(all));
    CHECK(actions_find_secret(all, STR("a wordy word"), &at, &n) && at == 2 && n == 5);
    CHECK(actions_find_secret(all, STR("word wordy"), &at, &n) && at == 0 && n == 4);
    CHECK_INT(actions_secret_tail(all, STR("a wor")), 3);
    CHECK_INT(actions_secret_tail(all, STR("a word")), 4); /* perhaps of the longer one */
    CHECK_INT(actions_secret_tail(all, STR("a wordy")), 0);
    CHECK_INT(actions_secret_tail(all, STR("w")), 1);
    CHECK_INT(actions_secret_tail(all, STR("")), 0);
    char big[SECRET_MAX + 1];
    memset(big, 'x', sizeof(big));
    CHECK_INT(actions_secret(all, str_n(big, SECRET_MAX + 1), &e), -1);
    CHECK_INT(actions_secret(all, str_n(big, SECRET_MAX), &e), 0);
    for (int i = 3; i < SECRETS_MAX; i++) {
        char text[20];
        snprintf(text, sizeof(text), "secret-%d", i);
        CHECK_INT(actions_secret(all, str_of(text), &e), 0);
    }
    CHECK_INT(actions_secret(all, STR("one more"), &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
}

T_MAIN
