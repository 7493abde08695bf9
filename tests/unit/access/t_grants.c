/* SPDX-License-Identifier: MIT */
/* Grants: where one counts and how long, what makes room, and what ends with a key. */
#include "access/grants.h"
#include "base/clock.h"

#include "t.h"

#include <stdio.h>

static struct grants grants;
static char token[LOGIN_TOKEN_HEX + 1];

static void begin(void) { grants = (struct grants){.n = 0}; }

static struct grant login(const char *key, const char *at)
{
    struct grant one = {
        .kind = GRANT_LOGIN, .right = RIGHT_USE, .until_ms = clock_wall_ms() + 60000};
    snprintf(one.key, sizeof(one.key), "%s", key);
    snprintf(one.at, sizeof(one.at), "%s", at);
    return one;
}

static bool counts(enum grant_kind kind, const char *given, const char *at)
{
    return grants_find(&grants, kind, str_of(given), at) != NULL;
}

TEST(one_counts_at_its_listener_by_its_token_and_kind)
{
    struct grant one = login("a", "1:2");
    begin();
    grants_add(&grants, &one, token);
    CHECK_INT(strlen(token), LOGIN_TOKEN_HEX);
    CHECK(counts(GRANT_LOGIN, token, "1:2"));
    CHECK(!counts(GRANT_LOGIN, token, "1:22") && !counts(GRANT_ONCE, token, "1:2"));
    token[0] ^= 1;
    CHECK(!counts(GRANT_LOGIN, token, "1:2") && !counts(GRANT_LOGIN, "", "1:2"));
}

TEST(it_ends_with_its_time)
{
    struct grant one = login("a", "1:2");
    begin();
    one.until_ms = clock_wall_ms() - 1;
    grants_add(&grants, &one, token);
    CHECK(!counts(GRANT_LOGIN, token, "1:2"));
    CHECK_INT(grants_count(&grants, GRANT_LOGIN), 0);
}

TEST(a_secret_counts_at_all_listeners_of_a_front_end)
{
    struct grant one = {.kind = GRANT_SECRET, .right = RIGHT_SETUP, .at = "v1@"};
    begin();
    grants_add(&grants, &one, token);
    CHECK(counts(GRANT_SECRET, token, "v1@1:2") && counts(GRANT_SECRET, token, "v1@x"));
    CHECK(!counts(GRANT_SECRET, token, "v11@1:2") && !counts(GRANT_SECRET, token, "1:2"));
}

TEST(it_ends_with_its_key)
{
    struct grant one = login("a", "1"), other = login("b", "1"), old = login("?", "1");
    char second[LOGIN_TOKEN_HEX + 1], third[LOGIN_TOKEN_HEX + 1];
    begin();
    grants_add(&grants, &one, token);
    grants_add(&grants, &other, second);
    grants_add(&grants, &old, third);
    grants_end_of(&grants, "a");
    CHECK(!counts(GRANT_LOGIN, token, "1") && counts(GRANT_LOGIN, second, "1"));
    CHECK(!counts(GRANT_LOGIN, third, "1")); /* it may have come from this key */
}

TEST(who_has_most_makes_room)
{
    struct grant one = login("view", "1"), other = login("use", "1");
    char mine[LOGIN_TOKEN_HEX + 1], first[LOGIN_TOKEN_HEX + 1];
    begin();
    grants_add(&grants, &other, mine);
    grants_add(&grants, &one, first);
    for (int i = 0; i < 3 * LOGINS_MAX; i++)
        grants_add(&grants, &one, token);
    CHECK_INT(grants_count(&grants, GRANT_LOGIN), LOGINS_MAX);
    CHECK(counts(GRANT_LOGIN, mine, "1") && counts(GRANT_LOGIN, token, "1"));
    CHECK(!counts(GRANT_LOGIN, first, "1"));
    grants_add(&grants, &other, token); /* the other one's oldest goes */
    CHECK(counts(GRANT_LOGIN, mine, "1") && counts(GRANT_LOGIN, token, "1"));
}

TEST(where_each_key_has_one_the_oldest_goes)
{
    char first[LOGIN_TOKEN_HEX + 1] = "", name[16];
    begin();
    for (int i = 0; i <= LOGINS_MAX; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        struct grant one = login(name, "1");
        grants_add(&grants, &one, i == 0 ? first : token);
    }
    CHECK_INT(grants_count(&grants, GRANT_LOGIN), LOGINS_MAX);
    CHECK(!counts(GRANT_LOGIN, first, "1") && counts(GRANT_LOGIN, token, "1"));
}

TEST(links_and_logins_have_places_of_their_own)
{
    char link[LOGIN_TOKEN_HEX + 1];
    struct grant one = login("a", "1");
    begin();
    grants_once(&grants, link);
    for (int i = 0; i < 2 * LOGINS_MAX; i++)
        grants_add(&grants, &one, token);
    CHECK(counts(GRANT_ONCE, link, "any"));
    for (int i = 0; i < LOGIN_ONCE_MAX; i++)
        grants_once(&grants, token);
    CHECK(!counts(GRANT_ONCE, link, "any") && counts(GRANT_ONCE, token, "any"));
    CHECK_INT(grants_count(&grants, GRANT_LOGIN), LOGINS_MAX);
}

T_MAIN
