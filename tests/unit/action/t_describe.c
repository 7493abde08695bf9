/* SPDX-License-Identifier: MIT */
/*
 * Every action has its parameters as data, and the check that is made from them has the
 * verdict of what runs the action.
 */
#include "action/describe.h"
#include "front/v0/action.h"

#include "t.h"

static struct err e;

/* As the server: 0, or -1 with e. Takes args. */
static int verdict(const struct action_kind *a, struct json *args)
{
    struct v0_action decoded;
    struct json *m = json_object();
    e = (struct err)ERR_INIT;
    json_put_z(m, "action", a->name);
    json_put(m, "args", args);
    const struct action_kind *k = action_kind_of(m);
    int rc = action_check(k, json_get(m, "args"), &e);
    if (rc == 0 && k->foreign)
        rc = v0_action_decode_event(m, &decoded, &e);
    json_free(m);
    return rc;
}

static struct json *example(const struct action_kind *a)
{
    struct json *j = json_parse(str_of(a->takes->example ? a->takes->example : "{}"), &e);
    if (!j)
        T_FAIL("%s: %s", a->name, e.text);
    return j;
}

TEST(every_action_has_words_and_an_example_that_is_accepted)
{
    const struct action_kind *a;
    size_t n = 0;
    for (; (a = action_kind_at(n)); n++) {
        CHECK(a->takes->about && a->takes->about[0]);
        for (const struct param *p = a->takes->params; p && p->name; p++)
            CHECK(p->about && p->about[0] && p->about[strlen(p->about) - 1] != '.');
        if (verdict(a, example(a)) < 0)
            T_FAIL("%s: %s", a->name, e.text);
    }
    CHECK(n >= 30);
    CHECK((a = action_kind(STR("browse_interactive"))) && a->foreign);
    CHECK((a = action_kind(STR("watch"))) && !a->foreign);
    CHECK(!action_kind(STR("message")));
}

/* Their schema says whether args may be left out: exactly where none is required. */
TEST(args_are_required_where_one_of_them_is)
{
    const struct action_kind *a;
    unsigned with = 0, without = 0;
    for (size_t i = 0; (a = action_kind_at(i)); i++) {
        struct json *schema = action_schema(a, "#/args");
        bool wanted = false, listed = false;
        for (const struct param *p = a->takes->params; p && p->name; p++)
            wanted = wanted || p->required;
        for (struct json *v = json_first(json_get(schema, "required")); v;
             v = json_next(v))
            listed = listed || str_eq(json_str_value(v, ""), STR("args"));
        if (wanted != listed)
            T_FAIL("%s: %d, not %d", a->name, listed, wanted);
        with += wanted;
        without += !wanted;
        json_free(schema);
    }
    CHECK(with > 0 && without > 0);
}

/* Every action on files has members in its observation, and its schema names them. */
TEST(results_of_actions_on_files_are_described)
{
    static const char *const names[] = {"stat", "list",    "mkdir",  "move",
                                        "copy", "remove",  "chmod",  "replace",
                                        "join", "archive", "extract"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct action_kind *a = action_kind(str_of(names[i]));
        CHECK(a);
        struct json *schema = action_result_schema(a);
        if (json_count(json_get(schema, "properties")) == 0)
            T_FAIL("%s: nothing is described", names[i]);
        json_free(schema);
    }
}

/* Whether one of several parameters is needed, and the example has this one. */
static bool is_one_of(const char *action, const char *name)
{
    static const char *const rows[][2] = {
        {"input", "text"}, {"process", "argv"}, {"chmod", "mode"}, {"rollback", "to"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(action, rows[i][0]) == 0 && strcmp(name, rows[i][1]) == 0)
            return true;
    return false;
}

TEST(what_is_required_is_missed_by_name)
{
    const struct action_kind *a;
    for (size_t i = 0; (a = action_kind_at(i)); i++) {
        for (const struct param *p = a->takes->params; p && p->name; p++) {
            struct json *args = example(a), *v = json_get(args, p->name);
            if (v)
                json_drop(args, v);
            bool missed = p->required || is_one_of(a->name, p->name);
            if (verdict(a, args) != (missed ? -1 : 0))
                T_FAIL("%s without %s: %s", a->name, p->name, e.text);
            if (p->required && !strstr(e.text, p->name))
                T_FAIL("%s without %s: %s", a->name, p->name, e.text);
        }
    }
}

/* V0's decoder and the rows about it agree, except where the editor decides later. */
TEST(types_of_v0_are_those_of_its_decoder)
{
    static const char *const values[] = {"1",  "\"x\"", "true", "{}",
                                         "[]", "null",  "-1",   "1.5"};
    static const char *const ours[] = {"until", "quiet", "busy", "silent"};
    const struct action_kind *a;
    for (size_t i = 0; (a = action_kind_at(i)); i++) {
        for (const struct param *p = a->takes->params; p && p->name && a->foreign; p++) {
            bool later = strcmp(a->name, "edit") == 0 && !p->required;
            for (size_t j = 0; j < sizeof(ours) / sizeof(ours[0]); j++)
                later = later || strcmp(p->name, ours[j]) == 0;
            for (size_t j = 0; j < sizeof(values) / sizeof(values[0]) && !later; j++) {
                struct v0_action decoded;
                struct json *m = json_object(), *args = example(a);
                json_free(json_take(args, "until"));
                json_put(args, p->name, json_parse(str_of(values[j]), &e));
                json_put_z(m, "action", a->name);
                json_put(m, "args", args);
                int mine = params_check(a->name, a->takes, args, NULL, &e);
                int theirs = v0_action_decode_event(m, &decoded, &e);
                if (mine != theirs)
                    T_FAIL("%s %s=%s: %d %d %s", a->name, p->name, values[j], mine,
                           theirs, e.text);
                json_free(m);
            }
        }
    }
}

/* What OpenHands' clients always send is accepted, and another name is not. */
TEST(what_v0s_clients_send_is_accepted_and_nothing_else)
{
    const struct action_kind *a;
    for (size_t i = 0; (a = action_kind_at(i)); i++) {
        struct json *args = example(a), *bad = example(a);
        json_put_z(args, "thought", "");
        json_put_int(args, "security_risk", -1);
        json_put_z(args, "confirmation_state", "confirmed");
        CHECK_INT(verdict(a, args), a->foreign ? 0 : -1);
        json_put_int(bad, "no_such", 1);
        CHECK_INT(verdict(a, bad), -1);
        CHECK(strstr(e.text, "no argument no_such; it takes "));
    }
}

#define REFUSED(action, args, words) \
    do { \
        const struct action_kind *a_ = action_kind(STR(action)); \
        CHECK(a_); \
        struct json *j_ = json_parse(STR(args), &e); \
        CHECK(j_); \
        CHECK_INT(verdict(a_, j_), -1); \
        CHECK_STR(e.text, words); \
    } while (0)

TEST(relations_between_parameters_have_their_own_sentences)
{
    REFUSED("input", "{}", "input takes \"text\", or bytes as \"base64\"");
    REFUSED("input", "{\"text\":\"a\",\"base64\":\"YQ==\"}",
            "input takes \"text\", or bytes as \"base64\", not both");
    REFUSED("input", "{\"text\":\"a\",\"id\":0}",
            "id must be a whole number of at least 1, not 0");
    REFUSED(
        "signal", "{\"signal\":\"nine\"}",
        "signal must be the name of a signal, such as INT or SIGTERM, or a number from 1 "
        "to 64, not \"nine\"");
    REFUSED("signal", "{\"signal\":0}",
            "signal must be a name or a whole number from 1 to 64, not 0");
    REFUSED("skill", "{\"name\":\"x\"}", "there is no skill x; GET /skills lists them");
    REFUSED("cell", "{}", "cell takes a \"code\", a string: The code to run");
    REFUSED("cancel", "{}",
            "cancel takes an \"id\", a whole number of at least 1: The id of the action");
    REFUSED("stat", "{\"path\":\"a\",\"mode\":1}",
            "stat has no argument mode; it takes path, follow, full, user");
    REFUSED("stat", "[]", "args must be an object");
}

T_MAIN
