/* SPDX-License-Identifier: MIT */
/* Targets, in a small world; what tmux makes of the same is in tests/compat/tmux.test. */
#include "front/tmux/lang/target.h"

#include "t.h"

#include <stdio.h>

/*
 * $0 alpha: 0 first @0, 1 second @1, 5 third @2 (current: 1, before it: 0)
 * $1 alpine: 0 first @3, 1 shell @1
 * @1 has the panes %1 %2 (side by side) and %3 (below both); the others have one each.
 */
struct thing {
    int kind; /* 's'ession, 'l'ink, 'w'indow, 'p'ane */
    int n;
};
static struct thing sessions[2], links[5], windows[4], panes[6];

static const struct {
    int session, index, window;
} link_rows[5] = {{0, 0, 0}, {0, 1, 1}, {0, 5, 2}, {1, 0, 3}, {1, 1, 1}};
static const char *const window_names[4] = {"first", "second", "third", "first"};
static const struct {
    int window;
    unsigned x, y, sx, sy;
} pane_rows[6] = {{0, 0, 0, 80, 24},  {1, 0, 0, 40, 11}, {1, 41, 0, 39, 11},
                  {1, 0, 12, 80, 12}, {2, 0, 0, 80, 24}, {3, 0, 0, 80, 24}};

static int number(void *p) { return ((struct thing *)p)->n; }

static bool session_at(void *ctx, size_t i, struct target_session *out)
{
    static const char *const names[] = {"alpha", "alpine"};
    (void)ctx;
    if (i >= 2)
        return false;
    *out = (struct target_session){.session = &sessions[i],
                                   .id = (unsigned)i,
                                   .name = str_of(names[i]),
                                   .attached = i == 1,
                                   .activity = (int64_t)i};
    return true;
}

static bool link_at(void *ctx, void *session, size_t i, struct target_link *out)
{
    (void)ctx;
    for (int k = 0; k < 5; k++) {
        if (link_rows[k].session != number(session) || i-- > 0)
            continue;
        int w = link_rows[k].window;
        *out = (struct target_link){&links[k], &windows[w], link_rows[k].index,
                                    (unsigned)w, str_of(window_names[w])};
        return true;
    }
    return false;
}

static bool pane_at(void *ctx, void *window, size_t i, struct target_pane *out)
{
    int index = 0;
    (void)ctx;
    for (int k = 0; k < 6; k++) {
        if (pane_rows[k].window != number(window))
            continue;
        if ((size_t)index++ != i)
            continue;
        *out = (struct target_pane){.pane = &panes[k],
                                    .id = (unsigned)k,
                                    .index = index - 1,
                                    .x = pane_rows[k].x,
                                    .y = pane_rows[k].y,
                                    .sx = pane_rows[k].sx,
                                    .sy = pane_rows[k].sy,
                                    .visible = true,
                                    .recent = (unsigned)k};
        return true;
    }
    return false;
}

static void *current_link(void *ctx, void *session)
{
    (void)ctx;
    return &links[number(session) == 0 ? 1 : 3];
}

static void *last_link(void *ctx, void *session, size_t i)
{
    (void)ctx;
    return number(session) == 0 && i == 0 ? &links[0] : NULL;
}

static void *active_pane(void *ctx, void *window)
{
    static const int active[] = {0, 2, 4, 5};
    (void)ctx;
    return &panes[active[number(window)]];
}

static void *last_pane(void *ctx, void *window)
{
    (void)ctx;
    return number(window) == 1 ? &panes[1] : NULL;
}

static void size_of(void *ctx, void *window, unsigned *sx, unsigned *sy)
{
    (void)ctx;
    (void)window;
    *sx = 80;
    *sy = 24;
}

static void *client_of(void *ctx, struct str name)
{
    (void)ctx;
    return str_eq(name, STR("/dev/pts/3")) ? &sessions[1] : NULL;
}

static const struct target_view view = {.session = session_at,
                                        .link = link_at,
                                        .pane = pane_at,
                                        .current_link = current_link,
                                        .last_link = last_link,
                                        .active_pane = active_pane,
                                        .last_pane = last_pane,
                                        .size = size_of,
                                        .client = client_of};

static void make_world(void)
{
    for (int i = 0; i < 6; i++) {
        panes[i] = (struct thing){'p', i};
        if (i < 5)
            links[i] = (struct thing){'l', i};
        if (i < 4)
            windows[i] = (struct thing){'w', i};
        if (i < 2)
            sessions[i] = (struct thing){'s', i};
    }
}

/* Returns "SESSION LINK PANE INDEX", or the reason; valid until the next call. */
static const char *find(const char *text, enum target_type type, unsigned flags)
{
    static char out[200];
    struct target_state at = {&sessions[0], &links[1], &windows[1], &panes[2], -1};
    struct target_state found,
        marked = {&sessions[1], &links[3], &windows[3], &panes[5], -1};
    struct buf why = BUF_INIT(1000);
    make_world();
    int r = target_find(&found, text ? str_of(text) : (struct str){NULL, 0}, type, flags,
                        &at, flags & TARGET_DEFAULT_MARKED ? &marked : NULL, NULL, &view,
                        &why);
    if (r < 0)
        snprintf(out, sizeof(out), "%s", buf_z(&why));
    else
        snprintf(out, sizeof(out), "%d %d %d %d", number(found.session),
                 found.link ? number(found.link) : -1,
                 found.pane ? number(found.pane) : -1, found.index);
    buf_release(&why);
    return out;
}

static const char *session(const char *text) { return find(text, TARGET_SESSION, 0); }
static const char *window(const char *text) { return find(text, TARGET_WINDOW, 0); }
static const char *pane(const char *text) { return find(text, TARGET_PANE, 0); }

TEST(sessions)
{
    CHECK_STR(session(NULL), "0 1 2 -1");
    CHECK_STR(session("alpine"), "1 3 5 -1");
    CHECK_STR(session("alpi"), "1 3 5 -1");
    CHECK_STR(session("alp"), "can't find session: alp");
    CHECK_STR(session("=alpi"), "can't find session: alpi");
    CHECK_STR(session("=alpine"), "1 3 5 -1");
    CHECK_STR(session("*ine"), "1 3 5 -1");
    CHECK_STR(session("al*"), "can't find session: al*");
    CHECK_STR(session("$1"), "1 3 5 -1");
    CHECK_STR(session("$9"), "can't find session: $9");
    CHECK_STR(session("$"), "can't find session: $");
    CHECK_STR(session("$99999999999999999999"),
              "can't find session: $99999999999999999999");
    CHECK_STR(session("/dev/pts/3"), "1 3 5 -1");
    CHECK_STR(session("alpine:1"), "1 4 2 1");
    CHECK_STR(session("@2"), "0 2 4 5");
    CHECK_STR(session(":"), "0 1 2 -1");
}

TEST(windows)
{
    CHECK_STR(window("5"), "0 2 4 5");
    CHECK_STR(window("third"), "0 2 4 5");
    CHECK_STR(window("th"), "0 2 4 5");
    CHECK_STR(window("=th"), "can't find window: th");
    CHECK_STR(window("alpine"), "1 3 5 0");
    CHECK_STR(window(":alpine"), "can't find window: alpine");
    CHECK_STR(window("alpine:"), "1 3 5 -1");
    CHECK_STR(window("alpine:s"), "1 4 2 1");
    CHECK_STR(window("alpine:*r*"), "1 3 5 0");
    CHECK_STR(window("alpha:*ir*"), "can't find window: *ir*");
    CHECK_STR(window("nope:0"), "can't find session: nope");
    CHECK_STR(window(":^"), "0 0 0 0");
    CHECK_STR(window(":$"), "0 2 4 5");
    CHECK_STR(window(":!"), "0 0 0 0");
    CHECK_STR(window("{start}"), "0 0 0 0");
    CHECK_STR(window("{last}"), "0 0 0 0");
    CHECK_STR(window("alpine:!"), "can't find window: !");
    CHECK_STR(window(":+"), "0 2 4 5");
    CHECK_STR(window(":+2"), "0 0 0 0");
    CHECK_STR(window("{next}"), "0 2 4 5");
    CHECK_STR(window(":-2"), "0 2 4 5");
    CHECK_STR(window(":+x"), "can't find window: +x");
    CHECK_STR(window("@3"), "1 3 5 0");
    CHECK_STR(window("alpha:@3"), "can't find window: @3");
    CHECK_STR(window("~"), "no marked target");
    CHECK_STR(window("="), "no mouse target");
    CHECK_STR(find(NULL, TARGET_WINDOW, TARGET_DEFAULT_MARKED), "1 3 5 -1");
}

TEST(places)
{
    CHECK_STR(find("7", TARGET_WINDOW, TARGET_WINDOW_INDEX), "0 -1 -1 7");
    CHECK_STR(find("alpine:+", TARGET_WINDOW, TARGET_WINDOW_INDEX), "1 -1 -1 1");
    CHECK_STR(find("-2", TARGET_WINDOW, TARGET_WINDOW_INDEX), "can't find window: -2");
    CHECK_STR(find("alpine:", TARGET_WINDOW, TARGET_WINDOW_INDEX), "1 3 5 -1");
    CHECK_STR(find("0.1", TARGET_WINDOW, TARGET_WINDOW_INDEX), "can't specify pane here");
    CHECK_STR(find("nope", TARGET_WINDOW, TARGET_QUIET), "");
}

TEST(panes)
{
    CHECK_STR(pane("0"), "0 1 1 -1");
    CHECK_STR(pane(":.2"), "0 1 3 -1");
    CHECK_STR(pane("alpha:1.2"), "0 1 3 1");
    CHECK_STR(pane("alpha:1.9"), "can't find pane: 9");
    CHECK_STR(pane("alpine:.0"), "1 3 5 0");
    CHECK_STR(pane("%3"), "1 4 3 1");
    CHECK_STR(pane("alpha:%3"), "can't find window: %3");
    CHECK_STR(pane("alpha:.%3"), "0 1 3 1");
    CHECK_STR(pane("alpha:0.%3"), "can't find pane: %3");
    CHECK_STR(pane("%99"), "can't find pane: %99");
    CHECK_STR(pane("third"), "0 2 4 5");
    CHECK_STR(pane("nope"), "can't find pane: nope");
    CHECK_STR(pane(".!"), "0 1 1 -1");
    CHECK_STR(pane(".+"), "0 1 3 -1");
    CHECK_STR(pane(".+2"), "0 1 1 -1");
    CHECK_STR(pane(".-"), "0 1 1 -1");
    CHECK_STR(pane("{top-left}"), "0 1 1 -1");
    CHECK_STR(pane("{top-right}"), "0 1 2 -1");
    CHECK_STR(pane("{bottom}"), "0 1 3 -1");
    CHECK_STR(pane("{left-of}"), "0 1 1 -1");
    CHECK_STR(pane("{right-of}"), "0 1 1 -1"); /* beyond the edge, the other side */
    CHECK_STR(pane("{down-of}"), "0 1 3 -1");
    CHECK_STR(pane("{up-of}"), "0 1 3 -1");
}

TEST(no_sessions)
{
    struct target_state found, none = {.index = -1};
    struct buf why = BUF_INIT(1000);
    CHECK(target_find(&found, STR("x"), TARGET_PANE, 0, &none, NULL, NULL, &view, &why) <
          0);
    CHECK_STR(buf_z(&why), "no current target");
    CHECK(!found.session && !found.pane && found.index == -1);
    buf_release(&why);
    make_world();
    CHECK(target_best_session(&found, &view, 0) && found.session == &sessions[1]);
    CHECK(target_best_session(&found, &view, TARGET_PREFER_UNATTACHED) &&
          found.session == &sessions[0] && found.pane == &panes[2]);
}

/* Texts of what targets are made of: each is found whole, or not at all. */
TEST(random)
{
    static const char letters[] = ":.=+-!^$@%~*{}0129atopleft ";
    uint32_t seed = 1;
    for (int round = 0; round < 200000; round++) {
        char text[12];
        seed = seed * 1664525 + 1013904223;
        size_t n = (seed >> 28) % (sizeof(text) - 1);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = letters[(seed >> 9) % (sizeof(letters) - 1)];
        }
        text[n] = 0;
        struct target_state at = {&sessions[0], &links[1], &windows[1], &panes[2], -1};
        struct target_state x;
        struct buf why = BUF_INIT(1000);
        unsigned flags = seed >> 3 & TARGET_WINDOW_INDEX;
        int r = target_find(&x, str_of(text), (enum target_type)(seed % 3), flags, &at,
                            NULL, NULL, &view, &why);
        CHECK(r < 0 ? why.n > 0
                    : why.n == 0 && x.session && (flags || (x.link && x.pane)));
        buf_release(&why);
    }
}

T_MAIN
