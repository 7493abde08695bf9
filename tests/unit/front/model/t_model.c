/* SPDX-License-Identifier: MIT */
/* Values against fields: what is converted, and how pydantic reports what is wrong. */
#include "front/model/model.h"

#include "t.h"

static bool is_sha(struct str s) { return s.n == 4; }

static const struct model_field fields[] = {
    {.name = "text", .type = MODEL_STRING},
    {.name = "maybe", .type = MODEL_STRING, .nullable = true},
    {.name = "count",
     .type = MODEL_INT,
     .has_gt = true,
     .gt = 0,
     .has_le = true,
     .le = 9},
    {.name = "least", .type = MODEL_NUMBER, .has_ge = true, .ge = 1},
    {.name = "yes", .type = MODEL_BOOL},
    {.name = "id", .type = MODEL_UUID},
    {.name = "at", .type = MODEL_TIME},
    {.name = "kind", .type = MODEL_LITERAL, .choices = "a b c"},
    {.name = "order", .type = MODEL_ENUM, .choices = "UP DOWN"},
    {.name = "sha", .type = MODEL_STRING, .pattern = "^x$", .fits = is_sha},
    {.name = "words", .type = MODEL_STRINGS},
    {.name = "env", .type = MODEL_MAP},
    {.name = "api_key", .type = MODEL_INT},
    {.name = NULL}};
static const struct model_field needed[] = {
    {.name = "command", .type = MODEL_STRING, .required = true}, {.name = NULL}};
static const struct model open_model = {.fields = fields};
static const struct model closed_model = {.fields = needed, .closed = true};

static char text[2000];

/* What comes out: the members, or the errors, as JSON. */
static const char *check(const struct model *m, const char *body, const char *loc)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(sizeof(text) - 1);
    struct json *errors = NULL, *j = json_parse(str_of(body), &e);
    if (!j)
        T_FAIL("%s: %s", body, e.text);
    struct json *out = model_members(m, j, loc, &errors);
    if (!out == !errors)
        T_FAIL("%s: both or neither came out", body);
    json_print(&b, out ? out : errors);
    snprintf(text, sizeof(text), "%s", buf_z(&b));
    buf_release(&b);
    json_free(j);
    json_free(out);
    json_free(errors);
    return text;
}

static const char *value(const char *body) { return check(&open_model, body, "query"); }

/* The type and the message of the only error. */
static const char *wrong(const char *body)
{
    static char out[600];
    struct err e = ERR_INIT;
    struct json *list = json_parse(str_of(value(body)), &e), *one = json_first(list);
    struct str type = json_str(one, "type", "?"), msg = json_str(one, "msg", "?");
    snprintf(out, sizeof(out), "%.*s: %.*s", STR_ARG(type), STR_ARG(msg));
    if (json_count(list) != 1)
        T_FAIL("%s: %s", body, text);
    json_free(list);
    return out;
}

TEST(values_are_converted)
{
    CHECK_STR(value("{\"count\":\"2\"}"), "{\"count\":2}");
    CHECK_STR(value("{\"count\":2.0}"), "{\"count\":2}");
    CHECK_STR(value("{\"count\":true}"), "{\"count\":1}");
    CHECK_STR(value("{\"least\":\"1.5\"}"), "{\"least\":1.5}");
    CHECK_STR(value("{\"yes\":\"On\"}"), "{\"yes\":true}");
    CHECK_STR(value("{\"yes\":0}"), "{\"yes\":false}");
    CHECK_STR(value("{\"maybe\":null}"), "{\"maybe\":null}");
    CHECK_STR(value("{\"id\":\"6C1F0A3E-7D5B-4C0D-9E2F-8A7B6C5D4E3F\"}"),
              "{\"id\":\"6c1f0a3e7d5b4c0d9e2f8a7b6c5d4e3f\"}");
    CHECK_STR(value("{\"words\":[\"a\"],\"env\":{\"A\":\"b\"},\"other\":1}"),
              "{\"words\":[\"a\"],\"env\":{\"A\":\"b\"}}");
}

TEST(times_have_zones)
{
    CHECK_STR(value("{\"at\":\"1970-01-01\"}"), "{\"at\":0}");
    CHECK_STR(value("{\"at\":\"2026-05-02T09:30:01.000123Z\"}"),
              "{\"at\":1777714201000123}");
    CHECK_STR(value("{\"at\":\"2026-05-02 09:30:01.000123\"}"),
              "{\"at\":1777714201000123}");
    CHECK_STR(value("{\"at\":\"2026-05-02T11:30:01.000123+02:00\"}"),
              "{\"at\":1777714201000123}");
    CHECK_STR(value("{\"at\":\"2024-02-29T23:59\"}"), "{\"at\":1709251140000000}");
    CHECK_STR(value("{\"at\":2}"), "{\"at\":2000000}");
    CHECK_STR(wrong("{\"at\":\"soon\"}"),
              "datetime_from_date_parsing: Input should be a valid datetime or date, "
              "input is too short");
    CHECK_STR(wrong("{\"at\":\"2023-02-29T00:00\"}"),
              "datetime_parsing: Input should be a valid datetime, day value is outside "
              "expected range");
    CHECK_STR(wrong("{\"at\":\"2023-02-20T24:00\"}"),
              "datetime_parsing: Input should be a valid datetime, hour value is outside "
              "expected range of 0-23");
    CHECK_STR(wrong("{\"at\":\"2023-02-20T00:00:00Zz\"}"),
              "datetime_parsing: Input should be a valid datetime, unexpected extra "
              "characters at the end of the input");
}

TEST(errors_have_pydantics_names)
{
    CHECK_STR(wrong("{\"text\":1}"), "string_type: Input should be a valid string");
    CHECK_STR(wrong("{\"text\":null}"), "string_type: Input should be a valid string");
    CHECK_STR(wrong("{\"count\":\"x\"}"),
              "int_parsing: Input should be a valid integer, unable to parse string as "
              "an integer");
    CHECK_STR(wrong("{\"count\":2.5}"),
              "int_from_float: Input should be a valid integer, got a number with a "
              "fractional part");
    CHECK_STR(wrong("{\"count\":[]}"), "int_type: Input should be a valid integer");
    CHECK_STR(wrong("{\"count\":\"1e1\"}"),
              "int_parsing: Input should be a valid integer, unable to parse string as "
              "an integer");
    CHECK_STR(wrong("{\"count\":0}"), "greater_than: Input should be greater than 0");
    CHECK_STR(wrong("{\"count\":10}"),
              "less_than_equal: Input should be less than or equal to 9");
    CHECK_STR(wrong("{\"least\":0.5}"),
              "greater_than_equal: Input should be greater than or equal to 1");
    CHECK_STR(wrong("{\"least\":\"nan\"}"),
              "float_parsing: Input should be a valid number, unable to parse string as "
              "a number");
    CHECK_STR(wrong("{\"yes\":\"maybe\"}"),
              "bool_parsing: Input should be a valid boolean, unable to interpret input");
    CHECK_STR(wrong("{\"id\":\"6c1f\"}"),
              "uuid_parsing: Input should be a valid UUID, expected 32 hexadecimal "
              "digits with or without hyphens");
    CHECK_STR(wrong("{\"kind\":\"d\"}"),
              "literal_error: Input should be 'a', 'b' or 'c'");
    CHECK_STR(wrong("{\"order\":\"d\"}"), "enum: Input should be 'UP' or 'DOWN'");
    CHECK_STR(wrong("{\"sha\":\"d\"}"),
              "string_pattern_mismatch: String should match pattern '^x$'");
    CHECK_STR(wrong("{\"words\":\"d\"}"), "list_type: Input should be a valid list");
    CHECK_STR(wrong("{\"env\":{\"A\":1}}"),
              "string_type: Input should be a valid string");
}

TEST(an_error_says_where)
{
    CHECK_STR(value("{\"count\":0}"),
              "[{\"type\":\"greater_than\",\"loc\":[\"query\",\"count\"],\"msg\":\"Input "
              "should be greater than 0\",\"input\":0,\"ctx\":{\"gt\":0}}]");
    CHECK_STR(check(&closed_model, "{\"x\":1}", "body"),
              "[{\"type\":\"missing\",\"loc\":[\"body\",\"command\"],\"msg\":\"Field "
              "required\",\"input\":{\"x\":1}},{\"type\":\"extra_forbidden\",\"loc\":["
              "\"body\",\"x\"],\"msg\":\"Extra inputs are not permitted\",\"input\":1}]");
    CHECK_STR(check(&closed_model, "{}", "query"),
              "[{\"type\":\"missing\",\"loc\":[\"query\",\"command\"],\"msg\":\"Field "
              "required\",\"input\":null}]");
}

TEST(secrets_are_not_reported)
{
    CHECK(strstr(value("{\"api_key\":\"hunter2\"}"), "hunter2") == NULL);
    CHECK(strstr(check(&closed_model, "{\"in\":{\"Token\":\"hunter2\",\"n\":1}}", "body"),
                 "hunter2") == NULL);
    CHECK(strstr(text, "\"n\":1") != NULL);
}

TEST(errors_as_text)
{
    struct buf b = BUF_INIT(500);
    struct json *errors = NULL, *body = json_object();
    CHECK(model_members(&closed_model, body, "body", &errors) == NULL);
    model_text("Request", errors, &b);
    CHECK_STR(buf_z(&b), "1 validation error for Request\ncommand\n  Field required "
                         "[type=missing]");
    buf_release(&b);
    json_free(errors);
    json_free(body);
}

T_MAIN
