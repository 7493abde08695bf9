/* SPDX-License-Identifier: MIT */
/*
 * Layouts: a small language of operations, whose results tmux 3.3a gave
 * (layout_rows.h), and layout strings that lie.
 */
#include "front/tmux/lang/layout.h"

#include "t.h"

struct row {
    const char *op, *want; /* "!": refused, and then tmux's words */
};

#include "layout_rows.h"

enum { PANES_MAX = 64 };

/* The panes that text has from *at on. */
static size_t read_panes(const char *text, unsigned *panes)
{
    size_t n = 0;
    int used;
    for (; n < PANES_MAX && sscanf(text, "%u%n", &panes[n], &used) == 1; n++)
        text += used;
    return n;
}

static bool split(struct tmux_layout *l, const char *rest)
{
    unsigned pane, new_pane;
    char h, before, full;
    int size;
    sscanf(rest, "%u%u %c%c%c %d", &pane, &new_pane, &h, &before, &full, &size);
    return tmux_layout_split(l, pane, new_pane,
                             (struct tmux_layout_split){h == '1', before == '1',
                                                        full == '1', size}) != NULL;
}

/* preset NAME, apply STRING: four options and the panes follow. */
static bool arrange(struct tmux_layout *l, bool preset, const char *rest,
                    struct buf *cause)
{
    static char name[4096], o[4][16];
    unsigned panes[PANES_MAX];
    int used = 0;
    sscanf(rest, "%4095s%15s%15s%15s%15s%n", name, o[0], o[1], o[2], o[3], &used);
    size_t n = read_panes(rest + used, panes);
    if (!preset)
        return tmux_layout_apply(l, str_of(name), panes, n, cause) == 0;
    struct tmux_layout_options options = {str_of(o[0]), str_of(o[1]), str_of(o[2]),
                                          str_of(o[3])};
    int which = tmux_layout_preset_find(str_of(name));
    if (which >= 0)
        tmux_layout_preset(l, (enum tmux_layout_preset)which, panes, n, &options);
    return which >= 0;
}

static bool run(struct tmux_layout *l, const char *op, struct buf *cause)
{
    char verb[16];
    int used = 0;
    unsigned a = 0, b = 0, c = 0;
    int x = 0, y = 0;
    sscanf(op, "%15s%n", verb, &used);
    const char *rest = op + used;
    if (strcmp(verb, "split") == 0)
        return split(l, rest);
    if (strcmp(verb, "preset") == 0 || strcmp(verb, "apply") == 0)
        return arrange(l, verb[0] == 'p', rest, cause);
    if (strcmp(verb, "new") == 0) {
        sscanf(rest, "%u%u%u%d", &a, &b, &c, &x);
        tmux_layout_release(l);
        tmux_layout_init(l, a, b, c);
        l->border = (enum tmux_layout_border)x;
    } else if (strcmp(verb, "res") == 0) {
        sscanf(rest, "%u%d%d", &a, &x, &y);
        tmux_layout_resize_pane(l, a, x != 0, y, true);
    } else {
        sscanf(rest, "%u%u%u", &a, &b, &c);
        if (strcmp(verb, "kill") == 0)
            tmux_layout_remove(l, a);
        else if (strcmp(verb, "swap") == 0)
            tmux_layout_swap(tmux_layout_find(l, a), tmux_layout_find(l, b));
        else if (strcmp(verb, "win") == 0)
            tmux_layout_resize(l, a, b);
        else if (strcmp(verb, "to") == 0)
            tmux_layout_resize_pane_to(l, a, b != 0, c);
        else if (strcmp(verb, "even") == 0)
            tmux_layout_spread(l, a);
        else
            T_FAIL("what is %s?", verb);
    }
    return true;
}

TEST(as_tmux)
{
    struct tmux_layout l = {0};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf cause = BUF_INIT(4096), out = BUF_INIT(1 << 20);
        if (run(&l, rows[i].op, &cause))
            tmux_layout_print(&l, &out);
        else
            buf_addf(&out, cause.n ? "! %s" : "!", buf_z(&cause));
        if (strcmp(buf_z(&out), rows[i].want) != 0)
            T_FAIL("row %zu, %s: %s, not %s", i, rows[i].op, buf_z(&out), rows[i].want);
        buf_release(&cause);
        buf_release(&out);
    }
    tmux_layout_release(&l);
}

static void check_refused(const char *text, size_t panes, const char *want)
{
    struct tmux_layout l = {0};
    struct buf cause = BUF_INIT(4096), out = BUF_INIT(4096);
    unsigned ids[3] = {0, 1, 2};
    tmux_layout_init(&l, 80, 24, 0);
    CHECK_INT(tmux_layout_apply(&l, str_of(text), ids, panes, &cause), -1);
    CHECK_STR(buf_z(&cause), want);
    tmux_layout_print(&l, &out); /* as before */
    CHECK_STR(buf_z(&out), "b25d,80x24,0,0,0");
    buf_release(&cause);
    buf_release(&out);
    tmux_layout_release(&l);
}

TEST(strings_that_lie)
{
    check_refused("", 1, "invalid layout");
    check_refused("b25d", 1, "invalid layout");
    check_refused("b25d,", 1, "invalid layout");
    check_refused("ffff,80x24,0,0,0", 1, "invalid layout");
    check_refused("b25d,80x24,0,0,0", 2, "have 2 panes but need 1");
    check_refused("6b79,80x24,0,0{40x24,0,0,0,40x24,41,0,1", 2, "invalid layout");
    check_refused("a9c0,80x24,0,0[]", 1, "invalid layout");
    check_refused("zzzz,80x24,0,0,0", 1, "invalid layout");
}

/* The text with its right checksum in front. */
static void check_sum(const char *text, size_t panes, const char *want)
{
    unsigned sum = 0;
    char whole[256];
    for (const char *p = text; *p; p++)
        sum = (((sum >> 1) | (sum & 1) << 15) + (unsigned)*p) & 0xffff;
    snprintf(whole, sizeof(whole), "%04x,%s", sum, text);
    check_refused(whole, panes, want);
}

TEST(sizes_that_lie)
{
    check_sum("80x24,0,0{40x24,0,0,0,20x23,41,0,1}", 2,
              "size mismatch after applying layout");
    check_sum("80x24,0,0[80x10,0,0{1x10,0,0,80x10,2,0},80x3,0,11]", 3,
              "size mismatch after applying layout");
    check_sum("80x24,0,0{40x24,0,0,0,39x24,41,0,1]", 2, "invalid layout");
    check_sum("80x24,0,0{40x24,0,0,0,39x24,41,0,1}x", 2, "invalid layout");
    check_sum("99999999999x24,0,0,0", 1, "invalid layout");
    check_sum("80x4294967295,0,0,0", 1, "invalid layout");
    check_sum("-1x24,0,0,0", 1, "invalid layout");
    check_sum("80x24,0,0", 2, "have 2 panes but need 1");
    check_sum("80x24,0", 1, "invalid layout");
}

TEST(names)
{
    CHECK_INT(tmux_layout_preset_find(STR("tiled")), LAYOUT_TILED);
    CHECK_INT(tmux_layout_preset_find(STR("t")), LAYOUT_TILED);
    CHECK_INT(tmux_layout_preset_find(STR("even-h")), LAYOUT_EVEN_HORIZONTAL);
    CHECK_INT(tmux_layout_preset_find(STR("main-vertical")), LAYOUT_MAIN_VERTICAL);
    CHECK_INT(tmux_layout_preset_find(STR("main-v")), LAYOUT_MAIN_VERTICAL);
    CHECK_INT(tmux_layout_preset_find(STR("even")), -1);
    CHECK_INT(tmux_layout_preset_find(STR("")), -1);
    CHECK_INT(tmux_layout_preset_find(STR("tiledx")), -1);
    CHECK_INT(tmux_layout_preset_find(STR("main-vertical-mirrored")),
              LAYOUT_MAIN_VERTICAL_MIRRORED);
    for (int i = 0; i < LAYOUT_PRESETS; i++)
        CHECK_INT(tmux_layout_preset_find(
                      str_of(tmux_layout_preset_name((enum tmux_layout_preset)i))),
                  i);
}

TEST(mirrored)
{
    struct tmux_layout l = {0};
    struct buf out = BUF_INIT(4096);
    unsigned ids[3] = {0, 1, 2};
    tmux_layout_init(&l, 80, 24, 0);
    tmux_layout_preset(&l, LAYOUT_MAIN_VERTICAL_MIRRORED, ids, 3,
                       &(struct tmux_layout_options){.main_pane_width = STR("50")});
    tmux_layout_print(&l, &out);
    CHECK(out.n > 5);
    CHECK_STR(out.p + 5, "80x24,0,0{29x24,0,0[29x11,0,0,1,29x12,0,12,2],50x24,30,0,0}");
    CHECK_INT(tmux_layout_count(&l), 3);
    buf_release(&out);
    tmux_layout_release(&l);
    CHECK_INT(tmux_layout_count(&l), 0);
    CHECK(!tmux_layout_first(&l));
}

/* The line of a title is taken from the panes at one edge. */
TEST(areas)
{
    struct tmux_layout l = {.border = LAYOUT_BORDER_TOP};
    tmux_layout_init(&l, 20, 10, 0);
    CHECK(tmux_layout_split(&l, 0, 1, (struct tmux_layout_split){.size = 3}));
    struct tmux_layout_area a = tmux_layout_area(&l, tmux_layout_find(&l, 0));
    struct tmux_layout_area b = tmux_layout_area(&l, tmux_layout_find(&l, 1));
    CHECK_INT(a.y * 100 + a.sy, 105);
    CHECK_INT(b.y * 100 + b.sy, 703);
    l.border = LAYOUT_BORDER_BOTTOM;
    a = tmux_layout_area(&l, tmux_layout_find(&l, 0));
    b = tmux_layout_area(&l, tmux_layout_find(&l, 1));
    CHECK_INT(a.y * 100 + a.sy, 6);
    CHECK_INT(b.y * 100 + b.sy, 702);
    tmux_layout_release(&l);
}

/* tmux needs minutes where a change is given out one by one; here it is arithmetic. */
TEST(many_panes)
{
    struct tmux_layout l = {0};
    unsigned ids[LAYOUT_PANES_MAX], n = 0;
    tmux_layout_init(&l, LAYOUT_WINDOW_MAX, LAYOUT_WINDOW_MAX, n);
    ids[n++] = 0;
    while (tmux_layout_split(&l, 0, n, (struct tmux_layout_split){.horizontal = n % 2})) {
        ids[n] = n;
        n++;
        CHECK(n <= LAYOUT_PANES_MAX);
    }
    CHECK_INT(n, LAYOUT_PANES_MAX);
    tmux_layout_preset(&l, LAYOUT_TILED, ids, n, NULL);
    tmux_layout_resize(&l, 1, 1);
    CHECK_INT(l.root->sx, 127);
    CHECK_INT(l.root->sy, 127);
    tmux_layout_resize(&l, 5000, 5000);
    CHECK_INT(l.root->sx, 5000);
    while (n > 0)
        tmux_layout_remove(&l, ids[--n]);
    CHECK(!l.root);
}

T_MAIN
