/* SPDX-License-Identifier: MIT */
/* Patches of both forms as steps, and texts that are not patches. */
#include "front/mcp/tools/patch.h"

#include "t.h"

#include <stdio.h>

static struct err e;

/* The steps in words: "replace a.c [old] by [new]", a line each. "" if it is refused. */
static const char *steps(const char *text)
{
    static const char *const names[] = {"replace", "insert", "create", "move", "remove"};
    static char out[4000];
    struct patch p;
    struct buf b = BUF_INIT(sizeof(out) - 1);
    e = (struct err)ERR_INIT;
    if (patch_read(&p, str_of(text), &e) == 0) {
        for (unsigned i = 0; i < p.n; i++) {
            struct patch_step *s = &p.steps[i];
            buf_addf(&b, "%s%s %s", i ? "\n" : "", names[s->kind], s->path);
            if (s->to)
                buf_addf(&b, " to %s", s->to);
            if (s->kind == PATCH_REPLACE)
                buf_addf(&b, " [%s] by", buf_z(&s->old));
            if (s->kind == PATCH_INSERT)
                buf_addf(&b, " behind %lld", (long long)s->line);
            if (s->kind < PATCH_MOVE)
                buf_addf(&b, " [%s]", buf_z(&s->new));
        }
    }
    patch_release(&p);
    memcpy(out, buf_z(&b), b.n + 1);
    buf_release(&b);
    return out;
}

#define REFUSED(patch, sentence) \
    do { \
        CHECK_STR(steps(patch), ""); \
        CHECK_STR(e.text, sentence); \
    } while (0)

TEST(codex)
{
    CHECK_STR(steps("*** Begin Patch\n"
                    "*** Update File: src/a.py\n"
                    "@@ def f():\n"
                    " x\n"
                    "-y\n"
                    "+z\n"
                    "@@\n"
                    "-gone\n"
                    "*** Add File: new.txt\n"
                    "+one\n"
                    "+\n"
                    "*** Delete File: old.txt\n"
                    "*** Update File: b\n"
                    "*** Move to: c\n"
                    "@@\n"
                    " k\n"
                    "+l\n"
                    "*** End of File\n"
                    "*** End Patch\n"),
              "replace src/a.py [x\ny] by [x\nz]\n"
              "replace src/a.py [gone\n] by []\n"
              "create new.txt [one\n\n]\n"
              "replace b [k] by [k\nl]\n"
              "remove old.txt\n"
              "move b to c");
    CHECK_STR(steps("apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\r\n"
                    "-x\r\n+y\r\n*** End Patch\nEOF\n"),
              "replace a [x] by [y]");
    CHECK_STR(steps("*** Update File: a\n@@ class A:\n+  x = 1\n"),
              "replace a [class A:] by [class A:\n  x = 1]");
    CHECK_STR(steps("*** Update File: a\n-x\n\n+y\n"), "replace a [x\n] by [\ny]");
}

TEST(unified)
{
    CHECK_STR(steps("diff --git a/src/a.c b/src/a.c\n"
                    "index 123..456 100644\n"
                    "--- a/src/a.c\n"
                    "+++ b/src/a.c\n"
                    "@@ -3,2 +3,2 @@ int f(void)\n"
                    " x\n"
                    "--- y\n"
                    "+z\n"
                    "\\ No newline at end of file\n"
                    "@@ -9,0 +10,1 @@\n"
                    "+more\n"
                    "diff --git a/n b/n\n"
                    "new file mode 100644\n"
                    "--- /dev/null\n"
                    "+++ b/n\n"
                    "@@ -0,0 +1,1 @@\n"
                    "+one\n"
                    "--- a/o\n"
                    "+++ /dev/null\n"
                    "@@ -1,1 +0,0 @@\n"
                    "-one\n"
                    "diff --git a/p b/q\n"
                    "similarity index 100%\n"
                    "rename from p\n"
                    "rename to q\n"),
              "replace src/a.c [x\n-- y] by [x\nz]\n"
              "insert src/a.c behind 9 [more]\n"
              "create n [one\n]\n"
              "remove o\n"
              "move p to q");
    CHECK_STR(
        steps("--- a.txt\t2026-01-01\n+++ a.txt\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n"),
        "replace a.txt [a] by [b]");
}

TEST(what_is_none)
{
    static const char none[] =
        "this is not a patch: one begins with *** Begin Patch, or has "
        "lines --- FILE, +++ FILE and @@";
    REFUSED("", none);
    REFUSED("change x to y", none);
    REFUSED("*** Begin Patch\n*** End Patch\n", none);
    REFUSED("*** Begin Patch\nx\n", "line 2 of the patch: it does not belong to a file");
    REFUSED("*** Update File: a\nx\n",
            "line 2 of the patch: it does not begin with a space, + or -");
    REFUSED("*** Update File:\n-x\n",
            "line 1 of the patch: the name of a file is missing");
    REFUSED("*** Update File: a\n*** Update File: b\n-x\n+y\n",
            "line 2 of the patch: the previous file has no change");
    REFUSED(
        "*** Update File: a\n@@\n+x\n",
        "line 3 of the patch: it adds lines without a place: give a line next to them");
    REFUSED("*** Add File: a\n-x\n",
            "line 2 of the patch: a new file may have only lines with +");
}

TEST(at_most_so_many)
{
    struct buf b = BUF_INIT(8000);
    buf_addz(&b, "*** Update File: a\n");
    for (int i = 0; i < PATCH_STEPS_MAX; i++)
        buf_addf(&b, "@@\n-%d\n+x\n", i);
    CHECK(steps(buf_z(&b))[0] != 0);
    buf_addz(&b, "*** Delete File: b\n");
    REFUSED(buf_z(&b), "the patch has more than 30 steps; send it in parts");
    buf_release(&b);
}

T_MAIN
