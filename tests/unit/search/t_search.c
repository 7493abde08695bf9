/* SPDX-License-Identifier: MIT */
/*
 * Searches: what is found and what is left out, hostile trees, limits, and that no
 * helper is left when one is over.
 */
#define T_LIMIT_S 60
#include "search/search.h"

#include "base/buf.h"
#include "t.h"

#include <fcntl.h>
#include <stdarg.h>

static struct loop *loop;
static struct err err;
static struct search_result result;
static struct buf found = BUF_INIT(64 << 20);
static char why[300];
static int dones;
static bool others; /* children that are no helpers */

static bool no_child_left(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void on_done(void *arg, const struct search_result *r)
{
    CHECK(arg == &dones);
    dones++;
    CHECK(others || no_child_left());
    result = *r;
    buf_reset(&found);
    for (size_t i = 0; i < r->hits_n && r->err.code == ERR_NONE; i++) {
        struct str lines = r->hits[i].lines;
        struct search_line x;
        if (!lines.n)
            buf_addf(&found, "%.*s\n", STR_ARG(r->hits[i].path));
        while (search_next_line(&lines, &x))
            buf_addf(&found, "%.*s%s%llu%s%.*s%s\n", STR_ARG(r->hits[i].path),
                     x.context ? "-" : ":", (unsigned long long)x.number,
                     x.context ? "-" : ":", STR_ARG(x.text), x.cut ? "…" : "");
    }
    snprintf(why, sizeof(why), "%s", r->unread_why ? r->unread_why : "");
    loop_stop(loop);
}

/* A search in the test's folder: its lines, or the error. */
static const char *search(struct search_spec q)
{
    static char root[600];
    if (!loop)
        loop = loop_new();
    snprintf(root, sizeof(root), "%s/%s", t_dir(), q.root ? q.root : "");
    q.root = root;
    dones = 0;
    err = (struct err)ERR_INIT;
    if (!search_start(loop, &q, on_done, &dones, &err))
        return err.text;
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(dones, 1);
    return result.err.code ? result.err.text : buf_z(&found);
}
#define NAMES(...) search((struct search_spec){.what = SEARCH_NAMES, __VA_ARGS__})
#define FILES(p, ...) \
    search((struct search_spec){.what = SEARCH_FILES, .pattern = STR(p), __VA_ARGS__})
#define LINES(p, ...) \
    search((struct search_spec){.what = SEARCH_LINES, .pattern = STR(p), __VA_ARGS__})

/* ---- what is found ---- */

TEST(lines_with_their_numbers_by_path)
{
    t_sh(
        "mkdir -p b/c; printf 'one\\ntwo\\nthree\\n' >b/c/f; printf 'xx\\ntwo' >a; : >e");
    CHECK_STR(LINES("two"), "a:2:two\nb/c/f:2:two\n");
    CHECK_INT(result.files, 2);
    CHECK_INT(result.lines, 2);
    CHECK(!result.truncated && !result.timed_out && !result.unread);
    CHECK_STR(LINES("t[wh]"), "a:2:two\nb/c/f:2:two\nb/c/f:3:three\n");
    CHECK_STR(LINES("T", .fixed = true, .ignore_case = true),
              "a:2:two\nb/c/f:2:two\nb/c/f:3:three\n");
    CHECK_STR(LINES("nowhere"), "");
    CHECK_STR(FILES("o"), "a\nb/c/f\n");
    CHECK_STR(NAMES(), "a\nb/c/f\ne\n");
    CHECK_STR(LINES("two", .root = "b/c/f"), ":2:two\n");
    loop_free(loop);
}

TEST(context)
{
    t_sh("seq 20 >f; seq 3 >g");
    CHECK_STR(LINES("^(5|7|8|19)$", .before = 1, .after = 2),
              "f-4-4\nf:5:5\nf-6-6\nf:7:7\nf:8:8\nf-9-9\nf-10-10\nf-18-18\nf:19:19\n"
              "f-20-20\n");
    CHECK_INT(result.lines, 4);
    CHECK_STR(LINES("^[13]$", .root = "g", .before = 9), ":1:1\n-2-2\n:3:3\n");
    CHECK(strstr(LINES("x", .before = 101), "at most 100 lines of context"));
    loop_free(loop);
}

/* Blocks are joined where a line, or its context, lies in two of them. */
TEST(files_of_many_blocks)
{
    t_sh("seq 1000000 >f");
    CHECK_STR(LINES("^(37449|900000)$", .before = 1, .after = 1),
              "f-37448-37448\nf:37449:37449\nf-37450-37450\nf-899999-899999\n"
              "f:900000:900000\nf-900001-900001\n");
    LINES("7$", .count = true);
    CHECK_INT(result.lines, 100000);
    t_sh("grep -n '7$' f | sed 's/^/f:/' >want");
    static struct buf want = BUF_INIT(64 << 20);
    char path[400];
    snprintf(path, sizeof(path), "%s/want", t_dir());
    FILE *file = fopen(path, "r");
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;)
        buf_add(&want, block, n);
    fclose(file);
    CHECK(str_eq(buf_str(&found), buf_str(&want)));
    loop_free(loop);
}

TEST(lines_without_an_end)
{
    t_sh("head -c 3000000 /dev/zero | tr '\\0' a >f; echo needle >>f; echo b >>f");
    LINES("needle");
    CHECK_INT(result.lines, 1);
    CHECK(strstr(buf_z(&found), "aaa…\n") != NULL);
    CHECK(found.n < SEARCH_LINE_KEPT + 100);
    CHECK_STR(LINES("^b$"), "f:2:b\n");
    loop_free(loop);
}

TEST(hidden_and_binary_files)
{
    t_sh("mkdir .d d; echo x >.d/f; echo x >d/.f; echo x >f; printf 'x\\0' >bin; "
         "{ head -c 70000 /dev/zero | tr '\\0' y; printf '\\0\\nx\\n'; } >late");
    CHECK_STR(FILES("x"), "f\nlate\n");
    CHECK_STR(FILES("x", .hidden_files = true), "d/.f\nf\nlate\n");
    CHECK_STR(FILES("x", .hidden_folders = true), ".d/f\nf\nlate\n");
    CHECK_STR(FILES("x", .binary = true), "bin\nf\nlate\n");
    CHECK_STR(NAMES(.hidden_files = true, .hidden_folders = true),
              ".d/f\nbin\nd/.f\nf\nlate\n");
    loop_free(loop);
}

TEST(names_that_are_included_or_not)
{
    t_sh("mkdir -p src/deep node; for f in a.c src/b.c src/deep/c.h node/d.c .h.c src/e; "
         "do "
         "echo x >$f; done");
    CHECK_STR(FILES("x", .include = STR("*.c")), ".h.c\na.c\nnode/d.c\nsrc/b.c\n");
    CHECK_STR(FILES("x", .include = STR("*.{c,h}"), .exclude = STR("node")),
              ".h.c\na.c\nsrc/b.c\nsrc/deep/c.h\n");
    CHECK_STR(FILES("x", .include = STR("src/**")), "src/b.c\nsrc/deep/c.h\nsrc/e\n");
    CHECK_STR(FILES("x", .include = STR("/a.c")), "a.c\n");
    CHECK_STR(FILES("x", .exclude = STR("*.[ch]")), "src/e\n");
    CHECK_STR(NAMES(.name_part = STR("c")), "a.c\nnode/d.c\nsrc/b.c\nsrc/deep/c.h\n");
    CHECK_STR(NAMES(.name_part = STR("src")), "");
    loop_free(loop);
}

TEST(gitignore)
{
    t_sh("mkdir -p r/.git r/build r/sub/build r/keep r/in/.git; cd r; "
         "printf '*.o\\n/build\\nkeep/*\\n!keep/me\\n' >.gitignore; "
         "printf '!x.o\\n' >sub/.gitignore; "
         "for f in a a.o build/f sub/build/f sub/x.o sub/y.o keep/me keep/not in/i.o; do "
         "echo x >$f; done");
    CHECK_STR(FILES("x", .root = "r", .gitignore = true),
              "a\nin/i.o\nkeep/me\nsub/build/f\nsub/x.o\n");
    CHECK_STR(FILES("x", .root = "r/sub", .gitignore = true), "build/f\nx.o\n");
    CHECK_STR(FILES("x", .root = "r/keep", .gitignore = true), "me\n");
    CHECK_STR(FILES("x", .root = "r/sub"), "build/f\nx.o\ny.o\n");
    /* A name that is asked for is not ignored. */
    CHECK_STR(FILES("x", .root = "r", .gitignore = true, .include = STR("*.o")),
              "a.o\nin/i.o\nsub/x.o\nsub/y.o\n");
    t_sh("rmdir r/.git; rmdir r/in/.git");
    CHECK_STR(FILES("x", .root = "r/sub", .gitignore = true), "build/f\nx.o\ny.o\n");
    loop_free(loop);
}

/* The folder's rules count though they are not in the first entries that are read. */
TEST(gitignore_of_a_large_folder)
{
    t_sh("mkdir -p r/.git; cd r; seq -f %%0200g.o 700 | xargs touch; echo '*.o' "
         ">.gitignore; "
         "echo x >f");
    CHECK_STR(NAMES(.root = "r", .gitignore = true), "f\n");
    NAMES(.root = "r");
    CHECK_INT(result.files, 701);
    loop_free(loop);
}

TEST(the_newest)
{
    t_sh("mkdir d; for i in 1 2 3 4 5 6 7 8 9; do echo x >d/$i; "
         "touch -d \"2020-01-0$i 12:00\" d/$i; done; echo y >d/0");
    CHECK_STR(FILES("x", .newest = true, .files_max = 3), "d/9\nd/8\nd/7\n");
    CHECK(result.truncated);
    CHECK_STR(NAMES(.newest = true, .files_max = 2, .exclude = STR("0")), "d/9\nd/8\n");
    FILES("x", .newest = true, .files_max = 9);
    CHECK_INT(result.hits_n, 9);
    CHECK(!result.truncated);
    CHECK(strstr(FILES("x", .newest = true), "can be asked for") != NULL);
    CHECK(strstr(LINES("x", .newest = true, .files_max = 1), "not sorted") != NULL);
    loop_free(loop);
}

/* ---- trees that are not nice ---- */

TEST(pipes_devices_links_and_loops)
{
    t_sh("mkdir d out; echo x >out/f; echo x >f; mkfifo p; ln -s /dev/zero z; ln -s . "
         "loop; "
         "ln -s ../out d/up; ln -s f to; ln -s nowhere gone; "
         "[ $(id -u) != 0 ] || mknod dev c 1 5 || :; rm -f dev");
    CHECK_STR(FILES("x"), "f\nout/f\n");
    CHECK_STR(FILES("x", .links = true), "f\nout/f\nto\n");
    CHECK_STR(NAMES(), "f\nout/f\n");
    CHECK_STR(NAMES(.links = true), "f\ngone\nout/f\np\nto\nz\n");
    CHECK_INT(result.unread, 0);
    CHECK(strstr(FILES("x", .root = "p"), "/p: it is not a file or folder") != NULL);
    CHECK_INT(result.err.code, ERR_NOTFOUND);
    CHECK(strstr(NAMES(.root = "f"), "/f: it is not a folder") != NULL);
    loop_free(loop);
}

TEST(names_of_any_bytes)
{
    t_sh("mkdir \"$(printf 'a\\nb')\"; echo x >\"$(printf 'a\\nb/\\377')\"; echo x >'*'; "
         "echo x >' '");
    CHECK_STR(FILES("x"), " \n*\na\nb/\xff\n");
    CHECK_STR(FILES("x", .include = STR("\\*")), "*\n");
    CHECK_STR(FILES("x", .include = STR("?")), " \n*\na\nb/\xff\n");
    loop_free(loop);
}

TEST(deeper_than_a_path_can_be)
{
    char name[101], *p = name;
    memset(name, 'd', 100);
    name[100] = '\0';
    int dir = open(t_dir(), O_RDONLY | O_DIRECTORY);
    int files = 0;
    for (int i = 1; i <= 400; i++) {
        CHECK_INT(mkdirat(dir, p, 0700), 0);
        int next = openat(dir, p, O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
        if (i % 50)
            continue;
        int fd = openat(dir, "f", O_WRONLY | O_CREAT, 0600);
        CHECK_INT(write(fd, "x\n", 2), 2);
        close(fd);
        files += i * 101 < SEARCH_PATH_MAX;
    }
    close(dir);
    FILES("x");
    CHECK_INT(result.files, files);
    CHECK_INT(files, 6);
    CHECK_INT(result.unread, 1);
    CHECK(strstr(why, "cannot search ddd") && strlen(why) < 300);
    t_sh("rm -rf d*");
    loop_free(loop);
}

TEST(what_may_not_be_read)
{
    if (geteuid() == 0) /* who may read everything */
        CHECK(chown(t_dir(), 65534, 65534) == 0 && setgid(65534) == 0 &&
              setuid(65534) == 0);
    t_sh("mkdir closed; echo x >a; echo x >b; echo x >closed/f; chmod 0 b closed");
    CHECK_STR(FILES("x"), "a\n");
    CHECK_INT(result.unread, 2);
    CHECK(strstr(why, ": Permission denied") != NULL);
    CHECK(strstr(FILES("x", .root = "closed"), "Permission denied") != NULL);
    t_sh("chmod 700 closed");
    CHECK(strstr(FILES("x", .root = "none"), "No such file") != NULL);
    CHECK_INT(result.err.code, ERR_NOTFOUND);
    loop_free(loop);
}

TEST(what_the_kernel_invents)
{
    if (access("/proc/self/stat", R_OK) < 0)
        T_SKIP("no /proc here");
    struct search_spec q = {.root = "/",
                            .what = SEARCH_NAMES,
                            .name_part = STR("pagemap"),
                            .exclude = STR("[!p]*")};
    loop = loop_new();
    CHECK(search_start(loop, &q, on_done, &dones, &err) != NULL);
    CHECK_INT(loop_run(loop), 0);
    CHECK(strstr(buf_z(&found), "proc/") == NULL);
    loop_free(loop);
}

/* The tree is made and removed all the time: nothing but what is there is told. */
TEST(a_tree_that_changes)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        for (;;)
            t_sh("mkdir -p d/e/f d/g; echo x >d/e/f/1; echo x >d/g/2; mkfifo d/g/p; "
                 "mv d/e d/h; ln -s / d/e; rm -r d");
    }
    t_sh("echo x >stays");
    others = true;
    for (int i = 0; i < 60; i++) {
        FILES("x");
        CHECK_INT(result.err.code, ERR_NONE);
        CHECK(strstr(buf_z(&found), "stays\n") != NULL);
        CHECK(result.files <= 3);
    }
    kill(pid, SIGKILL);
    t_reap(pid);
    loop_free(loop);
}

/* ---- limits ---- */

TEST(more_than_is_wanted)
{
    t_sh("mkdir d; cd d; for i in $(seq 300); do echo x >$i; done; seq 50000 >many");
    FILES("x", .files_max = 10);
    CHECK_INT(result.hits_n, 10);
    CHECK(result.truncated);
    FILES("x", .files_max = 10, .count = true);
    CHECK_INT(result.hits_n, 10);
    CHECK_INT(result.files, 300);
    CHECK(result.truncated);
    FILES("x", .files_max = 300);
    CHECK_INT(result.hits_n, 300);
    CHECK(!result.truncated);
    LINES("^", .include = STR("many"), .lines_max = 100, .count = true);
    CHECK_INT(result.lines, 50000);
    CHECK(result.truncated);
    CHECK(strstr(FILES("x", .folder = true, .root = "d/many"), "it is not a folder"));
    CHECK(strstr(FILES("x", .file = true, .root = "d"), "it is not a file"));
    loop_free(loop);
}

/* 60 MB of matches are counted; what is kept has its limit. */
TEST(results_without_end)
{
    t_sh("yes 'all of these lines match, and there are many of them, too many' | "
         "head -c 30000000 >f; ln f g");
    LINES("match", .count = true);
    CHECK_INT(result.files, 2);
    CHECK(result.truncated);
    CHECK(result.lines > 900000);
    CHECK(found.n < 2 * SEARCH_KEPT_MAX);
    loop_free(loop);
}

TEST(time_is_over)
{
    t_sh("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 1000000 >f; "
         "for i in $(seq 200); do ln f f$i; done; echo bb >0");
    FILES("(?>a+)X|bb", .time_ms = 100, .newest = true, .files_max = 10);
    CHECK_INT(result.err.code, ERR_NONE);
    CHECK(result.timed_out && result.truncated);
    loop_free(loop);
}

TEST(patterns_that_are_wrong_or_too_costly)
{
    t_sh("head -c 5000 /dev/zero | tr '\\0' a >f");
    CHECK(strstr(FILES("(a"), "\"(a\" is not a regular expression: ") != NULL);
    CHECK_INT(result.err.code, ERR_INVALID);
    CHECK(strstr(FILES("(a+)+\\bX?(?=b)"), "takes too many steps") != NULL);
    CHECK(strstr(result.err.text, "(in f)") != NULL);
    CHECK_INT(result.err.code, ERR_LIMIT);
    CHECK(strstr(FILES("a",
                       .include = STR("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")),
                 "more than 256 alternatives") != NULL);
    loop_free(loop);
}

TEST(cancelled)
{
    t_sh("yes | head -c 20000000 >f; for i in 1 2 3 4 5; do ln f f$i; done");
    loop = loop_new();
    others = true; /* helpers of those that were cancelled, on their way out */
    for (int i = 0; i < 5; i++) {
        struct search_spec q = {
            .root = t_dir(), .what = SEARCH_LINES, .pattern = STR("y"), .count = true};
        struct search *s = search_start(loop, &q, on_done, &dones, &err);
        CHECK(s != NULL);
        search_cancel(s);
    }
    /* Others, that end, give the loop its turns; the last one when no helper is left. */
    for (bool last = false, left = true; !last;) {
        siginfo_t info;
        last = !left;
        dones = 0;
        struct search_spec q = {.root = t_dir(), .what = SEARCH_NAMES};
        CHECK(search_start(loop, &q, on_done, &dones, &err) != NULL);
        while (!dones)
            CHECK_INT(loop_run(loop), 0);
        left = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    }
    loop_free(loop);
}

TEST(many_folders_and_helpers)
{
    t_sh(
        "for i in $(seq 40); do mkdir -p t/$i/a/b/c t/$i/d; echo needle >t/$i/a/b/c/f; "
        "for k in $(seq 40); do echo hay; done >t/$i/d/g; done; mkdir t/flat; cd t/flat; "
        "for i in $(seq 500); do echo needle >$i; done");
    for (int i = 0; i < 10; i++) {
        FILES("needle");
        CHECK_INT(result.files, 540);
        CHECK_INT(result.hits_n, 540);
    }
    loop_free(loop);
}

T_MAIN
