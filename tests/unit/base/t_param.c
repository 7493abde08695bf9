/* SPDX-License-Identifier: MIT */
/* Lists of parameters: the check and its sentences, the schema, the manual. */
#include "base/buf.h"
#include "base/param.h"

#include "t.h"

static const struct param params[] = {
    {.name = "name",
     .type = PARAM_STRING,
     .required = true,
     .ranged = true,
     .min = 1,
     .about = "A name"},
    {.name = "path", .type = PARAM_PATH, .required = true, .about = "A file"},
    {.name = "bytes", .type = PARAM_BASE64, .about = "Bytes"},
    {.name = "rows", .type = PARAM_INT, .ranged = true, .min = 1, .max = 9, .about = "R"},
    {.name = "at", .type = PARAM_INT, .about = "Any whole number"},
    {.name = "seconds", .type = PARAM_NUMBER, .ranged = true, .about = "A time"},
    {.name = "deep", .type = PARAM_BOOL, .dflt = "false", .about = "Below, too"},
    {.name = "more", .type = PARAM_OBJECT, .about = "More"},
    {.name = "words", .type = PARAM_STRINGS, .about = "Words"},
    {.name = "range", .type = PARAM_INTS, .about = "Two numbers"},
    {.name = "text", .type = PARAM_TEXT, .about = "Lines"},
    {.name = "kind", .type = PARAM_STRING, .choices = "a b c", .about = "One of three"},
    {.name = "signal",
     .type = PARAM_NAME_OR_INT,
     .ranged = true,
     .min = 1,
     .max = 64,
     .about = "A signal"},
    {.name = "any", .type = PARAM_ANY, .about = "Anything"},
    {0}};
static const struct param_list wide = {
    .about = "Tests", .params = params, .ignored = "old|older"};
static const struct param_list none = {.about = "Takes nothing"};

static struct err e;

static int check_of(const struct param_list *l, const char *text, const char *except)
{
    struct err bad = ERR_INIT;
    struct json *j = json_parse(str_of(text), &bad);
    e = (struct err)ERR_INIT;
    if (!j)
        T_FAIL("%s: %s", text, bad.text);
    int rc = params_check("do", l, j, except, &e);
    json_free(j);
    return rc;
}

/* With what is required. */
static int check(const char *members)
{
    static char text[1000];
    snprintf(text, sizeof(text), "{\"name\":\"n\",\"path\":\"p\"%s%s}",
             *members ? "," : "", members);
    return check_of(&wide, text, NULL);
}

#define REFUSED(members, sentence) \
    do { \
        CHECK_INT(check(members), -1); \
        CHECK_INT(e.code, ERR_INVALID); \
        CHECK_STR(e.text, sentence); \
    } while (0)

TEST(values_that_fit)
{
    static const char *const good[] = {
        "",
        "\"bytes\":\"\"",
        "\"bytes\":\"YQ==\"",
        "\"rows\":1",
        "\"rows\":9.0",
        "\"at\":-9007199254740991",
        "\"seconds\":0.5",
        "\"deep\":true,\"more\":{},\"words\":[]",
        "\"range\":[1,-1],\"text\":\"a\\nb\"",
        "\"words\":[\"a\",\"b\"],\"kind\":\"b\"",
        "\"signal\":\"TERM\"",
        "\"signal\":64,\"any\":[1]",
        "\"bytes\":null,\"rows\":null,\"deep\":null,\"kind\":null,\"words\":null",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (check(good[i]) < 0)
            T_FAIL("%s: %s", good[i], e.text);
    }
}

TEST(a_sentence_names_the_parameter_what_was_given_and_what_is_allowed)
{
    REFUSED("\"rows\":0", "rows must be a whole number from 1 to 9, not 0");
    REFUSED("\"rows\":1.5", "rows must be a whole number from 1 to 9, not 1.5");
    REFUSED("\"at\":9007199254740992",
            "at must be a whole number below 2^53, not 9007199254740992");
    REFUSED("\"seconds\":-1", "seconds must be a number of at least 0, not -1");
    REFUSED("\"deep\":\"yes\"", "deep must be true or false, not \"yes\"");
    REFUSED("\"more\":[1]", "more must be an object, not an array");
    REFUSED("\"words\":[1]", "words must be an array of strings, not an array");
    REFUSED("\"range\":[1.5]", "range must be an array of whole numbers, not an array");
    REFUSED("\"range\":1", "range must be an array of whole numbers, not 1");
    REFUSED("\"text\":1", "text must be a string, not 1");
    REFUSED("\"words\":\"a\"", "words must be an array of strings, not \"a\"");
    REFUSED("\"kind\":\"d\"", "kind must be a, b or c, not \"d\"");
    REFUSED("\"bytes\":\"Y\"", "bytes must be a string of base64, not \"Y\"");
    REFUSED("\"bytes\":\"YR==\"", "bytes must be a string of base64, not \"YR==\"");
    REFUSED("\"signal\":65",
            "signal must be a name or a whole number from 1 to 64, not 65");
    REFUSED("\"path_base64\":{}", "path_base64 must be a string, not an object");
    REFUSED("\"kind\":\"0123456789012345678901234567890123456789012345678901234567890\"",
            "kind must be a, b or c, not "
            "\"01234567890123456789012345678901234567890123456789012345678...");
}

TEST(what_is_required)
{
    CHECK_INT(check_of(&wide, "{\"path\":\"p\"}", NULL), -1);
    CHECK_STR(e.text, "do takes a \"name\", a string that is not empty: A name");
    CHECK_INT(check_of(&wide, "{\"path\":\"p\",\"name\":null}", NULL), -1);
    CHECK_INT(check_of(&wide, "{\"path\":\"p\",\"name\":\"\"}", NULL), -1);
    CHECK_STR(e.text, "name must be a string that is not empty, not \"\"");
    CHECK_INT(check_of(&wide, "{\"name\":\"n\"}", NULL), -1);
    CHECK_STR(e.text, "do takes a \"path\", a string: A file");
    CHECK_INT(check_of(&wide, "{\"name\":\"n\"}", "path"), 0);
    CHECK_INT(check_of(&wide, "{\"name\":\"n\",\"path_base64\":\"YQ==\"}", NULL), 0);
    CHECK_INT(params_check("do", &wide, NULL, NULL, &e), -1);
    CHECK_INT(params_check("do", &none, NULL, NULL, &e), 0);
    CHECK(params_required(&wide) && !params_required(&none));
}

TEST(what_a_list_does_not_have_is_refused_by_name)
{
    CHECK_INT(check_of(&wide, "{\"name\":\"n\",\"path\":\"p\",\"x\":1}", NULL), -1);
    CHECK_STR(e.text, "do has no argument x; it takes name, path, bytes, rows, at, "
                      "seconds, deep, more, words, range, text, kind, signal, any");
    CHECK_INT(check_of(&wide, "{\"name_base64\":\"YQ==\"}", NULL), -1);
    CHECK_INT(check("\"old\":1,\"older\":{}"), 0);
    CHECK_INT(check("\"older|old\":1"), -1);
    CHECK_INT(check_of(&none, "{\"x\":1}", NULL), -1);
    CHECK_STR(e.text, "do has no argument x; it takes none");
}

TEST(the_schema_and_the_manual_have_every_parameter)
{
    struct json *j = params_schema(&wide), *props = json_get(j, "properties");
    struct buf help = BUF_INIT(8 << 10);
    params_help(&wide, &help);
    for (const struct param *p = params; p->name; p++) {
        CHECK(json_is_object(json_get(props, p->name)));
        /* Generated clients would require an argument that has a default. */
        CHECK(!json_has(json_get(props, p->name), "default"));
        CHECK(str_find(buf_str(&help), str_of(p->name)) >= 0);
        CHECK(str_find(buf_str(&help), str_of(p->about)) >= 0);
    }
    CHECK(json_is_object(json_get(props, "path_base64")));
    CHECK(!json_bool(j, "additionalProperties", true));
    CHECK_INT(json_count(json_get(j, "required")), 1);
    CHECK_INT(json_count(json_get(j, "allOf")), 1);
    json_free(j);
    buf_release(&help);
}

/* A line that is just as long as it may be: once the next one came without a newline. */
TEST(lines_of_the_manual_have_at_most_79_columns)
{
    static const struct param full[] = {
        {.name = "x",
         .type = PARAM_BOOL,
         .about = "With until quiet: for how many seconds it has written nothing, 2 by "
                  "default"},
        {0}};
    const struct param_list list = {.about = "Does", .params = full};
    struct buf help = BUF_INIT(8 << 10);
    params_help(&list, &help);
    CHECK(str_ends(buf_str(&help), STR("nothing, 2\n               by default\n")));
    for (struct str rest = buf_str(&help); rest.n > 0;)
        CHECK(str_cut(&rest, '\n').n <= 79);
    buf_release(&help);
}

T_MAIN
