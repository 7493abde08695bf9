/* SPDX-License-Identifier: MIT */
#include "engine/state.h"

#include "base/limits.h"
#include "base/xalloc.h"
#include "t.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    size_t room;
    struct {
        uint64_t from, to;
    } part[2]; /* a member of a member */
};

static const struct state_field kept[] = {STATE_ROW(struct thing, on),
                                          STATE_ROW(struct thing, count),
                                          STATE_ROW(struct thing, size),
                                          STATE_ROW(struct thing, at_ms),
                                          STATE_ROW(struct thing, mood),
                                          STATE_ROW_AS("n", struct thing, bytes),
                                          STATE_ROW(struct thing, id),
                                          STATE_ROW(struct thing, text),
                                          STATE_ROW(struct thing, none),
                                          STATE_ROW(struct thing, more),
                                          STATE_ROW(struct thing, room),
                                          STATE_ROW(struct thing, part[1].to),
                                          {.name = NULL}};

static struct json *parse(const char *text)
{
    struct json *j = json_parse(str_of(text), NULL);
    CHECK(j);
    return j;
}

/* What the keeper holds: one state. */
static char key[100];
static struct buf held;

void keeper_client_put(struct keeper_client *h, struct str name, struct str value)
{
    (void)h;
    snprintf(key, sizeof(key), "%.*s", STR_ARG(name));
    buf_release(&held);
    buf_init(&held, LIMIT_BLOB_MAX);
    buf_adds(&held, value);
}

/* The same text is made of a tree and without one. */
static void check_text(const struct thing *x, const char *text)
{
    struct engine en = {.keeper = NULL};
    struct json *j = state_json(kept, x);
    CHECK(state_put(&en, "front/", "a", j));
    CHECK_STR(key, "front/a");
    CHECK_STR(buf_z(&held), text);
    json_free(j);
    keeper_client_put(NULL, STR(""), STR(""));
    CHECK(state_keep(&en, "front/", "b", kept, x));
    CHECK_STR(key, "front/b");
    CHECK_STR(buf_z(&held), text);
    buf_release(&held);
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
                       "\"text\":\"\",\"more\":{\"a\":[1]},\"room\":70000,"
                       "\"part[1].to\":12}";
    struct json *j = parse(text);
    struct thing x = {0};
    state_read(kept, &x, j);
    CHECK(x.on && x.count == -7 && x.size == 4000000000u && x.at_ms == -3);
    CHECK(x.mood == ANGRY && x.bytes == 9007199254740991u);
    CHECK_STR(x.id, "abc");
    CHECK_STR(x.text, "");
    CHECK(!x.none && x.room == 70000 && x.part[1].to == 12);
    CHECK(!json_has(j, "more")); /* it is the thing's now */
    json_free(j);
    check_text(&x, text);
    release(&x);
}

TEST(what_a_state_lacks_stays)
{
    struct thing x = {.on = true, .count = 5, .id = "xyz", .text = xstrdup("old")};
    struct json *j = parse(
        "{\"count\":\"five\",\"on\":1,\"id\":7,\"text\":null,\"new\":1}");
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

TEST(texts_are_quoted)
{
    struct thing x = {.id = "\"\n\x7f", .text = xstrdup("\\ \xc3\xa4")};
    check_text(&x, "{\"on\":false,\"count\":0,\"size\":0,\"at_ms\":0,\"mood\":0,\"n\":0,"
                   "\"id\":\"\\\"\\n\x7f\",\"text\":\"\\\\ \xc3\xa4\",\"room\":0,"
                   "\"part[1].to\":0}");
    release(&x);
}

TEST(what_is_not_text_is_repaired)
{
    struct engine en = {.keeper = NULL};
    struct thing x = {.text = xstrdup("a\xff")};
    state_keep(&en, "front/", "a", kept, &x);
    struct json *j = parse(buf_z(&held)), *tree = state_json(kept, &x);
    CHECK_STR(json_str(j, "text", "").p, "a\xef\xbf\xbd");
    CHECK_STR(json_str(tree, "text", "").p, "a\xef\xbf\xbd");
    json_free(j);
    json_free(tree);
    buf_release(&held);
    release(&x);
}

TEST(what_is_too_long_is_not_stored)
{
    struct engine en = {.keeper = NULL};
    struct thing x = {.text = xcalloc(1, LIMIT_BLOB_MAX)};
    keeper_client_put(NULL, STR("front/a"), STR("before"));
    memset(x.text, 'x', LIMIT_BLOB_MAX - 1);
    CHECK(!state_keep(&en, "front/", "a", kept, &x));
    CHECK_STR(buf_z(&held), "before");
    buf_release(&held);
    release(&x);
}

/* ---- all states of a prefix ---- */

static char seen[200];

static void see_text(void *arg, struct str id, struct str state)
{
    size_t n = strlen(arg);
    snprintf((char *)arg + n, sizeof(seen) - n, "%.*s=%.*s;", STR_ARG(id),
             STR_ARG(state));
}

static void see_json(void *arg, struct str id, struct json *j)
{
    see_text(arg, id, json_str(j, "v", ""));
}

static void put_state(struct engine *en, const char *name, const char *value)
{
    struct buf *b = xnew(struct buf);
    buf_init(b, 100);
    buf_addz(b, value);
    map_put(&en->states, str_of(name), b);
}

TEST(states_are_found_by_their_prefix)
{
    struct engine en = {.keeper = NULL};
    struct str name;
    void *value;
    map_init(&en.states);
    put_state(&en, "a/one", "{\"v\":\"1\"}");
    put_state(&en, "a/text", "no object"); /* it is logged */
    put_state(&en, "a/one/two", "12");
    put_state(&en, "b/a/one", "3");
    state_each(&en, "a/", see_json, seen);
    CHECK_STR(seen, "one=1;");
    seen[0] = 0;
    state_each_text(&en, "a/one/", see_text, seen);
    state_each_text(&en, "b/", see_text, seen);
    state_each_text(&en, "c/", see_text, seen);
    CHECK_STR(seen, "two=12;a/one=3;");
    for (void *it = NULL; (it = map_next(&en.states, it, &name, &value));) {
        buf_release(value);
        free(value);
    }
    map_release(&en.states);
}

TEST(a_state_is_dropped)
{
    struct engine en = {.keeper = NULL};
    state_put_text(&en, "a/", "one", STR("text"));
    CHECK_STR(key, "a/one");
    CHECK_STR(buf_z(&held), "text");
    state_drop(&en, "a/", "one");
    CHECK_STR(key, "a/one");
    CHECK_INT(held.n, 0);
    buf_release(&held);
}

T_MAIN
