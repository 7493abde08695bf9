/* SPDX-License-Identifier: MIT */
/*
 * What the log has of an order and of its end, and what a repeated order finds.
 */
#include "worker.h"

/* ---- what is accepted ---- */

TEST(a_client_sets_only_what_is_a_clients)
{
    begin_worker("{}");
    uint64_t id = order("{\"id\":7,\"timestamp\":\"x\",\"key\":\"k\",\"cause\":3,"
                        "\"masked\":1,\"output\":{},\"cut\":4,\"secrets\":null,"
                        "\"more\":5," WAITS ",\"client_id\":\"c\\n1\","
                        "\"session\":\"one\"}");
    CHECK_INT(id, 1);
    const char *key = actions_find(all, id)->key;
    char want[400];
    CHECK_INT(strlen(key), ACTION_KEY);
    CHECK_INT(strspn(key, "0123456789abcdef"), ACTION_KEY);
    snprintf(want, sizeof(want),
             ",\"key\":\"%s\",\"session\":\"one\",\"client_id\":\"c\\n1\",\"more\":5," WAITS
             "}", key);
    CHECK_STR(event_of(id) - 1, want);
    CHECK_INT(all->stats.actions, 1);
    CHECK_INT(all->stats.pending, 1);
    /* By its client_id it is found again, and is not done again. */
    struct action_taken t;
    CHECK_INT(order_as("{\"client_id\":\"c\\n1\"," RUN "}", NULL, &t), 0);
    CHECK(t.repeated && t.id == 1 && t.end == 0);
    CHECK_INT(all->stats.repeated, 1);
    CHECK_INT(last(), 1);
    CHECK_INT(actions_cancel(all, 1, &e), 0);
    CHECK_INT(order_as("{\"client_id\":\"c\\n1\"," RUN "}", NULL, &t), 0);
    CHECK(t.repeated && t.id == 1 && t.end == 2);
    CHECK_INT(all->stats.repeated, 2);
    CHECK_INT(all->stats.pending, 0);
    CHECK_INT(all->stats.errors, 1);
    CHECK_INT(all->stats.observations, 1);
    CHECK_STR(event_of(2),
              "\"cause\":1,\"session\":\"one\",\"client_id\":\"c\\n1\","
              "\"observation\":\"error\",\"content\":\"The action was cancelled\","
              "\"message\":\"The action was cancelled\",\"extras\":{\"error_id\":\"\","
              "\"status\":400,\"code\":\"CANCELLED\"}}");
    CHECK_INT(actions_cancel(all, 1, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
}

TEST(what_waits_for_its_turn_is_cancelled_before_it_began)
{
    begin_worker("{}");
    uint64_t id = order("{" RUN "}");
    CHECK(!actions_find(all, id)->begun); /* the sandbox is not ready */
    CHECK_INT(actions_cancel(all, id, &e), 0);
    CHECK(strstr(event_of(last()), "The action was cancelled before it began"));
    CHECK(!actions_find(all, id));
}

TEST(names_of_the_servers_own_front_ends_cannot_be_claimed)
{
    static const char *const ours[] = {"mcp",     "swerex", "interpreter", "v1",   "sandbox",
                                       "execd",   "e2b",    "files",       "exec"};
    struct action_taken t;
    char text[300];
    begin_worker("{}");
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
        CHECK(log_is_source(str_of(ours[i])));
        snprintf(text, sizeof(text), "{" WAITS ",\"source\":\"%s\"}", ours[i]);
        CHECK(!strstr(event_of(order(text)), "source"));
    }
    CHECK(!log_is_source(STR("v0")));
    CHECK(strstr(event_of(order("{" WAITS ",\"source\":\"agent\"}")),
                 ",\"source\":\"agent\"}"));
    /* One that the server writes is the only one. */
    CHECK_INT(order_as("{" WAITS ",\"source\":\"agent\"}", ACTION_SOURCE_MCP, &t), 0);
    CHECK(strstr(event_of(t.id), "\"session\":\"main\",\"source\":\"mcp\",\"action\""));
    CHECK(!strstr(event_of(t.id), "agent"));
    CHECK_STR(log_source(str_of(line_of(t.id))), "mcp");
}

TEST(a_line_says_which_front_end_asked)
{
    CHECK(log_source(STR("{\"id\":1,\"source\":\"e2b\",")) != NULL);
    CHECK_STR(log_source(STR("{\"id\":1,\"source\":\"files\",")), "files");
    CHECK_STR(log_source(STR("{\"id\":1,\"source\":\"exec\",\"uid\":0")), "exec");
    CHECK(!log_source(STR("{\"id\":1,\"source\":\"exec\"}")));
    CHECK_STR(log_source(STR("{\"id\":1,\"source\":\"v0\"")), "v0");
    CHECK_STR(log_source(STR("{\"id\":1,\"source\":\"http\"")), "v0");
    CHECK(!log_source(STR("{\"id\":1,\"source\":\"agent\"")));
    CHECK(!log_source(STR("")));
}

TEST(what_no_action_can_be_is_refused_and_not_in_the_log)
{
    char text[600], name[200];
    memset(name, 'n', sizeof(name));
    begin_worker("{}");
    refused("{}", ERR_INVALID, "the action \"\" is not defined. Available actions: ");
    refused("{\"action\":\"fly\"}", ERR_INVALID, "the action \"fly\" is not defined");
    CHECK(strstr(e.text, "Available actions: ") && strstr(e.text, ", "));
    CHECK(!strstr(e.text, "actions: ,"));
    snprintf(text, sizeof(text), "{\"action\":\"%.61s\"}", name);
    snprintf(name + 60, sizeof(name) - 60, "\" is");
    refused(text, ERR_INVALID, name);
    memset(name, 'n', sizeof(name));
    refused("{" WAITS ",\"client_id\":5}", ERR_INVALID, "client_id must be a string");
    refused("{" WAITS ",\"session\":5}", ERR_INVALID, "session must be a string");
    refused("{" WAITS ",\"session\":\"\"}", ERR_INVALID, "is 1 to 40 letters long");
    snprintf(text, sizeof(text), "{" WAITS ",\"session\":\"%.41s\"}", name);
    refused(text, ERR_INVALID, "is 1 to 40 letters long");
    snprintf(text, sizeof(text), "{" WAITS ",\"client_id\":\"%.129s\"}", name);
    refused(text, ERR_INVALID, "a client_id is at most 128 bytes long");
    for (const char *c = " \x7f/"; *c; c++) {
        snprintf(text, sizeof(text), "{" WAITS ",\"session\":\"a%cb\"}", *c);
        refused(text, ERR_INVALID, "letters, digits and");
    }
    refused("{" WAITS ",\"session\":\"\\\"\"}", ERR_INVALID, "letters, digits and");
    refused("{" WAITS ",\"session\":\"a\\\\\"}", ERR_INVALID, "letters, digits and");
    refused("{" WAITS ",\"session\":\"\xc3\xa4\"}", ERR_INVALID, "letters, digits and");
    snprintf(text, sizeof(text), "{" WAITS ",\"session\":\"%.40s\"}", name);
    CHECK_INT(strlen(actions_find(all, order(text))->session), 40);
    snprintf(text, sizeof(text), "{" WAITS ",\"session\":\"!~\"}");
    order(text);
    snprintf(text, sizeof(text), "{" WAITS ",\"client_id\":\"%.128s\"}", name);
    struct action_taken t;
    uint64_t id = order(text);
    CHECK_INT(order_as(text, NULL, &t), 0);
    CHECK(t.repeated && t.id == id);
    all->stats.pending = ACTIONS_MAX;
    refused("{" WAITS "}", ERR_LIMIT, "1024 actions have not ended yet");
    all->stats.pending = ACTIONS_MAX - 1;
    order("{" WAITS "}");
}

TEST(an_end_that_the_log_did_not_take_is_said)
{
    struct action_taken t = {.id = 5};
    CHECK_INT(actions_check_end(&t, &e), 0);
    t.end = 6;
    CHECK_INT(actions_check_end(&t, &e), 0);
    t.end = 5;
    CHECK_INT(actions_check_end(&t, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(strstr(e.text, "action 5 has ended"));
}

/* ---- secrets ---- */

TEST(a_secret_is_hidden_from_then_on_and_by_later_workers)
{
    begin_worker("{}");
    refused("{" WAITS ",\"secrets\":\"word\"}", ERR_INVALID, "secrets must be an object");
    refused("{" WAITS ",\"secrets\":[5]}", ERR_INVALID, "a secret is a string");
    refused("{" WAITS ",\"secrets\":[\"abc\"]}", ERR_INVALID, "of less than 4 bytes");
    uint64_t id = order("{" WAITS ",\"secrets\":{\"A\":\"quo\\\"te\"},"
                        "\"note\":\"x quo\\\"te y quo\\\"te\",\"n\":\"z\"}");
    CHECK(strstr(event_of(id), "\"note\":\"x <secret_hidden> y <secret_hidden>\","
                               "\"n\":\"z\",\"masked\":2}"));
    id = order("{" WAITS ",\"secrets\":[\"second\",\"\"],\"note\":\"second\"}");
    CHECK(strstr(event_of(id), "\"note\":\"<secret_hidden>\",\"masked\":1}"));
    CHECK_STR(kept_text("events/secrets"), "quo\\\"te\nsecond\n");
    begin_worker("{}");
    CHECK_INT(all->nsecrets, 2);
    id = order("{" WAITS ",\"note\":\"second quo\\\"te\"}");
    CHECK(strstr(event_of(id), "\"note\":\"<secret_hidden> <secret_hidden>\","
                               "\"masked\":2}"));
}

static void hides(const char *args, size_t n, const char *want)
{
    struct json *j = json_parse(str_of(args), &e);
    struct buf b = BUF_INIT(4096);
    CHECK_INT(log_hide(all, j, false), n);
    json_print(&b, j);
    CHECK_STR(buf_z(&b), want);
    buf_release(&b);
    json_free(j);
}

TEST(what_is_typed_unshown_is_not_in_the_log)
{
    begin_worker("{}");
    struct json *j = json_parse(STR("{\"text\":\"a\",\"base64\":5,\"command\":\"\"}"), &e);
    struct buf b = BUF_INIT(4096);
    CHECK_INT(log_hide(all, j, true), 1);
    json_print(&b, j);
    CHECK_STR(buf_z(&b), "{\"base64\":5,\"command\":\"\",\"text\":\"<secret_hidden>\"}");
    buf_release(&b);
    json_free(j);
}

/* What is written of "a b". */
#define A_B \
    "\"bytes\":3,\"sha256\":" \
    "\"c8687a08aa5d6ed2044328fa6a697ab8e96dc34291e8c2034ae8c38e6fcc6d65\""

TEST(what_is_silent_is_in_the_log_by_its_length_and_sum)
{
    begin_worker("{}");
    hides("{\"command\":\"a b\",\"n\":1}", 0, "{\"command\":\"a b\",\"n\":1}");
    hides("{\"env\":{\"A\":\"12\",\"B\":\"\"}}", 4, "{\"env\":[\"A\",\"B\"]}");
    hides("{\"env\":\"none\"}", 0, "{\"env\":\"none\"}");
    hides("{\"silent\":true,\"command\":\"a b\"}", 3,
          "{\"silent\":true," A_B ",\"command\":\"\"}");
    hides("{\"silent\":true,\"argv\":[\"a\",\"b\"],\"code\":\"\"}", 3,
          "{\"silent\":true,\"code\":\"\"," A_B ",\"argv\":[]}");
    hides("{\"silent\":true,\"code\":\"a b\",\"command\":5}", 3,
          "{\"silent\":true,\"command\":5," A_B ",\"code\":\"\"}");
    uint64_t id = order("{\"action\":\"run\",\"args\":{\"command\":\"a b\","
                        "\"until\":\"end\",\"silent\":true},\"x\":1}");
    CHECK(strstr(event_of(id), "\"args\":{\"until\":\"end\",\"silent\":true," A_B
                               ",\"command\":\"\"},\"x\":1,\"cut\":3}"));
    static const char plain[] =
        "{\"action\":\"run\",\"args\":{\"command\":\"a b\",\"until\":\"end\"}}";
    CHECK(strstr(event_of(order(plain)),
                 "\"args\":{\"command\":\"a b\",\"until\":\"end\"}}"));
    begin_worker("{\"events\":{\"log_commands\":\"none\"}}");
    hides("{\"command\":\"a b\"}", 3, "{" A_B ",\"command\":\"\"}");
    id = order(plain);
    CHECK(!strstr(event_of(id), "a b") && strstr(event_of(id), ",\"cut\":3}"));
}

/* ---- reading ---- */

TEST(a_line_is_found_by_its_id)
{
    begin_worker("{}");
    uint64_t id = order("{" WAITS "}");
    struct buf b = BUF_INIT(2 * LIMIT_EVENT_MAX);
    CHECK_INT(actions_line(all, 0, &b), -1);
    CHECK_INT(actions_line(all, id + 1, &b), -1);
    CHECK_INT(b.n, 0);
    buf_addz(&b, "before");
    CHECK_INT(actions_line(all, id, &b), 0);
    CHECK(strncmp(buf_z(&b), "before{\"id\":1,", 14) == 0);
    CHECK_INT(b.p[b.n - 1], '\n');
    buf_release(&b);
    CHECK(actions_on_disk(all));
}

static unsigned counted;
static uint64_t first_id, last_id;

static void count_line(void *arg, struct str s)
{
    struct event_members l;
    CHECK(arg == &counted);
    CHECK_INT(s.p[s.n - 1], '\n');
    event_members(s, &l);
    first_id = counted++ ? first_id : l.id;
    last_id = l.id;
}

TEST(lines_are_read_from_one_id_to_before_another)
{
    begin_worker("{}");
    for (int i = 0; i < 30; i++)
        order("{" RUN "}");
    log_each(all, 3, 9, count_line, &counted);
    CHECK(counted == 6 && first_id == 3 && last_id == 8);
    counted = 0;
    log_each(all, 5, 5, count_line, &counted);
    CHECK_INT(counted, 0);
    log_each(all, 29, 100, count_line, &counted);
    CHECK_INT(counted, last() - 28);
    struct event_cursor c = {.next = 4};
    CHECK(actions_batch(all, &c));
    CHECK_INT(actions_batch_line(all, 0)->id, 4);
    CHECK_INT(actions_batch_line(all, 20)->id, 24); /* more than there was room for */
    CHECK_INT(actions_batch_line(all, 3)->id, 7);
    CHECK_INT(actions_batch_line(all, (unsigned)last() - 4)->id, last());
    CHECK(!actions_batch_line(all, (unsigned)last() - 3));
    CHECK_INT(actions_batch_after(all).next, last() + 1);
    CHECK(actions_batch_bytes(all) > 30 * EVENT_LINE_MIN);
    c.next = last() + 1;
    CHECK(!actions_batch(all, &c));
    order("{" RUN "}");
    CHECK(actions_batch(all, &c));
    CHECK_INT(actions_batch_line(all, 0)->id, last());
}

TEST(the_oldest_name_makes_room_for_the_newest)
{
    char name[ACTION_CLIENT_MAX + 2];
    begin_worker("{}");
    for (unsigned i = 0; i < KNOWN_MAX; i++) {
        snprintf(name, sizeof(name), "%u", i);
        known_add(all, 'c', str_of(name), i + 100);
    }
    CHECK_INT(all->nknowns, KNOWN_MAX);
    CHECK(known_find(all, 'c', STR("0")) && !known_find(all, 'k', STR("0")));
    known_end(all, 100, 7);
    CHECK_INT(known_find(all, 'c', STR("0"))->end, 7);
    known_end(all, 99, 8); /* of nobody */
    known_add(all, 'c', STR("1"), 9000); /* the same name again takes no room */
    CHECK_INT(all->nknowns, KNOWN_MAX);
    CHECK_INT(known_find(all, 'c', STR("1"))->id, 9000);
    CHECK(known_find(all, 'c', STR("0")));
    known_add(all, 'k', STR("new"), 9001);
    CHECK_INT(all->nknowns, KNOWN_MAX);
    CHECK(known_find(all, 'k', STR("new")) && !known_find(all, 'c', STR("0")));
    known_end(all, 101, 8); /* of one whose name was taken */
    CHECK_INT(known_find(all, 'c', STR("1"))->end, 0);
    memset(name, 'n', sizeof(name));
    struct str longest = str_n(name, ACTION_CLIENT_MAX);
    struct known *k = known_add(all, 'c', longest, 9002);
    CHECK(known_find(all, 'c', longest) == k);
    CHECK(!known_find(all, 'c', str_n(name, ACTION_CLIENT_MAX + 1)));
}

/* ---- ends ---- */

static char big[LIMIT_EVENT_MAX + 1];

/* The observation of a new action with this result. */
static struct json *observed(const struct action_result *r)
{
    uint64_t id = order("{" WAITS "}");
    struct action *a = actions_find(all, id);
    a->kind->cancel(a);
    action_end_as(a, r);
    struct json *j = json_parse(str_of(line_of(last())), &e);
    CHECK(j && json_int(j, "cause", 0) == (int64_t)id);
    return j;
}

TEST(an_observation_that_is_too_long_is_cut)
{
    memset(big, 'x', sizeof(big));
    begin_worker("{}");
    struct json *one = json_object();
    json_put_int(one, "a", 1);
    struct action_result r = {.text = str_n(big, 900 << 10), .extras = one};
    struct json *j = observed(&r);
    CHECK(!json_has(j, "cut") && json_str(j, "content", "").n == r.text.n);
    CHECK_INT(json_int(json_get(j, "extras"), "a", 0), 1);
    CHECK_STR(json_str(j, "observation", "").p, "request_control");
    json_free(j);
    r.text = str_n(big, 1000 << 10);
    j = observed(&r);
    CHECK(json_int(j, "cut", 0) > (int64_t)r.text.n);
    struct str cut = json_str(j, "content", "");
    CHECK(cut.n > (255 << 10) && cut.n <= 256 << 10);
    CHECK(str_ends(cut, STR(" [... 1024000 bytes in all]")));
    json_free(j);
    json_free(one);
    /* Several long ones are cut until they fit together. */
    struct buf extras = BUF_INIT(4 << 20);
    for (int i = 0; i < 10; i++) {
        buf_addf(&extras, "%s\"m%d\":\"", i ? "," : "{", i);
        buf_add(&extras, big, 250 << 10);
        buf_addc(&extras, '"');
    }
    buf_addc(&extras, '}');
    r = (struct action_result){.text = STR("short"), .printed = buf_str(&extras)};
    j = observed(&r);
    CHECK_STR(json_str(j, "content", "").p, "short");
    cut = json_str(json_get(j, "extras"), "m9", "");
    CHECK(cut.n > (63 << 10) && cut.n <= 64 << 10);
    json_free(j);
    buf_release(&extras);
}

TEST(what_a_foreign_kind_ends_with_is_put_as_it_is)
{
    begin_worker("{}");
    struct action_result r = {.body = STR("{\"observation\":\"null\",\"content\":\"\"}"),
                              .has_output = true, .output_of = "other", .from = 3, .to = 9};
    struct json *j = observed(&r);
    CHECK_STR(json_str(j, "observation", "").p, "null");
    CHECK_STR(json_str(j, "session", "").p, "other");
    CHECK_INT(json_int(json_get(j, "output"), "from", 0), 3);
    CHECK_INT(json_int(json_get(j, "output"), "to", 0), 9);
    json_free(j);
    CHECK_INT(all->stats.errors, 0);
    r = (struct action_result){.body = STR("{\"detail\":\"no such\"}"), .status = 404};
    j = observed(&r);
    CHECK_STR(json_str(j, "content", "").p, "no such");
    CHECK_STR(json_str(j, "message", "").p, "no such");
    CHECK_INT(json_int(json_get(j, "extras"), "status", 0), 404);
    CHECK(!json_has(json_get(j, "extras"), "code") && !json_has(j, "output"));
    json_free(j);
    CHECK_INT(all->stats.errors, 1);
    r = (struct action_result){.body = STR("{\"observation\":\"run\"}"), .status = 200};
    j = observed(&r);
    CHECK_STR(json_str(j, "observation", "").p, "run");
    json_free(j);
    r = (struct action_result){.unheard = true};
    j = observed(&r);
    CHECK_INT(json_int(json_get(j, "extras"), "status", 0), 499);
    json_free(j);
    CHECK_INT(all->stats.errors, 2);
    CHECK_INT(all->stats.observations, 4);
}

T_MAIN
