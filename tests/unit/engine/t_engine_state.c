/* SPDX-License-Identifier: MIT */
#include "engine/state.h"

#include "base/xalloc.h"
#include "t.h"

#include <stdlib.h>

enum mood { CALM, ANGRY };

struct thing {
    bool on;
    int count;
    unsigned size;
    int64_t at_ms;
    uint64_t bytes;
    enum mood mood;
    char id[4];
    char *text, *none;
    struct json *more;
};

static const struct state_field kept[] = {
    STATE_ROW(struct thing, on),   STATE_ROW(struct thing, count),
    STATE_ROW(struct thing, size), STATE_ROW(struct thing, at_ms),
    STATE_ROW(struct thing, mood), STATE_ROW_AS("n", struct thing, bytes),
    STATE_ROW(struct thing, id),   STATE_ROW(struct thing, text),
    STATE_ROW(struct thing, none), STATE_ROW(struct thing, more),
    {.name = NULL}};

static struct json *parse(const char *text)
{
    struct json *j = json_parse(str_of(text), NULL);
    CHECK(j);
    return j;
}

static void check_text(const struct thing *x, const char *text)
{
    struct buf b = BUF_INIT(1000);
    struct json *j = state_json(kept, x);
    CHECK_INT(json_print(&b, j), 0);
    CHECK_STR(buf_z(&b), text);
    json_free(j);
    buf_release(&b);
}

static void release(struct thing *x)
{
    free(x->text);
    free(x->none);
    json_free(x->more);
}

TEST(a_thing_is_read_as_it_was_stored)
{
    const char *text = "{\"on\":true,\"count\":-7,\"size\":4000000000,\"at_ms\":-3,"
                       "\"mood\":1,\"n\":9007199254740991,\"id\":\"abc\","
                       "\"text\":\"\",\"more\":{\"a\":[1]}}";
    struct json *j = parse(text);
    struct thing x = {0};
    state_read(kept, &x, j);
    CHECK(x.on && x.count == -7 && x.size == 4000000000u && x.at_ms == -3);
    CHECK(x.mood == ANGRY && x.bytes == 9007199254740991u);
    CHECK_STR(x.id, "abc");
    CHECK_STR(x.text, "");
    CHECK(!x.none);
    CHECK(!json_has(j, "more")); /* it is the thing's now */
    json_free(j);
    check_text(&x, text);
    release(&x);
}

TEST(what_a_state_lacks_stays)
{
    struct thing x = {.on = true, .count = 5, .id = "xyz", .text = xstrdup("old")};
    struct json *j = parse("{\"count\":\"five\",\"on\":1,\"id\":7,\"text\":null,\"new\":1}");
    state_read(kept, &x, j);
    CHECK(x.on && x.count == 5);
    CHECK_STR(x.id, "xyz");
    CHECK_STR(x.text, "old");
    json_free(j);
    state_read(kept, &x, NULL);
    CHECK_STR(x.text, "old");
    release(&x);
}

TEST(what_was_there_is_replaced)
{
    struct thing x = {.text = xstrdup("old"), .more = json_array()};
    struct json *j = parse("{\"text\":\"new\",\"more\":{},\"id\":\"abcdef\"}");
    state_read(kept, &x, j);
    CHECK_STR(x.text, "new");
    CHECK(json_is_object(x.more));
    CHECK_STR(x.id, "abc"); /* as much as fits */
    json_free(j);
    release(&x);
}

T_MAIN
