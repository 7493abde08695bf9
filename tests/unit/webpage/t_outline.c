/* SPDX-License-Identifier: MIT */
/* Outlines of pages: lines, differences, refs by text, what is around a text. */
#include "webpage/outline.h"

#include "t.h"

#include <stdio.h>

static struct outline a, b;
static struct buf out = BUF_INIT(1 << 20);

static void put(struct outline *o, uint64_t key, unsigned ref, unsigned line,
                const char *role, const char *name, const char *rest)
{
    outline_add(o, &(struct outline_put){.key = key,
                                         .ref = ref,
                                         .line = line,
                                         .role = str_of(role),
                                         .name = str_of(name),
                                         .rest = str_of(rest),
                                         .path = STR("main")});
}

static void begin(void)
{
    outline_release(&a);
    outline_release(&b);
    buf_reset(&out);
}

static struct outline_change compare(size_t max)
{
    struct outline_change c;
    buf_reset(&out);
    outline_compare(&a, &b, max, &out, &c);
    return c;
}

TEST(lines)
{
    begin();
    put(&a, 1, 0, 1, "heading", " Wel\n come ", "");
    put(&a, 2, 3, 2, "link", "Cart \"2\"", "");
    put(&a, 3, 4, 2, "textbox", "Search", " = \"lamp\"");
    put(&a, 4, 5, 2, "button", "", "");
    outline_print(&a, &out);
    CHECK_STR(
        buf_z(&out),
        "heading \"Wel come\"\n"
        "link \"Cart \\\"2\\\"\" e3 · textbox \"Search\" e4 = \"lamp\" · button e5\n");
    CHECK_INT(a.refs, 3);
    CHECK(outline_ref(&a, 4) == &a.items[2]);
    CHECK(!outline_ref(&a, 0));
    CHECK(!outline_ref(&a, 9));
}

TEST(long_ones)
{
    char name[3000];
    begin();
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    put(&a, 0, 0, 1, "text", name, "");
    outline_print(&a, &out);
    CHECK_INT(a.items[0].name, OUTLINE_NAME_MAX);
    CHECK_INT(out.n, OUTLINE_SHOWN + sizeof("text \"…\"\n") - 1);
    for (int i = 0; i < OUTLINE_ITEMS_MAX + 5; i++)
        put(&b, 0, 0, (unsigned)i, "text", "y", "");
    CHECK(b.full);
    CHECK_INT(b.n, OUTLINE_ITEMS_MAX);
}

TEST(differences)
{
    begin();
    put(&a, 1, 1, 1, "textbox", "Search", "");
    put(&a, 2, 2, 2, "button", "Go", "");
    put(&a, 3, 0, 3, "text", "none", "");
    put(&a, 4, 3, 4, "button", "Save", "");
    put(&a, 5, 0, 5, "text", "old", "");
    put(&a, 6, 0, 6, "text", "same", "");
    put(&a, 7, 0, 7, "text", "same", "");
    put(&b, 1, 1, 1, "textbox", "Search", " = \"lamp\"");
    put(&b, 9, 7, 2, "link", "Red lamp", "");
    put(&b, 2, 2, 3, "button", "Go", "");
    put(&b, 3, 0, 3, "text", "one", "");
    put(&b, 8, 8, 4, "button", "Save", ""); /* made again */
    put(&b, 16, 0, 6, "text", "same", "");
    put(&b, 17, 0, 7, "text", "same", "");
    struct outline_change c = compare(4000);
    CHECK_STR(buf_z(&out), "~ textbox \"Search\" e1 = \"lamp\"\n"
                           "+ link \"Red lamp\" e7\n"
                           "~ text \"one\"\n"
                           "~ button \"Save\" e8, was e3\n"
                           "- text \"old\"\n");
    CHECK_INT(c.added, 1);
    CHECK_INT(c.changed, 3);
    CHECK_INT(c.removed, 1);
    CHECK_INT(c.shown, 5);
    c = compare(60);
    CHECK_STR(buf_z(&out), "~ textbox \"Search\" e1 = \"lamp\"\n"
                           "+ link \"Red lamp\" e7\n");
    CHECK_INT(c.shown, 2);
    CHECK_INT(c.changed, 3);
    struct outline_change none;
    outline_compare(&a, &a, 4000, &out, &none);
    CHECK_INT(none.added + none.changed + none.removed, 0);
}

/* One more and one less of the same text, in any order. */
TEST(equal_ones)
{
    begin();
    for (int i = 0; i < 3; i++)
        put(&a, 0, 0, (unsigned)i, "text", "row", "");
    for (int i = 0; i < 4; i++)
        put(&b, 0, 0, (unsigned)i, "text", "row", "");
    struct outline_change c = compare(4000);
    CHECK_STR(buf_z(&out), "+ text \"row\"\n");
    CHECK_INT(c.added, 1);
    CHECK_INT(c.removed, 0);
}

TEST(by_text)
{
    const struct outline_item *found[2];
    begin();
    put(&a, 1, 1, 1, "button", "Buy", "");
    put(&a, 2, 2, 2, "link", "Buy", "");
    put(&a, 3, 3, 3, "button", "Buy now", "");
    put(&a, 4, 0, 4, "text", "Cart", "");
    put(&a, 5, 5, 5, "link", "Carts", "");
    CHECK_INT(outline_match(&a, STR("buy"), found, 2), 2);
    CHECK_INT(outline_match(&a, STR("button \"Buy\""), found, 2), 1);
    CHECK_INT(found[0]->ref, 1);
    CHECK_INT(outline_match(&a, STR("now"), found, 2), 1);
    CHECK_INT(found[0]->ref, 3);
    CHECK_INT(outline_match(&a, STR("Cart"), found, 2), 1); /* text has no ref */
    CHECK_INT(found[0]->ref, 5);
    CHECK_INT(outline_match(&a, STR("u"), found, 2), 3);
    CHECK_INT(outline_match(&a, STR(""), found, 2), 0);
    CHECK_INT(outline_match(&a, STR("zzz"), found, 2), 0);
    const struct outline_item *near = outline_near(&a, STR("Crat Cart"), true);
    CHECK(near && near->ref == 5);
    CHECK(!outline_near(&a, STR("zzzz"), false));
}

TEST(around)
{
    unsigned shown;
    size_t at;
    begin();
    for (unsigned i = 1; i <= 9; i++)
        put(&a, 0, i, i, "button", i == 5 ? "Needle" : "x", "");
    CHECK_INT(outline_find(&a, STR("needle"), 1000, &out, &shown, &at), 1);
    CHECK_STR(buf_z(&out),
              "button \"x\" e3\nbutton \"x\" e4\n"
              "main: button \"Needle\" e5\nbutton \"x\" e6\nbutton \"x\" e7\n");
    CHECK_INT(shown, 1);
    CHECK_INT(at, 4 * strlen("button \"x\" e1\n"));
    buf_reset(&out);
    CHECK_INT(outline_find(&a, STR("x"), 100, &out, &shown, &at), 8);
    CHECK(shown < 8 && out.n <= 100);
    buf_reset(&out);
    CHECK_INT(outline_find(&a, STR("absent"), 100, &out, &shown, &at), 0);
    CHECK_INT(out.n, 0);
    CHECK_INT(outline_find_text(STR("1\n2\n3\n4 Word\n5\n6\n7\n8\n9\nword"), STR("WORD"),
                                1000, &out, &shown, &at),
              2);
    CHECK_STR(buf_z(&out), "2\n3\n4 Word\n5\n6\n…\n8\n9\nword\n");
    CHECK_INT(at, 6);
}

T_MAIN
