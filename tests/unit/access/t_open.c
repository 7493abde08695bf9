/* SPDX-License-Identifier: MIT */
/* access/open.def: each row is a route of a front-end, and says why it is open. */
#include "access/access.h"
#include "base/json.h"
#include "front/front.h"
#include "front/fronts.h"

#include "t.h"

static unsigned count(const char *name, const char *value)
{
    struct json *list = fronts_routes();
    unsigned n = 0;
    for (struct json *r = json_first(list); r; r = json_next(r))
        n += str_eq(json_str(r, name, ""), str_of(value));
    json_free(list);
    return n;
}

TEST(each_row_is_a_route)
{
    for (const struct open_row *o = open_rows; o->front; o++) {
        unsigned found = 0;
        for (size_t i = 0; front_list[i]; i++) {
            const struct front *f = front_list[i];
            const struct http_front *t;
            for (unsigned k = 0; f->http && (t = f->http(NULL, k)); k++) {
                for (size_t n = 0; n < t->nroutes; n++)
                    found += strcmp(f->name, o->front) == 0 &&
                             open_find(f->name, &t->routes[n]) == o;
            }
        }
        CHECK_INT(found, 1);
    }
}

TEST(each_says_why_and_what_a_stranger_changes)
{
    unsigned always = 0, first = 0;
    for (const struct open_row *o = open_rows; o->front; o++) {
        CHECK(strlen(o->because) > 5);
        always += o->when == OPEN_ALWAYS;
        first += o->when > OPEN_ALWAYS;
        /* What is open to everybody changes nothing, and reads. */
        CHECK(o->when != OPEN_ALWAYS || strcmp(o->changes, "nothing") == 0);
        CHECK(o->when != OPEN_ALWAYS || o->methods == HTTP_GET);
    }
    CHECK_INT(first, 2);
    CHECK_INT(count("open", "always"), always);
    CHECK_INT(count("open", "until keyed") + count("open", "local until keyed"), first);
}

TEST(another_method_or_front_is_not_open)
{
    struct route t = {.methods = HTTP_GET, .path = "/alive"};
    CHECK(open_find("v0", &t) != NULL);
    CHECK(open_find("events", &t) == NULL);
    t.methods = HTTP_GET | HTTP_POST;
    CHECK(open_find("v0", &t) == NULL);
}

T_MAIN
