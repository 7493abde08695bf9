/* SPDX-License-Identifier: MIT */
/*
 * Actions that their front-end does itself; where an action is done and what it notes;
 * and what the next worker does with actions that have no end.
 */
#include "action/control.h"
#include "action/outside_own.h"
#include "action/background.h"
#include "action/until.h"

#include "worker.h"

#include <fcntl.h>

#define KEY "0123456789abcdef0123456789abcdef"

static struct json *parsed(uint64_t id)
{
    struct json *j = json_parse(str_of(line_of(id)), &e);
    CHECK(j);
    return j;
}

static enum outside_state open_outside(const char *kind, const char *id, const char *args,
                                       struct action **a, uint64_t *end)
{
    struct outside_order o = {.kind = kind, .id = str_of(id), .uid = 7, .pid = 8,
                              .args = args ? json_parse(str_of(args), &e) : NULL};
    enum outside_state r = outside_open(all, &o, a, end);
    take_sent();
    return r;
}

/* ---- od exec ---- */

TEST(a_request_with_an_id_is_one_action)
{
    struct action *a, *b;
    uint64_t end;
    begin_worker("{}");
    CHECK_INT(open_outside("input", "one", "{\"n\":1}", &a, &end), OUTSIDE_NEW);
    CHECK(a->begun && a->id == 1 && end == 0);
    CHECK_INT(json_int(a->args, "n", 0), 1);
    CHECK(strstr(event_of(1), "\"session\":\"main\",\"client_id\":\"exec:one\","
                              "\"source\":\"exec\",\"uid\":7,\"pid\":8,"
                              "\"action\":\"input\",\"args\":{\"n\":1}}"));
    CHECK_INT(open_outside("input", "one", "{}", &b, &end), OUTSIDE_AGAIN);
    CHECK(b == a && end == 0);
    CHECK_INT(all->stats.repeated, 1);
    outside_end(a, STR("done"), json_parse(STR("{\"m\":2}"), &e));
    CHECK_INT(last(), 1); /* it is written when this turn is over */
    turn();
    CHECK_INT(last(), 2);
    CHECK(strstr(event_of(2), "\"cause\":1,\"session\":\"main\",\"client_id\":\"exec:one\","
                              "\"observation\":\"input\",\"content\":\"done\","
                              "\"extras\":{\"m\":2}}"));
    CHECK_INT(open_outside("input", "one", "{}", &b, &end), OUTSIDE_OVER);
    CHECK(!b && end == 2);
    /* Without an id, or with one that is too long or no text, each is another one. */
    char name[ACTION_CLIENT_MAX];
    memset(name, 'n', sizeof(name));
    name[ACTION_CLIENT_MAX - 6] = 0; /* with exec: and a zero it does not fit */
    const char *odd[] = {"", "", "\xff", "\xff", name, name};
    for (size_t i = 0; i < 6; i++) {
        CHECK_INT(open_outside("input", odd[i], NULL, &a, &end), OUTSIDE_NEW);
        CHECK(!a->client_id && !strstr(event_of(a->id), "client_id"));
    }
    CHECK_INT(open_outside("input", "x", NULL, &a, &end), OUTSIDE_NEW);
    CHECK_STR(a->client_id, "exec:x");
    name[ACTION_CLIENT_MAX - 7] = 0;
    CHECK_INT(open_outside("input", name, NULL, &a, &end), OUTSIDE_NEW);
    CHECK(a->client_id);
    CHECK_INT(open_outside("input", name, NULL, &b, &end), OUTSIDE_AGAIN);
}

TEST(an_id_that_is_a_key_is_the_actions_key)
{
    struct action *a;
    uint64_t end;
    begin_worker("{}");
    open_outside("kill", KEY, NULL, &a, &end);
    CHECK_STR(a->key, KEY);
    CHECK(outside_find(all, KEY) == a);
    open_outside("kill", KEY "0", NULL, &a, &end);
    CHECK(strcmp(a->key, KEY) != 0);
    open_outside("kill", "g123456789abcdef0123456789abcdef", NULL, &a, &end);
    CHECK(a->key[0] != 'g');
    open_outside("kill", "0123456789abcdef0123456789abcdeF", NULL, &a, &end);
    CHECK(!strchr(a->key, 'F'));
    CHECK(!outside_find(all, "0"));
    CHECK(outside_kind(STR("receive")) && !outside_kind(STR("skills")));
}

TEST(a_session_that_is_too_long_is_cut_and_a_source_is_the_front_ends)
{
    struct action *a;
    uint64_t end;
    char name[ACTION_SESSION_MAX + 2];
    memset(name, 's', sizeof(name));
    struct outside_order o = {.kind = "run", .session = str_n(name, sizeof(name)),
                              .source = ACTION_SOURCE_E2B};
    begin_worker("{}");
    CHECK_INT(outside_open(all, &o, &a, &end), OUTSIDE_NEW);
    CHECK_INT(strlen(a->session), ACTION_SESSION_MAX);
    CHECK(strstr(event_of(a->id), "\"source\":\"e2b\","));
}

static int stops;
static void on_stop(void *owner) { stops += owner == &stops; }

TEST(who_does_an_action_is_asked_to_stop_it)
{
    struct action *a;
    uint64_t end;
    begin_worker("{}");
    open_outside("send", "", NULL, &a, &end);
    outside_on_cancel(a, on_stop, &stops);
    outside_on_cancel(a, NULL, &end); /* of another one */
    CHECK_INT(actions_cancel(all, a->id, &e), 0);
    CHECK_INT(stops, 1);
    CHECK_INT(last(), 1);
    struct err why = {ERR_GONE, "it went away"};
    outside_fail(a, &why);
    CHECK_INT(actions_cancel(all, a->id, &e), 0); /* it ends already */
    CHECK_INT(stops, 1);
    turn();
    CHECK_INT(last(), 2);
    CHECK(strstr(event_of(2), "\"content\":\"it went away\"") &&
          strstr(event_of(2), "\"code\":\"GONE\""));
    open_outside("send", "", NULL, &a, &end);
    outside_on_cancel(a, on_stop, &stops);
    outside_on_cancel(a, NULL, &stops);
    CHECK_INT(actions_cancel(all, a->id, &e), 0);
    CHECK_INT(stops, 1);
    CHECK(strstr(event_of(last()), "The action was cancelled\""));
    CHECK(!actions_next(all, NULL));
}

TEST(a_command_longer_than_an_event_runs_and_is_cut_in_the_log)
{
    static char big[LIMIT_EVENT_MAX + 1];
    struct buf args = BUF_INIT(4 << 20);
    struct action *a;
    uint64_t end;
    begin_worker("{}");
    for (int i = 0; i < 2; i++) {
        size_t n = i ? LIMIT_EVENT_MAX : 900 << 10;
        memset(big, 'x', n);
        buf_reset(&args);
        buf_addf(&args, "{\"command\":\"%.*s\"}", (int)n, big);
        CHECK_INT(open_outside("run", "", buf_z(&args), &a, &end), OUTSIDE_NEW);
        struct json *j = parsed(a->id);
        struct str text = json_str(json_get(j, "args"), "command", "");
        CHECK(json_has(j, "cut") == (i == 1));
        if (i) {
            CHECK(json_int(j, "cut", 0) > (int64_t)n && text.n <= CUT_STRING / 4);
            CHECK(str_ends(text, STR(" [... 1048576 bytes in all]")));
        } else {
            CHECK_INT(text.n, n);
        }
        json_free(j);
    }
    buf_release(&args);
}

TEST(a_text_in_args_is_its_length_and_sum_when_commands_are_not_logged)
{
    struct json *args = json_object(), *value = json_parse(STR("{\"a\":1}"), &e);
    begin_worker("{}");
    outside_put_text(all, args, "text", STR("abc"));
    outside_put_json(all, args, "json", value, STR("abc"));
    struct buf b = BUF_INIT(1000);
    json_print(&b, args);
    CHECK_STR(buf_z(&b), "{\"text\":\"abc\",\"json\":{\"a\":1}}");
    json_free(args);
    args = json_object();
    all->terse = true;
    outside_put_text(all, args, "text", STR("abc"));
    CHECK_INT(json_int(args, "bytes", 0), 3);
    CHECK_STR(json_str(args, "sha256", "").p,
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    outside_put_json(all, args, "json", value, STR("abcd"));
    CHECK_INT(json_int(args, "bytes", 0), 4);
    CHECK(!json_has(args, "json") && !json_has(args, "text"));
    json_free(args);
    json_free(value);
    buf_release(&b);
}

/* ---- where, and what was done ---- */

static bool is_file(const char *name)
{
    char path[400];
    struct stat st;
    snprintf(path, sizeof(path), "%s/done/%s", t_dir(), name);
    return stat(path, &st) == 0;
}

TEST(the_place_and_the_notes_of_an_action_survive_a_worker)
{
    struct sandbox_place p;
    char name[64], key[ACTION_KEY + 1];
    begin_worker("{}");
    struct action *a = actions_find(all, order("{" WAITS "}"));
    snprintf(key, sizeof(key), "%s", a->key);
    snprintf(name, sizeof(name), "native/%s", a->key);
    CHECK_INT(action_place(a, &p, &e), 0);
    CHECK_STR(p.cwd, "/tmp");
    CHECK_STR(kept_text(name), "/tmp");
    int note = action_note(a);
    CHECK(note >= 0 && is_file(a->key));
    CHECK_INT(write(note, "half", 4), 4);
    close(note);
    json_put_z(kept, "native/" KEY, "/gone"); /* of an action that has ended */
    t_sh("touch done/" KEY " done/other");
    turn();
    begin_worker("{\"cwd\":\"/usr\"}");
    a = actions_find(all, 1);
    CHECK(a && a->resumed && a->placed);
    CHECK_STR(a->key, key);
    CHECK(!json_has(kept, "native/" KEY) && json_has(kept, name));
    CHECK(!is_file(KEY) && is_file("other") && is_file(key));
    CHECK_INT(action_place(a, &p, &e), 0);
    CHECK_STR(p.cwd, "/tmp");
    char text[5] = "";
    note = action_note(a);
    CHECK_INT(read(note, text, 5), 4);
    CHECK_STR(text, "half");
    close(note);
    CHECK_INT(actions_cancel(all, 1, &e), 0);
    take_sent();
    CHECK(!json_has(kept, name) && !is_file(key));
}

TEST(without_a_state_directory_there_are_no_notes)
{
    begin_worker("{}");
    struct action *a = actions_find(all, order("{" WAITS "}"));
    en->state_dir[0] = 0;
    CHECK_INT(action_note(a), -1);
    CHECK(!a->noting);
    CHECK_INT(actions_cancel(all, a->id, &e), 0);
}

/* ---- with until ---- */

TEST(when_a_run_is_observed)
{
    struct op op = {0};
    begin_worker("{}");
    struct action *a = actions_find(
        all, order("{\"action\":\"run\",\"args\":{\"command\":\"x\",\"until\":\"quiet\","
                   "\"quiet\":1.5},\"timeout\":2.5}"));
    CHECK_INT(until_timeout(a), 2500);
    until_limits(a, STR("quiet"), &op);
    CHECK(op.timeout_ms == 2500 && op.idle_ms == 1500 && !op.return_on_input);
    op = (struct op){0};
    until_limits(a, STR("input"), &op);
    CHECK(op.timeout_ms == 2500 && op.idle_ms == 0 && op.return_on_input);
    json_put_num(a->args, "quiet", 0);
    until_limits(a, STR("quiet"), &op);
    CHECK_INT(op.idle_ms, 1);
    json_drop(a->args, json_get(a->args, "quiet"));
    json_drop(a->message, json_get(a->message, "timeout"));
    until_limits(a, STR("quiet"), &op);
    CHECK(op.idle_ms == 2000 && op.timeout_ms == 0);
    CHECK_INT(until_check(STR("end"), &e), 0);
    CHECK_INT(until_check(STR("input"), &e), 0);
    CHECK_INT(until_check(STR("quiet"), &e), 0);
    CHECK_INT(until_check(STR("ends"), &e), -1);
    CHECK(strstr(e.text, "not \"ends\""));
}

static const char *observed(const struct op_result *r)
{
    struct action *a = actions_find(all, order("{" RUN "}"));
    CHECK_INT(until_observe(a, r, json_object()), r->to > r->from ? r->to : r->from);
    return strstr(event_of(last()), "\"output\"");
}

TEST(how_a_command_ended_or_what_it_waits_for)
{
    struct op_result r = {.state = OP_ENDED, .exit = 3, .signo = 9, .from = 5, .to = 5,
                          .duration_ms = 12};
    begin_worker("{}");
    CHECK_STR(observed(&r), "\"output\":{\"from\":5,\"to\":5},\"exit_code\":3,"
                            "\"observation\":\"run\",\"content\":\"\","
                            "\"extras\":{\"duration_ms\":12,\"signal\":9}}");
    r = (struct op_result){.state = OP_SHELL_ENDED, .from = 5, .to = 3};
    CHECK_STR(observed(&r), "\"output\":{\"from\":5,\"to\":5},\"exit_code\":0,"
                            "\"observation\":\"run\",\"content\":\"\","
                            "\"extras\":{\"duration_ms\":0,\"shell_ended\":true}}");
    r = (struct op_result){.state = OP_RUNNING, .why = OP_INPUT, .signo = 9, .to = 7,
                           .looked = true,
                           .look = {.state = LOOK_YES, .pid = 44, .comm = "cat",
                                    .how = "read"}};
    CHECK_STR(observed(&r),
              "\"output\":{\"from\":0,\"to\":7},\"waiting\":{\"state\":\"yes\","
              "\"program\":\"cat\",\"pid\":44,\"how\":\"read\"},\"observation\":\"run\","
              "\"content\":\"\",\"extras\":{\"gone\":[[0,7]],\"duration_ms\":0,"
              "\"why\":\"input\"}}");
    r.looked = false;
    static const struct {
        enum op_why why;
        const char *name;
    } whys[] = {{OP_TIMEOUT, "timeout"}, {OP_IDLE, "quiet"}, {OP_DETACHED, "detached"},
                {OP_CANCELLED, "cancelled"}};
    for (size_t i = 0; i < 4; i++) {
        r.why = whys[i].why;
        const char *text = observed(&r);
        CHECK(strstr(text, "\"waiting\":{\"state\":\"unknown\"},"));
        char want[40];
        snprintf(want, sizeof(want), "\"why\":\"%s\"}}", whys[i].name);
        CHECK(strstr(text, want));
    }
    r = (struct op_result){.state = OP_RUNNING, .looked = true};
    static const char *const states[] = {"no", "yes", "unknown", "probably"};
    for (int i = 0; i < 4; i++) {
        char want[60];
        r.look.state = (enum look_state)i;
        snprintf(want, sizeof(want), "\"waiting\":{\"state\":\"%s\"},", states[i]);
        CHECK(strstr(observed(&r), want));
    }
}

/* ---- the next worker ---- */

TEST(the_next_worker_goes_on_with_what_has_no_end)
{
    struct action_taken t;
    begin_worker("{}");
    order("{" RUN ",\"client_id\":\"c1\"}");
    order("{" WAITS ",\"client_id\":\"c2\"}");
    order("{" RUN ",\"secrets\":[\"sleep\"]}"); /* its text is not in the log */
    order("{" WAITS ",\"client_id\":\"c4\"}");
    CHECK_INT(actions_cancel(all, 4, &e), 0);
    order_as("{" WAITS ",\"uid\":3}", ACTION_SOURCE_V0, &t);
    turn();
    begin_worker("{}");
    CHECK_INT(all->stats.starts, 2);
    struct action *a = actions_find(all, 1);
    CHECK(a && a->resumed && !a->begun);
    CHECK_STR(a->client_id, "c1");
    a = actions_find(all, 2);
    CHECK(a && a->resumed && a->begun);
    CHECK(!actions_find(all, 3) && !actions_find(all, 4));
    CHECK(strstr(event_of(7), "\"cause\":3,") && strstr(event_of(7), "interrupted and not"));
    a = actions_find(all, 6);
    CHECK(a && a->resumed);
    CHECK_STR(a->source, "v0");
    CHECK_INT(last(), 7);
    CHECK_INT(all->stats.pending, 3);
    CHECK_INT(order_as("{" RUN ",\"client_id\":\"c1\"}", NULL, &t), 0);
    CHECK(t.repeated && t.id == 1 && t.end == 0);
    CHECK_INT(order_as("{" RUN ",\"client_id\":\"c4\"}", NULL, &t), 0);
    CHECK(t.repeated && t.id == 4 && t.end == 5);
    CHECK_INT(actions_cancel(all, 1, &e), 0);
    CHECK_INT(order_as("{" RUN ",\"client_id\":\"c1\"}", NULL, &t), 0);
    CHECK(t.repeated && t.end == 8);
}

static void log_line(const char *text)
{
    CHECK(eventlog_append(all->log, str_of(text), &e) > 0);
}

TEST(a_new_server_says_what_the_one_before_left)
{
    begin_worker("{}");
    order("{" RUN "}");
    order("{" WAITS "}");
    log_line("{\"key\":\"" KEY "\",\"session\":\"main\",\"action\":\"strange\"}");
    log_line("{\"key\":\"" KEY "\",\"session\":\"main\",\"source\":\"exec\",\"uid\":0,"
             "\"action\":\"send\",\"args\":{}}");
    log_line("{\"key\":\"" KEY "\",\"session\":\"main\",\"source\":\"exec\",\"uid\":0,"
             "\"action\":\"run\",\"args\":{\"command\":\"x\"}}");
    json_free(kept);
    kept = json_object();
    begin_worker("{}");
    turn();
    CHECK(!actions_next(all, NULL));
    CHECK_INT(last(), 10);
    CHECK(strstr(event_of(6), "\"cause\":1,") && strstr(event_of(6), "how much of it was"));
    CHECK(strstr(event_of(7), "\"cause\":2,") && strstr(event_of(7), "interrupted and not"));
    CHECK(strstr(event_of(8), "\"cause\":3,") && strstr(event_of(8), "interrupted and not"));
    CHECK(strstr(event_of(9), "\"cause\":4,") &&
          strstr(event_of(9), "The server ended before this action was done"));
    turn();
    begin_worker("{}"); /* they are over */
    CHECK(!actions_next(all, NULL));
    CHECK_INT(last(), 10);
}

TEST(what_ended_is_not_ended_again_by_a_new_server)
{
    begin_worker("{}");
    for (int i = 0; i < 4; i++)
        order("{" WAITS "}");
    CHECK_INT(actions_cancel(all, 2, &e), 0);
    begin_worker("{}"); /* nothing was stored: the whole log is read */
    CHECK_INT(last(), 8);
    CHECK(strstr(event_of(6), "\"cause\":1,") && strstr(event_of(7), "\"cause\":3,"));
    CHECK(strstr(event_of(8), "\"cause\":4,"));
}

TEST(a_caller_has_a_time_to_come_back)
{
    struct action *a;
    uint64_t end;
    begin_worker("{}");
    open_outside("receive", "one", NULL, &a, &end);
    open_outside("run", "two", "{}", &a, &end); /* without its command in the log */
    turn();
    begin_worker("{}");
    CHECK_INT(last(), 2);
    for (uint64_t id = 1; id <= 2; id++) {
        a = actions_find(all, id);
        CHECK(a && a->begun);
        CHECK(timer_active(&((struct outside *)a->own)->back));
        CHECK_STR(a->command, id == 1 ? "one" : "two");
        CHECK_INT(open_outside(a->kind->name, a->command, NULL, &a, &end), OUTSIDE_AGAIN);
        CHECK_INT(a->id, id);
        CHECK(!timer_active(&((struct outside *)a->own)->back));
    }
}

/* ---- people ---- */

#define ASKS "\"action\":\"request_control\",\"args\":{\"what\":\"terminal\"," \
             "\"reason\":\"x\"}"

TEST(a_person_who_gives_it_back_ends_the_request)
{
    begin_worker("{}");
    order("{" WAITS "}");
    order("{" ASKS ",\"session\":\"other\"}");
    order("{" ASKS "}");
    control_changed(all, "main", "terminal", "Ann", true);
    control_changed(all, "other", "browser", "Bob", false);
    CHECK_INT(last(), 3);
    control_changed(all, "main", "terminal", "Ann", false);
    CHECK_INT(last(), 4);
    struct json *j = parsed(4);
    const struct json *x = json_get(j, "extras");
    CHECK_INT(json_int(j, "cause", 0), 3);
    CHECK_STR(json_str(x, "end", "").p, "given");
    CHECK_STR(json_str(x, "by", "").p, "Ann");
    CHECK_STR(json_str(x, "what", "").p, "terminal");
    double s = json_num(x, "seconds", -1);
    CHECK(s >= 0 && s < 60);
    CHECK(str_starts(json_str(j, "content", ""), STR("Ann had the terminal for ")));
    json_free(j);
    /* The next worker reads in the log who took and gave it back. */
    struct buf b = BUF_INIT(1000);
    buf_addz(&b, "{\"observation\":\"control\",\"session\":\"other\",\"content\":\"\","
                 "\"extras\":{\"of\":\"terminal\",\"viewer\":\"Cat\",\"drives\":true}}");
    CHECK_INT(actions_tell(all, &b, &e), 0);
    buf_reset(&b);
    buf_addz(&b, "{\"observation\":\"control\",\"session\":\"main\",\"content\":\"\","
                 "\"extras\":{\"of\":\"browser\",\"viewer\":\"Dan\",\"drives\":true}}");
    CHECK_INT(actions_tell(all, &b, &e), 0);
    buf_reset(&b);
    buf_addz(&b, "{\"observation\":\"control\",\"session\":\"other\",\"content\":\"\","
                 "\"extras\":{\"of\":\"terminal\",\"viewer\":\"Cat\",\"drives\":false}}");
    CHECK_INT(actions_tell(all, &b, &e), 0);
    buf_release(&b);
    turn();
    begin_worker("{}");
    CHECK_INT(last(), 8);
    j = parsed(8);
    CHECK_INT(json_int(j, "cause", 0), 2);
    CHECK_STR(json_str(json_get(j, "extras"), "by", "").p, "Cat");
    json_free(j);
    control_changed(all, "main", "browser", "Eve", false);
    CHECK_INT(last(), 9);
    j = parsed(9);
    CHECK_STR(json_str(json_get(j, "extras"), "by", "").p, "Eve");
    json_free(j);
}

TEST(a_request_that_nobody_answers_ends_in_time)
{
    begin_worker("{}");
    order("{\"action\":\"request_control\",\"args\":{\"what\":\"browser\","
          "\"reason\":\"x\",\"timeout\":0.001}}");
    while (last() == 1)
        turn();
    CHECK(strstr(event_of(2), "\"content\":\"Nobody has taken the browser within "));
    CHECK(!strstr(event_of(2), "within 0 seconds"));
    CHECK(strstr(event_of(2), "\"extras\":{\"what\":\"browser\",\"end\":\"timeout\"}}"));
    for (int i = 0; i < 16; i++)
        order("{" WAITS "}");
    CHECK_INT(last(), 18);
    order("{" WAITS "}");
    CHECK_INT(last(), 20);
    CHECK(strstr(event_of(20), "16 requests for a person wait already"));
}

TEST(a_cancel_is_of_another_action_that_goes_on)
{
    begin_worker("{}");
    order("{" WAITS "}");
    order("{\"action\":\"cancel\",\"args\":{\"id\":1}}");
    CHECK(strstr(event_of(3), "\"cause\":1,"));
    CHECK(strstr(event_of(4), "\"cause\":2,\"session\":\"main\",\"observation\":\"cancel\""));
    order("{\"action\":\"cancel\",\"args\":{\"id\":1}}");
    CHECK(strstr(event_of(6), "there is no unfinished action 1"));
    order("{\"action\":\"cancel\",\"args\":{\"id\":7}}"); /* itself */
    CHECK(strstr(event_of(8), "there is no unfinished action 7"));
}

/* ---- what goes on after its observation ---- */

TEST(the_end_of_a_command_whose_session_is_gone_is_not_known)
{
    begin_worker("{}");
    struct action *a = actions_find(
        all, order("{" RUN ",\"session\":\"s\",\"client_id\":\"a \\n\"}"));
    snprintf(a->command, sizeof(a->command), "cmd");
    background_add(a, 2, 77);
    a->client_id[0] = 'b';
    background_add(a, 3, 78);
    const char *text = kept_text("events/trails");
    CHECK_STR(text, "1 2 77 s cmd \"a \\n\"\n1 3 78 s cmd \"b \\n\"\n");
    turn();
    begin_worker("{}");
    CHECK_STR(event_of(2), "\"cause\":1,\"session\":\"s\",\"client_id\":\"a \\n\","
                           "\"observation\":\"ended\",\"exit_code\":null,\"content\":"
                           "\"How the command ended is not known: its session is gone\","
                           "\"extras\":{}}");
    CHECK(strstr(event_of(3), "\"client_id\":\"b \\n\","));
    CHECK(!backgrounds_next(all, NULL));
    CHECK(!json_has(kept, "events/trails"));
}

T_MAIN
