/* SPDX-License-Identifier: MIT */
/* Options as rows: words, environment, checks and their sentences, what is stored, help.
 */
#include "base/json.h"
#include "base/option.h"

#include "t.h"

static int check_even(struct str value, struct err *e)
{
    uint64_t n;
    if (str_to_u64(value, &n) < 0)
        return -1;
    return n % 2 == 0 ? 0 : err_set(e, ERR_DENIED, "%d is odd", (int)n);
}

static const struct option_row server_rows[] = {
    {.name = "PORT", .type = OPTION_TEXT, .word = true},
    {.name = "name",
     .type = OPTION_TEXT,
     .value = "NAME",
     .env = "T_NAME",
     .about = "its"},
    {.name = "kind",
     .type = OPTION_TEXT,
     .value = "KIND",
     .choices = "a b c",
     .dflt = "b",
     .about = "a, b or c"},
    {.name = "idle-exit",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "T_IDLE",
     .member = "idle_ms",
     .max = 5000,
     .about = "how long"},
    {.name = "size",
     .type = OPTION_INT,
     .value = "MIB",
     .min = 1,
     .max = 9,
     .unit = 1024,
     .about = "how much"},
    {.name = "even",
     .type = OPTION_INT,
     .value = "N",
     .env = "T_EVEN",
     .check = check_even,
     .takes = "an even number",
     .about = "not odd"},
    {.name = "bare", .type = OPTION_SWITCH, .env = "T_BARE", .about = "on or off"},
    {.name = "full",
     .type = OPTION_TOGGLE,
     .env = "T_FULL",
     .dflt = "yes",
     .about = "on"},
    {.name = "maybe", .type = OPTION_MAYBE, .value = "[FILE]", .about = "perhaps a file"},
    {.name = "listen",
     .type = OPTION_LIST,
     .value = "ADDRESS",
     .env = "T_LISTEN",
     .max = 3,
     .about = "where"},
    {.name = "words",
     .type = OPTION_WORDS,
     .value = "WORD…",
     .env = "T_WORDS",
     .max = 2,
     .about = "some"},
    {.name = NULL},
};
static const struct option_row peer_rows[] = {
    {.name = "peer",
     .type = OPTION_TEXT,
     .value = "URL",
     .env = "T_PEER",
     .about = "whom"},
    {.name = "peer-header",
     .type = OPTION_LINES,
     .value = "LINE",
     .env = "T_LINES",
     .max = 2,
     .secret = true,
     .about = "says"},
    {.name = "peer-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "T_TOKEN",
     .secret = true,
     .choices = "abc def",
     .about = "shows"},
    {.name = NULL},
};

static int prepare_peer(const struct options *given, struct json **own, struct err *e)
{
    const char *peer = option_text(given, "peer");
    if (peer && strcmp(peer, "bad") == 0)
        return err_set(e, ERR_IO, "the peer is bad");
    if (peer) {
        json_put_int(*own, "made", 1);
        return 0;
    }
    json_free(*own);
    *own = NULL;
    return 0;
}

static const struct option_table server = {
    .heading = "Server", .section = "", .rows = server_rows};
static const struct option_table peer = {.heading = "Peer",
                                         .section = "peer",
                                         .needs = "peer",
                                         .what = "a peer",
                                         .rows = peer_rows,
                                         .prepare = prepare_peer};
static const struct option_table *const tables[] = {&server, &peer};

static struct err e;
static struct options *o;
static char space[16][64], *given[17];

/* Takes words, which are separated by blanks, from copies that may be written to. */
static int take(const char *text)
{
    struct str rest = str_of(text);
    int n = 0;
    for (; rest.n > 0; n++) {
        struct str word = str_cut(&rest, ' ');
        snprintf(space[n], sizeof(space[n]), "%.*s", STR_ARG(word));
        given[n] = space[n];
    }
    given[n] = NULL;
    e = (struct err)ERR_INIT;
    options_free(o);
    o = options_new("serve", tables, 2);
    for (int i = 0; i < n;) {
        int used = options_take(o, given + i, &e);
        if (used < 0)
            return -1;
        i += used;
    }
    return options_environment(o, &e) < 0 || options_check(o, &e) < 0 ? -1 : 0;
}

/* What is stored, as text. */
static const char *stored(const char *text)
{
    static char out[2000];
    struct json *j = json_object();
    struct buf b = BUF_INIT(sizeof(out) - 1);
    if (take(text) < 0 || options_store(o, j, &e) < 0)
        T_FAIL("%s: %s", text, e.text);
    CHECK_INT(json_print(&b, j), 0);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    json_free(j);
    buf_release(&b);
    options_free(o);
    o = NULL;
    return out;
}

#define REFUSED(words, why, sentence) \
    do { \
        CHECK_INT(take(words), -1); \
        CHECK_INT(e.code, why); \
        CHECK_STR(e.text, sentence); \
        options_free(o); \
        o = NULL; \
    } while (0)

#define REST ",\"listen\":[],\"words\":[]}"

TEST(values_are_stored_by_their_type)
{
    CHECK_STR(stored(""), "{\"kind\":\"b\",\"full\":true" REST);
    CHECK_STR(stored("--name x --kind=c --idle-exit 0.5 --size 2 --even 4"),
              "{\"name\":\"x\",\"kind\":\"c\",\"idle_ms\":500,\"size\":2048,\"even\":4,"
              "\"full\":true" REST);
    CHECK_STR(stored("--bare --no-full --maybe --name y"),
              "{\"name\":\"y\",\"kind\":\"b\",\"bare\":true,\"full\":false" REST);
    CHECK_STR(stored("--maybe f 80"),
              "{\"PORT\":\"80\",\"kind\":\"b\",\"full\":true,\"maybe\":\"f\"" REST);
    CHECK_STR(stored("--listen a --words x y x --listen=b"),
              "{\"kind\":\"b\",\"full\":true,\"listen\":[\"a\",\"b\"],"
              "\"words\":[\"x\",\"y\"]}");
    CHECK_STR(stored("--name 1 --name 2 -"),
              "{\"PORT\":\"-\",\"name\":\"2\",\"kind\":\"b\",\"full\":true" REST);
}

TEST(the_environment_fills_what_is_left_open)
{
    char listen[] = "T_LISTEN= a ,,b\n", lines[] = "T_LINES=X: a, b\nY: c";
    setenv("T_NAME", "by-env", 1);
    setenv("T_IDLE", "2", 1);
    setenv("T_BARE", "Yes", 1);
    setenv("T_FULL", "off", 1);
    putenv(listen);
    CHECK_STR(stored("--idle-exit 1"),
              "{\"name\":\"by-env\",\"kind\":\"b\",\"idle_ms\":1000,\"bare\":true,"
              "\"full\":false,\"listen\":[\"a\",\"b\"],\"words\":[]}");
    setenv("T_LISTEN", "a,b", 1);
    CHECK_STR(stored("--listen c --full"),
              "{\"name\":\"by-env\",\"kind\":\"b\",\"idle_ms\":2000,\"bare\":true,"
              "\"full\":true,\"listen\":[\"c\"],\"words\":[]}");
    setenv("T_NAME", "", 1);
    unsetenv("T_IDLE");
    unsetenv("T_BARE");
    unsetenv("T_FULL");
    unsetenv("T_LISTEN");
    putenv(lines);
    CHECK_STR(stored("--peer p"),
              "{\"kind\":\"b\",\"full\":true,\"listen\":[],\"words\":[],"
              "\"peer\":{\"peer\":\"p\",\"peer_header\":[\"X: a, b\","
              "\"Y: c\"],\"made\":1}}");
    CHECK_STR(strchr(lines, '=') + 1, "xxxxxxx");
}

TEST(refusals_name_where_the_value_came_from)
{
    REFUSED("--kind d", ERR_INVALID, "--kind takes a, b or c, not \"d\"");
    REFUSED("--kind", ERR_INVALID, "--kind needs a value: KIND");
    REFUSED("--kind --bare", ERR_INVALID, "--kind needs a value: KIND");
    REFUSED("--idle-exit x", ERR_INVALID,
            "--idle-exit takes seconds, as in 30, 0.5 or 8h, not \"x\"");
    REFUSED("--idle-exit 6", ERR_INVALID,
            "--idle-exit takes seconds, as in 30, 0.5 or 8h, not \"6\"");
    REFUSED("--size 0", ERR_INVALID, "--size takes a number from 1 to 9, not \"0\"");
    REFUSED("--size 10", ERR_INVALID, "--size takes a number from 1 to 9, not \"10\"");
    REFUSED("--even x", ERR_INVALID, "--even takes an even number, not \"x\"");
    REFUSED("--even 3", ERR_DENIED, "--even: 3 is odd");
    REFUSED("--bare=1", ERR_INVALID, "--bare takes no value");
    REFUSED("--no-full=1", ERR_INVALID, "--no-full takes no value");
    REFUSED("--no-bare", ERR_INVALID, "there is no option --no-bare; see od help serve");
    REFUSED("--PORT 1", ERR_INVALID, "there is no option --PORT; see od help serve");
    REFUSED("-x", ERR_INVALID, "there is no option -x; see od help serve");
    REFUSED("1 2", ERR_INVALID,
            "there can be one PORT, and these are two: 1 and 2; a command follows --");
    REFUSED("--listen 1 --listen 2 --listen 3 --listen 4", ERR_LIMIT,
            "--listen 4 is one too many: there can be 3");
    REFUSED("--words a b a c", ERR_LIMIT, "--words c is one too many: there can be 2");
    setenv("T_EVEN", "5", 1);
    REFUSED("", ERR_DENIED, "T_EVEN: 5 is odd");
    setenv("T_BARE", "maybe", 1);
    REFUSED("--even 2", ERR_INVALID, "T_BARE takes yes or no, not \"maybe\"");
}

TEST(secrets_are_overwritten_and_in_no_refusal)
{
    REFUSED("--peer p --peer-token secret", ERR_INVALID, "--peer-token takes abc or def");
    REFUSED("--peer p --peer-header a --peer-header b --peer-header c", ERR_LIMIT,
            "--peer-header is given too often: there can be 2");
    setenv("T_TOKEN", "def", 1);
    CHECK_STR(
        stored("--peer p --peer-token abc --peer-header h"),
        "{\"kind\":\"b\",\"full\":true,\"listen\":[],\"words\":[],\"peer\":{\"peer\":"
        "\"p\",\"peer_header\":[\"h\"],\"peer_token\":\"abc\",\"made\":1}}");
    CHECK_STR(given[3], "xxx");
    CHECK_STR(given[5], "x");
    CHECK_STR(given[1], "p");
    CHECK_STR(getenv("T_TOKEN"), "xxx");
}

TEST(a_table_may_need_its_first_option)
{
    REFUSED("--peer-token abc", ERR_INVALID,
            "--peer-token is for a peer: give --peer URL too");
    setenv("T_TOKEN", "abc", 1); /* of the environment it is no matter */
    CHECK_STR(stored(""), "{\"kind\":\"b\",\"full\":true" REST);
    struct json *j = json_object();
    unsetenv("T_TOKEN");
    CHECK_INT(take("--peer bad"), 0);
    CHECK_INT(options_store(o, j, &e), -1);
    CHECK_STR(e.text, "the peer is bad");
    json_free(j);
    options_free(o);
    o = NULL;
}

TEST(what_was_given_can_be_looked_up)
{
    static const char *const all[] = {"name", "maybe", "PORT", NULL};
    static const char *const some[] = {"name", NULL};
    char text[64];
    setenv("T_IDLE", "3", 1);
    CHECK_INT(take("--name n --maybe 80"), 0);
    CHECK_STR(option_text(o, "name"), "n");
    CHECK_STR(option_text(o, "maybe"), "80");
    CHECK(option_text(o, "PORT") == NULL);
    CHECK(option_given(o, "name") && !option_given(o, "idle-exit"));
    CHECK_STR(option_source(o, "name", text), "--name");
    CHECK_STR(option_source(o, "idle-exit", text), "T_IDLE");
    CHECK_INT(json_int_value(option_json(o, "idle-exit"), 0), 3000);
    CHECK(option_is_on(o, "full") && !option_is_on(o, "bare"));
    CHECK(option_other(o, all) == NULL);
    CHECK_STR(option_other(o, some), "maybe");
    options_free(o);
    o = NULL;
}

TEST(paths_become_absolute_and_stay_unresolved)
{
    struct buf b = BUF_INIT(4096);
    char here[2048], want[4096];
    CHECK(chdir(t_dir()) == 0 && getcwd(here, sizeof(here)));
    CHECK_INT(option_absolute("a/../b", &b, &e), 0);
    snprintf(want, sizeof(want), "%s/a/../b", here);
    CHECK_STR(buf_z(&b), want);
    buf_reset(&b);
    CHECK_INT(option_absolute("/x", &b, &e), 0);
    CHECK_STR(buf_z(&b), "/x");
    buf_release(&b);
}

TEST(the_manual_has_every_row_once)
{
    struct buf b = BUF_INIT(1 << 16);
    options_help(&server, NULL, &b);
    CHECK(str_starts(buf_str(&b), STR("\nServer:\n  --name NAME\n      its\n"
                                      "      (T_NAME; none)\n  --kind KIND\n")));
    CHECK(str_find(buf_str(&b),
                   STR("  --full, --no-full\n      on\n      (T_FULL; yes)\n")) > 0);
    CHECK(str_find(buf_str(&b), STR("--bare\n      on or off\n      (T_BARE; no)\n")) >
          0);
    CHECK(str_find(buf_str(&b), STR("PORT")) < 0);
    buf_release(&b);
}

/* A command of the manual is to be pasted, so it is not cut by the end of a line. */
TEST(lines_of_the_manual_are_short_and_keep_commands_whole)
{
    char about[400] = "";
    for (int n = 0; n < 90; n++) {
        about[n] = 'x';
        memcpy(about + n + 1, " see (od help browse) or od exec x", 35);
        struct option_row rows[] = {{.name = "o", .type = OPTION_SWITCH, .about = about},
                                    {.name = NULL}};
        struct option_table t = {.heading = "H", .section = "", .rows = rows};
        struct buf b = BUF_INIT(4096);
        options_help(&t, NULL, &b);
        CHECK(str_find(buf_str(&b), STR("(od help browse)")) > 0);
        CHECK(str_find(buf_str(&b), STR("od exec")) > 0);
        struct str rest = buf_str(&b);
        while (rest.n > 0) {
            struct str line = str_cut(&rest, '\n');
            CHECK(line.n <= 80 || (size_t)n + 8 > line.n);
        }
        buf_release(&b);
    }
}

T_MAIN
