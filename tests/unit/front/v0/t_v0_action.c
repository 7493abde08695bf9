/* SPDX-License-Identifier: MIT */
/*
 * Bodies of /execute_action: what every argument becomes, and for each thing
 * that can be wrong its status and the words of the answer.
 */
#include "front/v0/action.h"

#include "t.h"

/* The body and what it decodes to; the body lives until the case ends. */
static struct json *body;
static struct v0_action a;
static struct err e;
static int status;

static void drop(void)
{
    json_free(body);
    body = NULL;
}

static int decode(const char *text)
{
    if (!body)
        atexit(drop);
    json_free(body);
    e = (struct err)ERR_INIT;
    status = 0;
    body = json_parse(str_of(text), &e);
    if (!body)
        T_FAIL("%s: %s", text, e.text);
    return v0_action_decode(body, &a, &status, &e);
}

#define CHECK_FAILS(body_text, wanted_status, wanted_text) \
    do { \
        CHECK_INT(decode(body_text), -1); \
        CHECK_INT(status, wanted_status); \
        CHECK_STR(e.text, wanted_text); \
    } while (0)

#define CHECK_OK(body_text) \
    do { \
        if (decode(body_text) < 0) \
            T_FAIL("%d %s", status, e.text); \
    } while (0)

#define CHECK_SLICE(s, literal) CHECK_MEM((s).p, (s).n, literal)

TEST(a_run_with_everything)
{
    CHECK_OK(
        "{\"action\": {\"id\": 41, \"timestamp\": \"2025-11-28T10:00:00.000001\", "
        "\"source\": \"agent\", \"message\": \"Running command: make\", \"action\": "
        "\"run\", \"args\": {\"command\": \"make\", \"is_input\": true, \"thought\": "
        "\"\", \"blocking\": true, \"is_static\": true, \"cwd\": \"/tmp\", "
        "\"hidden\": true, \"confirmation_state\": \"confirmed\", "
        "\"security_risk\": -1}, \"timeout\": 120.0}}");
    CHECK_INT(a.kind, V0_RUN);
    CHECK_SLICE(a.name, "run");
    CHECK_SLICE(a.run.command, "make");
    CHECK_SLICE(a.run.cwd, "/tmp");
    CHECK(a.run.is_input && a.run.blocking && a.run.is_static && a.run.hidden);
    CHECK(a.has_timeout && a.timeout == 120.0);
    CHECK(a.unique);
    CHECK(json_is_object(a.args));
}

TEST(a_run_with_no_more_than_it_needs)
{
    CHECK_OK("{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"\"}}}");
    CHECK_INT(a.kind, V0_RUN);
    CHECK_INT(a.run.command.n, 0);
    CHECK(!a.run.is_input && !a.run.blocking && !a.run.is_static && !a.run.hidden);
    CHECK_INT(a.run.cwd.n, 0);
    CHECK(!a.has_timeout && !a.unique);
}

TEST(null_is_absent_and_what_is_unknown_is_passed_over)
{
    CHECK_OK(
        "{\"action\":{\"action\":\"run\",\"id\":null,\"source\":null,\"timeout\":null,"
        "\"args\":{\"command\":\"x\",\"cwd\":null,\"is_input\":null,\"shiny\":[1],"
        "\"keep_prompt\":false,\"is_confirmed\":\"confirmed\"},\"new\":{}},\"more\":1}");
    CHECK_SLICE(a.run.command, "x");
    CHECK(!a.has_timeout && !a.unique && !a.run.is_input);
}

/* An id alone is what people write by hand, and write again. */
TEST(a_timestamp_makes_it_one_of_a_kind)
{
    CHECK_OK("{\"action\":{\"action\":\"run\",\"id\":0,\"args\":{\"command\":\"x\"}}}");
    CHECK(!a.unique);
    CHECK_OK("{\"action\":{\"action\":\"run\",\"timestamp\":\"t\",\"args\":{\"command\":"
             "\"x\"}}}");
    CHECK(a.unique);
}

TEST(read_and_its_lines)
{
    CHECK_OK("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"a.txt\"}}}");
    CHECK_INT(a.kind, V0_READ);
    CHECK_SLICE(a.read.path, "a.txt");
    CHECK_INT(a.read.start, 0);
    CHECK_INT(a.read.end, -1);
    CHECK(!a.read.aci && !a.read.has_range && !a.read.odd_range);
    CHECK_OK(
        "{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"/a\",\"start\":-3,"
        "\"end\":9007199254740991,\"impl_source\":\"oh_aci\",\"view_range\":[1,-1]}}}");
    CHECK_INT(a.read.start, -3);
    CHECK_INT(a.read.end, 9007199254740991);
    CHECK(a.read.aci && a.read.has_range);
    CHECK_INT(a.read.range[0], 1);
    CHECK_INT(a.read.range[1], -1);
}

TEST(a_range_that_is_none_is_kept_for_the_editor)
{
    static const char *const odd[] = {"[1]",      "[1,2,3]",   "[]", "[1.5,2]",
                                      "[1,null]", "[\"1\",2]", "{}", "\"1-2\"",
                                      "[[1],2]",  "[1,1e300]", "7"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"p\","
                 "\"view_range\":%s}}}",
                 odd[i]);
        CHECK_OK(text);
        CHECK(!a.read.has_range && a.read.odd_range);
    }
    CHECK_OK("{\"action\":{\"action\":\"read\",\"args\":{\"path\":\"p\",\"view_range\":"
             "null}}}");
    CHECK(!a.read.has_range && !a.read.odd_range);
}

TEST(write_edit_cells_and_pages)
{
    CHECK_OK("{\"action\":{\"action\":\"write\",\"args\":{\"path\":\"p\",\"content\":"
             "\"one\\ntwo\",\"start\":1,\"end\":2}}}");
    CHECK_INT(a.kind, V0_WRITE);
    CHECK_SLICE(a.write.path, "p");
    CHECK_SLICE(a.write.content, "one\ntwo");
    CHECK_INT(a.write.start, 1);
    CHECK_INT(a.write.end, 2);
    CHECK_OK("{\"action\":{\"action\":\"edit\",\"args\":{\"path\":\"/p\",\"command\":"
             "\"view\"}}}");
    CHECK_INT(a.kind, V0_EDIT);
    CHECK_STR(json_str(a.args, "command", "").p, "view");
    CHECK_OK("{\"action\":{\"action\":\"run_ipython\",\"args\":{\"code\":\"1\"}}}");
    CHECK_INT(a.kind, V0_RUN_IPYTHON);
    CHECK_OK("{\"action\":{\"action\":\"browse\",\"args\":{\"url\":\"u\"}}}");
    CHECK_INT(a.kind, V0_BROWSE);
    CHECK_OK("{\"action\":{\"action\":\"browse_interactive\",\"args\":{"
             "\"browser_actions\":\"noop()\"}}}");
    CHECK_INT(a.kind, V0_BROWSE_INTERACTIVE);
}

#define ACTIONS \
    "Available actions: run, run_ipython, browse, browse_interactive, read, write, edit"

TEST(kinds_that_nobody_serves)
{
    CHECK_OK("{\"action\":{\"action\":\"recall\",\"args\":{\"query\":1}}}");
    CHECK_INT(a.kind, V0_OTHER);
    CHECK_INT(v0_action_refuse(&a, &e), -1);
    CHECK_STR(e.text,
              "Internal server error: 'action['action']='recall'' is not executed in the "
              "sandbox. " ACTIONS);
    CHECK_OK("{\"action\":{\"action\":\"null\"}}");
    CHECK_INT(a.kind, V0_OTHER);
    CHECK_SLICE(a.name, "null");
}

TEST(bodies_that_do_not_validate)
{
    CHECK_FAILS(
        "[]", 422,
        "[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should "
        "be a valid dictionary or object to extract fields from'}]");
    CHECK_FAILS("{}", 422,
                "[{'type': 'missing', 'loc': ('body', 'action'), 'msg': "
                "'Field required'}]");
    CHECK_FAILS("{\"action\": \"run\"}", 422,
                "[{'type': 'dict_type', 'loc': ('body', 'action'), 'msg': 'Input should "
                "be a valid dictionary'}]");
    CHECK_FAILS("{\"action\": null}", 422,
                "[{'type': 'dict_type', 'loc': ('body', 'action'), 'msg': 'Input should "
                "be a valid dictionary'}]");
}

TEST(events_that_are_no_actions)
{
    CHECK_FAILS("{\"action\":{\"observation\":\"run\"}}", 500,
                "Internal server error: 400: Invalid action type");
    CHECK_FAILS("{\"action\":{\"args\":{}}}", 500,
                "Internal server error: 'action' key is not found in "
                "action={\"args\":{}}");
    CHECK_INT(decode("{\"action\":{\"action\":\"dance\"}}"), -1);
    CHECK_INT(status, 500);
    CHECK_STR(
        e.text,
        "Internal server error: 'action['action']='dance'' is not defined. " ACTIONS);
    CHECK_INT(decode("{\"action\":{\"action\":7}}"), -1);
    CHECK_INT(status, 500);
    CHECK(strstr(e.text, "is not defined. Available actions: "));
}

TEST(arguments_that_are_missing)
{
    CHECK_FAILS("{\"action\":{\"action\":\"run\"}}", 500,
                "Internal server error: action={\"action\":\"run\"} has the wrong "
                "arguments: run needs the argument 'command'");
    CHECK_FAILS(
        "{\"action\":{\"action\":\"write\",\"args\":{}}}", 500,
        "Internal server error: action={\"action\":\"write\",\"args\":{}} has the "
        "wrong arguments: write needs the arguments 'path' and 'content'");
    CHECK_INT(decode("{\"action\":{\"action\":\"write\",\"args\":{\"path\":\"p\"}}}"),
              -1);
    CHECK(strstr(e.text, "write needs the argument 'content'"));
    CHECK_INT(decode("{\"action\":{\"action\":\"write\",\"args\":{\"content\":\"p\"}}}"),
              -1);
    CHECK(strstr(e.text, "write needs the argument 'path'"));
}

/* Each names the argument, and is a 500. */
TEST(arguments_of_another_type)
{
    static const struct {
        const char *action, *args, *why;
    } bad[] = {
        {"run", "{\"command\":5}", "command must be a string"},
        {"run", "{\"command\":null}", "command must be a string"},
        {"run", "{\"command\":\"\",\"is_input\":\"true\"}",
         "is_input must be true or false"},
        {"run", "{\"command\":\"\",\"blocking\":1}", "blocking must be true or false"},
        {"run", "{\"command\":\"\",\"is_static\":[]}", "is_static must be true or false"},
        {"run", "{\"command\":\"\",\"hidden\":{}}", "hidden must be true or false"},
        {"run", "{\"command\":\"\",\"cwd\":1}", "cwd must be a string"},
        {"run", "[]", "args must be an object"},
        {"run", "null", "args must be an object"},
        {"read", "{\"path\":[]}", "path must be a string"},
        {"read", "{\"path\":\"\",\"start\":\"0\"}", "start must be a number"},
        {"read", "{\"path\":\"\",\"end\":1.5}", "end must be a whole number below 2^53"},
        {"read", "{\"path\":\"\",\"end\":1e300}",
         "end must be a whole number below 2^53"},
        {"read", "{\"path\":\"\",\"impl_source\":1}", "impl_source must be a string"},
        {"write", "{\"path\":\"\",\"content\":1}", "content must be a string"},
        {"write", "{\"path\":1,\"content\":\"\"}", "path must be a string"},
        {"write", "{\"path\":\"\",\"content\":\"\",\"start\":-1e17}",
         "start must be a whole number below 2^53"},
        {"edit", "{\"path\":false}", "path must be a string"},
        {"run_ipython", "{\"code\":1}", "code must be a string"},
        {"browse", "{\"url\":1}", "url must be a string"},
        {"browse_interactive", "{\"browser_actions\":1}",
         "browser_actions must be a string"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char text[300], wanted[600];
        snprintf(text, sizeof(text), "{\"action\":\"%s\",\"args\":%s}", bad[i].action,
                 bad[i].args);
        struct json *event = json_parse(str_of(text), NULL);
        struct buf printed = BUF_INIT(1000);
        CHECK(event && json_print(&printed, event) == 0);
        snprintf(wanted, sizeof(wanted),
                 "Internal server error: action=%s has the wrong arguments: %s",
                 buf_z(&printed), bad[i].why);
        json_free(event);
        buf_release(&printed);
        char whole[400];
        snprintf(whole, sizeof(whole), "{\"action\":%s}", text);
        CHECK_FAILS(whole, 500, wanted);
    }
}

TEST(time_limits)
{
    CHECK_OK(
        "{\"action\":{\"action\":\"run\",\"timeout\":0.25,\"args\":{\"command\":\"\"}}}");
    CHECK(a.has_timeout && a.timeout == 0.25);
    CHECK_OK(
        "{\"action\":{\"action\":\"run\",\"timeout\":0,\"args\":{\"command\":\"\"}}}");
    CHECK(!a.has_timeout);
    CHECK_OK("{\"action\":{\"action\":\"run\",\"timeout\":1e308,\"args\":{\"command\":"
             "\"\"}}}");
    CHECK(a.has_timeout && a.timeout == V0_TIMEOUT_MAX);
    CHECK_INT(decode(
                  "{\"action\":{\"action\":\"run\",\"timeout\":-1,\"args\":{\"command\":"
                  "\"\"}}}"),
              -1);
    CHECK(strstr(e.text, "has the wrong arguments: timeout must not be negative"));
    CHECK_INT(decode("{\"action\":{\"action\":\"run\",\"timeout\":\"1\",\"args\":{"
                     "\"command\":\"\"}}}"),
              -1);
    CHECK(strstr(e.text, "has the wrong arguments: timeout must be a number"));
}

TEST(sources)
{
    CHECK_OK("{\"action\":{\"action\":\"run\",\"source\":\"user\",\"args\":{\"command\":"
             "\"\"}}}");
    CHECK_OK("{\"action\":{\"action\":\"run\",\"source\":\"environment\",\"args\":{"
             "\"command\":\"\"}}}");
    CHECK_FAILS(
        "{\"action\":{\"action\":\"run\",\"source\":\"dog\",\"args\":{\"command\":"
        "\"\"}}}",
        500,
        "Internal server error: source must be 'agent', 'user' or 'environment', not "
        "'dog'");
    CHECK_INT(decode("{\"action\":{\"action\":\"run\",\"source\":3,\"args\":{\"command\":"
                     "\"\"}}}"),
              -1);
    CHECK_INT(status, 500);
}

/* The reason is there however long the event, which is cut between characters. */
TEST(a_long_event_does_not_hide_the_reason)
{
    for (int shift = 0; shift < 3; shift++) {
        struct buf b = BUF_INIT(1 << 20);
        buf_addf(&b, "{\"action\":{\"action\":\"run\",\"args\":{\"x\":\"%.*s", shift,
                 "xxx");
        for (int i = 0; i < 1000; i++)
            buf_addz(&b, "\xe2\x82\xac");
        buf_addz(&b, "\",\"command\":1}}}");
        CHECK_INT(decode(buf_z(&b)), -1);
        const char *want =
            "\xe2\x82\xac has the wrong arguments: command must be a string";
        CHECK(strlen(e.text) > strlen(want));
        CHECK_STR(e.text + strlen(e.text) - strlen(want), want);
        buf_release(&b);
    }
}

T_MAIN
