/* SPDX-License-Identifier: MIT */
/*
 * Searches in the words that agents know: those of OpenHands' agent_skills for find_file,
 * search_dir and search_file, of its software-agent-sdk for glob and grep.
 */
#define T_LIMIT_S 60
#include "skill/search.h"

#include "t.h"

#include <stdarg.h>

static struct buf text = BUF_INIT(4 << 20);
static struct err err;

static const char *in(const char *name)
{
    static char path[2][400];
    static int at;
    at = 1 - at;
    snprintf(path[at], sizeof(path[at]), "%s%s", t_dir(), name);
    return path[at];
}

struct search_waiting {
    struct loop *loop;
    struct buf *out;
    struct err *e;
    bool failed;
};

static void on_waited(void *arg, const struct skills_found *found, const struct err *e)
{
    struct search_waiting *w = arg;
    w->failed = e->code != ERR_NONE;
    if (w->failed)
        *w->e = *e;
    else if (buf_adds(w->out, found->text) < 0)
        w->failed = err_set(w->e, ERR_LIMIT, "no room for what was found") < 0;
    loop_stop(w->loop);
}

/* Appends what is found to out. -1: e. */
static int search_wait(const struct skills_search *q, struct buf *out, struct err *e)
{
    struct search_waiting w = {loop_new(), out, e, true};
    if (!w.loop)
        return err_set(e, ERR_LIMIT, "cannot search: no descriptors are left");
    struct skills_run *r = skills_search_start(w.loop, q, on_waited, &w, e);
    if (r)
        loop_run(w.loop);
    loop_free(w.loop);
    return w.failed ? -1 : 0;
}

/* The text, or the error; the test's folder is called D in it. */
static const char *ask(struct skills_search q)
{
    static char out[200000];
    buf_reset(&text);
    err = (struct err)ERR_INIT;
    q.cwd = t_dir();
    int rc = search_wait(&q, &text, &err);
    const char *from = rc < 0 ? err.text : buf_z(&text), *dir = t_dir();
    size_t n = 0, d = strlen(dir);
    while (*from && n < sizeof(out) - 1) {
        bool here = strncmp(from, dir, d) == 0;
        out[n++] = here ? 'D' : *from;
        from += here ? d : 1;
    }
    out[n] = '\0';
    return out;
}
#define ASK(what, text, ...) \
    ask((struct skills_search){.kind = what, .term = text, __VA_ARGS__})

TEST(find_file)
{
    t_sh("mkdir -p d/.h; : >d/test_one.py; : >d/.h/a_test; : >one; mkdir d/test");
    CHECK_STR(ASK(SKILLS_FIND_FILE, "test"), "[Found 2 matches for \"test\" in ./]\n"
                                             "./d/.h/a_test\n"
                                             "./d/test_one.py\n"
                                             "[End of matches for \"test\" in ./]\n");
    CHECK_STR(ASK(SKILLS_FIND_FILE, "one", .where = "d"),
              "[Found 1 matches for \"one\" in d]\n"
              "d/test_one.py\n"
              "[End of matches for \"one\" in d]\n");
    CHECK_STR(ASK(SKILLS_FIND_FILE, "none", .where = in("/d")),
              "[No matches found for \"none\" in D/d]\n");
    CHECK_STR(ASK(SKILLS_FIND_FILE, "x", .where = "gone"), "Directory gone not found");
    CHECK_INT(err.code, ERR_NOTFOUND);
    CHECK_STR(ASK(SKILLS_FIND_FILE, "x", .where = "one"), "Directory one not found");
}

TEST(search_dir)
{
    t_sh("mkdir -p d/.h; printf 'a\\n  needle x \\n' >d/f; echo 'Needle needle' >d/.h/g; "
         "echo needle >d/.hidden; printf 'needle\\0' >bin; ln -s d/f link");
    CHECK_STR(ASK(SKILLS_SEARCH_DIR, "needle"),
              "[Found 3 matches for \"needle\" in ./]\n"
              "./d/.h/g (Line 1): Needle needle\n"
              "./d/f (Line 2): needle x\n"
              "./link (Line 2): needle x\n"
              "[End of matches for \"needle\" in ./]\n");
    CHECK_STR(ASK(SKILLS_SEARCH_DIR, "n.e", .where = "d/"),
              "No matches found for \"n.e\" in d/\n");
    CHECK_STR(ASK(SKILLS_SEARCH_DIR, "n", .where = "gone"), "Directory gone not found");
}

TEST(search_dir_in_too_many_files)
{
    t_sh("mkdir d; for i in $(seq 100); do echo x >d/$i; done");
    CHECK(strstr(ASK(SKILLS_SEARCH_DIR, "x"), "[Found 100 matches for \"x\" in ./]\n"));
    t_sh("for i in $(seq 101 123); do echo x >d/$i; done");
    CHECK_STR(
        ASK(SKILLS_SEARCH_DIR, "x"),
        "More than 123 files matched for \"x\" in ./. Please narrow your search.\n");
}

TEST(search_file)
{
    t_sh("printf 'one\\n\\ttwo one\\nthree\\n' >f; : >e");
    CHECK_STR(ASK(SKILLS_SEARCH_FILE, "one", .where = "f"),
              "[Found 2 matches for \"one\" in f]\n"
              "Line 1: one\n"
              "Line 2: two one\n"
              "[End of matches for \"one\" in f]\n");
    CHECK_STR(ASK(SKILLS_SEARCH_FILE, "four", .where = in("/f")),
              "[No matches found for \"four\" in D/f]\n");
    CHECK_STR(ASK(SKILLS_SEARCH_FILE, "x"),
              "No file specified or open. Use the open_file function first.");
    CHECK_STR(ASK(SKILLS_SEARCH_FILE, "x", .where = "gone"), "File gone not found.");
}

TEST(a_folder_is_no_file_to_search)
{
    t_sh("mkdir d; echo x >d/f");
    CHECK_STR(ASK(SKILLS_SEARCH_FILE, "x", .where = "d"), "File d not found.");
}

TEST(a_text_that_would_be_too_long)
{
    t_sh("seq 20000 >f");
    const char *s = ASK(SKILLS_SEARCH_FILE, "", .where = "f");
    CHECK(strncmp(s, "[Found 20000 matches for \"\" in f]\nLine 1: 1\n", 43) == 0);
    CHECK(strstr(s, "[10000 of them are shown. Please narrow your search.]\n"
                    "[End of matches for \"\" in f]\n"));
}

TEST(grep)
{
    t_sh("mkdir -p d/.h sub; echo 'def Foo' >d/a.py; echo foo >d/b.txt; echo foo "
         ">d/.h/c.py; "
         "echo foo >d/.x.py; touch -d 2020-01-01 d/a.py; touch -d 2021-01-01 d/b.txt; "
         "touch -d 2022-01-01 d/.x.py");
    CHECK_STR(ASK(SKILLS_GREP, "fo+", .where = in("/d")),
              "Found 2 file(s) containing pattern 'fo+' in 'D/d':\n"
              "D/d/b.txt\nD/d/a.py");
    CHECK_STR(ASK(SKILLS_GREP, "foo"),
              "Found 2 file(s) containing pattern 'foo' in 'D':\n"
              "D/d/b.txt\nD/d/a.py");
    CHECK_STR(ASK(SKILLS_GREP, "foo", .include = "*.py"),
              "Found 2 file(s) containing pattern 'foo' in 'D' (filtered by '*.py'):\n"
              "D/d/.x.py\nD/d/a.py");
    CHECK_STR(ASK(SKILLS_GREP, "bar", .where = "d", .include = "*.py"),
              "No files found containing pattern 'bar' in directory 'D/d' (filtered by "
              "'*.py')");
    CHECK_STR(ASK(SKILLS_GREP, "bar", .where = "d"),
              "No files found containing pattern 'bar' in directory 'D/d'");
    CHECK_STR(ASK(SKILLS_GREP, "x", .where = "/not/here"),
              "Search path '/not/here' is not a valid directory");
    CHECK(strncmp(ASK(SKILLS_GREP, "[x"), "Invalid regex pattern: ", 23) == 0);
    CHECK_INT(err.code, ERR_INVALID);
}

TEST(a_file_is_no_folder_to_grep)
{
    t_sh("echo x >f");
    CHECK_STR(ASK(SKILLS_GREP, "x", .where = "f"),
              "Search path 'D/f' is not a valid directory");
}

TEST(at_most_a_hundred_files)
{
    t_sh("mkdir d; for i in $(seq 100); do echo x >d/$i; done");
    CHECK(strstr(ASK(SKILLS_GREP, "x"), "truncated") == NULL);
    CHECK(strncmp(ASK(SKILLS_GLOB, "*"), "Found 100 file(s) matching pattern '*'", 38) ==
          0);
    t_sh("echo x >d/new; touch -d 2099-01-01 d/new");
    const char *s = ASK(SKILLS_GREP, "x");
    CHECK(strncmp(s, "Found 100 file(s) containing pattern 'x' in 'D':\nD/d/new\n", 57) ==
          0);
    CHECK(strstr(s, "\n\n[Results truncated to first 100 files. Consider using a more "
                    "specific pattern.]"));
}

TEST(glob)
{
    t_sh("mkdir -p s/t/u; for f in a.py s/b.py s/t/c.py s/t/u/d.txt; do : >$f; done; "
         "touch -d 2020-01-01 a.py; touch -d 2021-01-01 s/b.py; touch -d 2022-01-01 "
         "s/t/c.py; "
         "ln -s s link");
    CHECK_STR(ASK(SKILLS_GLOB, "*.py"),
              "Found 3 file(s) matching pattern '*.py' in 'D':\n"
              "D/s/t/c.py\nD/s/b.py\nD/a.py");
    CHECK_STR(ASK(SKILLS_GLOB, "**/*.{txt,md}"),
              "Found 1 file(s) matching pattern '**/*.{txt,md}' in 'D':\nD/s/t/u/d.txt");
    CHECK_STR(ASK(SKILLS_GLOB, "t/*.py", .where = "s"),
              "Found 1 file(s) matching pattern 't/*.py' in 'D/s':\nD/s/t/c.py");
    CHECK_STR(ASK(SKILLS_GLOB, "u/*", .where = "link"),
              "Found 1 file(s) matching pattern 'u/*' in 'D/link':\nD/link/t/u/d.txt");
    CHECK_STR(ASK(SKILLS_GLOB, "*.c"),
              "No files found matching pattern '*.c' in directory 'D'");
    CHECK_STR(ASK(SKILLS_GLOB, "*", .where = "gone"),
              "Search path 'D/gone' is not a valid directory");
    CHECK_STR(ASK(SKILLS_GLOB, in("/s/t/*.py")),
              "Found 1 file(s) matching pattern 'D/s/t/*.py' in 'D/s/t':\nD/s/t/c.py");
    CHECK_STR(ASK(SKILLS_GLOB, "~/t/*.py", .home = in("/s")),
              "Found 1 file(s) matching pattern '~/t/*.py' in 'D/s/t':\nD/s/t/c.py");
    CHECK(strncmp(ASK(SKILLS_GLOB, ""), "Found 4 file(s)", 15) == 0);
    CHECK_STR(ASK(SKILLS_GLOB, "/nowhere/at/all/*"),
              "Search path '/nowhere/at/all' is not a valid directory");
}

TEST(names_that_are_not_utf8)
{
    t_sh("echo x >\"$(printf 'a\\377b')\"");
    CHECK_STR(ASK(SKILLS_GREP, "x"),
              "Found 1 file(s) containing pattern 'x' in 'D':\nD/a\xef\xbf\xbd"
              "b");
}

T_MAIN
