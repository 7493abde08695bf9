/* SPDX-License-Identifier: MIT */
/* Lists of members: the schema that is made from them. */
#include "base/buf.h"
#include "base/member.h"

#include "t.h"

static const struct member inner[] = {
    {.name = "path", .type = MEMBER_PATH, .about = "A file"}, {0}};
static const struct member members[] = {
    {.name = "size", .type = MEMBER_INT, .about = "Bytes"},
    {.name = "kind", .type = MEMBER_STRING, .optional = true, .choices = "a b"},
    {.name = "code", .type = MEMBER_INT, .nullable = true, .about = "Or null"},
    {.name = "list", .type = MEMBER_OBJECTS, .optional = true, .members = inner},
    {.name = "gone", .type = MEMBER_PAIRS, .optional = true},
    {.name = "more", .type = MEMBER_OBJECT, .optional = true},
    {.name = "words", .type = MEMBER_STRINGS, .optional = true},
    {.name = "part", .type = MEMBER_NUMBER, .optional = true},
    {.name = "any", .type = MEMBER_ANY, .optional = true},
    {.name = "ok", .type = MEMBER_BOOL},
    {0}};

static void is(struct json *take, const char *wanted)
{
    struct buf b = BUF_INIT(4096);
    json_print(&b, take);
    CHECK_STR(buf_z(&b), wanted);
    buf_release(&b);
    json_free(take);
}

TEST(the_schema_has_every_type)
{
    is(members_schema(members),
       "{\"type\":\"object\",\"properties\":{"
       "\"size\":{\"type\":\"integer\",\"description\":\"Bytes\"},"
       "\"kind\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]},"
       "\"code\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}],"
       "\"description\":\"Or null\"},"
       "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
       "\"path\":{\"type\":\"string\",\"description\":\"A file\"},"
       "\"path_base64\":{\"type\":\"string\",\"contentEncoding\":\"base64\","
       "\"description\":\"The exact bytes, if they are not UTF-8\"}},"
       "\"required\":[\"path\"]}},"
       "\"gone\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":"
       "{\"type\":\"integer\"},\"minItems\":2,\"maxItems\":2}},"
       "\"more\":{\"type\":\"object\"},"
       "\"words\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
       "\"part\":{\"type\":\"number\"},\"any\":{},\"ok\":{\"type\":\"boolean\"}},"
       "\"required\":[\"size\",\"code\",\"ok\"]}");
    is(members_schema(NULL), "{\"type\":\"object\"}");
    is(member_schema(&(const struct member){.type = MEMBER_STRINGS, .nullable = true}),
       "{\"anyOf\":[{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
       "{\"type\":\"null\"}]}");
}

TEST(members_are_added_to_a_schema)
{
    struct json *j = members_schema(inner);
    members_add(j, (const struct member[]){{.name = "b", .type = MEMBER_BOOL}, {0}});
    members_add(j, NULL);
    CHECK_INT(json_count(json_get(j, "properties")), 3);
    CHECK_INT(json_count(json_get(j, "required")), 2);
    json_free(j);
}

T_MAIN
