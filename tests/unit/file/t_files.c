/* SPDX-License-Identifier: MIT */
/*
 * Files as a whole: what may be read, how lines are cut, and that a file is
 * replaced at once or not at all, and afterwards only its bytes differ.
 */
#include "file/files.h"
#include "os/file.h"

#include "t.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

#define NOBODY 65534

static struct err e;

/* A path in the case's folder; four of them at a time. */
static const char *at(const char *name)
{
    static char path[4][PATH_MAX];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, PATH_MAX, "%s/%s", t_dir(), name);
    return p;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void check_holds(const char *path, const char *text)
{
    struct buf b = BUF_INIT(1 << 20);
    if (file_read(path, 1 << 20, &b, &e) < 0)
        T_FAIL("%s", e.text);
    CHECK_STR(buf_z(&b), text);
    buf_release(&b);
}

static struct stat look(const char *path)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    return st;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Names in the case's folder that begin with .od-. */
static bool left_over(void)
{
    char command[PATH_MAX + 50];
    snprintf(command, sizeof(command), "find %s -name '.od-*' | grep -q .", t_dir());
    return system(command) == 0;
}

static int replace(const char *path, const char *text)
{
    struct files_put p = {.mode = 0644};
    return files_replace(path, str_of(text), &p, &e);
}

#define CHECK_REPLACED(path, new) \
    do { \
        if (replace(path, new) < 0) \
            T_FAIL("%s", e.text); \
        check_holds(path, new); \
    } while (0)

/* fn in a process that has no privileges, in a folder that is open to all. */
static void as_nobody(void (*fn)(void))
{
    chmod(t_dir(), 0777);
    pid_t pid = t_fork();
    if (pid == 0) {
        if (getuid() == 0 &&
            (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
            T_FAIL("setuid: %s", strerror(errno));
        fn();
        fflush(stdout);
        _exit(0);
    }
    CHECK_INT(t_reap(pid), 0);
}

/* ---- reading ---- */

static int read_into(struct buf *b, const char *path, size_t max)
{
    e = (struct err)ERR_INIT;
    return file_read(path, max, b, &e);
}

TEST(a_file_up_to_the_maximum)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    put(at("f"), "0123456789");
    buf_addz(&b, "before ");
    CHECK_INT(read_into(&b, at("f"), 10), 0);
    CHECK_STR(b.p, "before 0123456789");
    CHECK_INT(read_into(&b, at("f"), 9), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(strstr(e.text, "/f: it is larger than 9 bytes"));
    CHECK_STR(b.p, "before 0123456789");
    put(at("empty"), "");
    CHECK_INT(read_into(&b, at("empty"), 0), 0);
    CHECK_INT(b.n, 17);
    buf_release(&b);
    struct buf small = BUF_INIT(5);
    CHECK_INT(read_into(&small, at("f"), 100), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(small.n, 0);
    buf_release(&small);
}

TEST(files_that_do_not_know_their_size)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    CHECK_INT(read_into(&b, "/proc/self/status", 1 << 20), 0);
    CHECK(strstr(b.p, "\nState:"));
    size_t n = b.n;
    buf_reset(&b);
    CHECK_INT(read_into(&b, "/proc/self/status", 100), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(n > 100 && b.n == 0);
    buf_release(&b);
}

TEST(what_is_no_file)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    CHECK_INT(read_into(&b, at("none"), 100), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(strstr(e.text, "cannot read ") && strstr(e.text, "/none: No such file"));
    put(at("f"), "x");
    CHECK_INT(read_into(&b, at("f/g"), 100), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(read_into(&b, t_dir(), 100), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(mkfifo(at("pipe"), 0600), 0);
    CHECK_INT(read_into(&b, at("pipe"), 100), -1);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    CHECK(strstr(e.text, "it is a pipe"));
    CHECK_INT(read_into(&b, "/dev/zero", 100), -1);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    CHECK_INT(symlink("loop", at("loop")), 0);
    CHECK_INT(read_into(&b, at("loop"), 100), -1);
    CHECK_INT(e.code, ERR_IO);
    CHECK_INT(b.n, 0);
    CHECK_INT(symlink("f", at("link")), 0);
    CHECK_INT(read_into(&b, at("link"), 100), 0);
    CHECK_STR(b.p, "x");
    buf_release(&b);
}

static void read_secret(void)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    CHECK_INT(read_into(&b, at("secret"), 100), -1);
    CHECK_INT(e.code, ERR_DENIED);
}

TEST(what_may_not_be_read)
{
    put(at("secret"), "x");
    chmod(at("secret"), 0);
    as_nobody(read_secret);
}

TEST(text_and_not_text)
{
    const struct {
        struct str bytes;
        bool binary;
    } cases[] = {
        {STR(""), false},
        {STR("hello\n"), false},
        {STR("\033[31mred\033[0m"), false},
        {STR("\xe2\x82\xac"), false},
        {STR("a\0b"), true},
        {STR("caf\xe9 au lait"), false}, /* Latin-1 */
        {STR("caf\xe9 \xff"), false},
        {STR("\xff\xff a"), true},
        {STR("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), true},
        {STR("\xe9\x01\x02\x03\x04"), true},
        {STR("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj"), false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (files_is_binary(cases[i].bytes) != cases[i].binary)
            T_FAIL("case %zu", i);
    char big[2 * FILES_HEAD];
    memset(big, 'x', sizeof(big));
    big[FILES_HEAD] = '\0'; /* not looked at */
    CHECK(!files_is_binary(str_n(big, sizeof(big))));
    big[FILES_HEAD - 1] = '\0';
    CHECK(files_is_binary(str_n(big, sizeof(big))));
    /* A character across the end of what is looked at, after many controls. */
    memset(big, '\x01', sizeof(big));
    memcpy(big + FILES_HEAD - 1, "\xe2\x82\xac", 3);
    CHECK(!files_is_binary(str_n(big, sizeof(big))));
}

/* ---- lines ---- */

TEST(newlines_of_all_kinds)
{
    static const char *const cases[][2] = {
        {"", ""},         {"a\nb", "a\nb"},           {"a\r\nb\r\n", "a\nb\n"},
        {"a\rb", "a\nb"}, {"\r\r\n\n\r", "\n\n\n\n"}, {"\r", "\n"},
        {"a\r\n", "a\n"}, {"a\n\rb", "a\n\nb"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf b = BUF_INIT(100);
        buf_addz(&b, cases[i][0]);
        files_newlines(&b);
        CHECK_STR(buf_z(&b), cases[i][1]);
        buf_release(&b);
    }
}

TEST(parts_of_a_text)
{
    static const struct {
        const char *text;
        int64_t start, end;
        const char *want;
    } cases[] = {
        {"1\n2\n3\n", 0, -1, "1\n2\n3\n"},
        {"1\n2\n3\n", 1, -1, "2\n3\n"},
        {"1\n2\n3\n", 3, -1, ""},
        {"1\n2\n3\n", 99, -1, ""},
        {"1\n2\n3\n", -5, -1, "1\n2\n3\n"},
        {"1\n2\n3\n", INT64_MIN, -1, "1\n2\n3\n"},
        {"1\n2\n3\n", INT64_MAX, INT64_MAX, "2\n3\n"},
        {"1\n2\n3\n", 0, 1, "1\n"},
        {"1\n2\n3\n", 0, 2, "1\n2\n"},
        {"1\n2\n3\n", 1, 2, "2\n"},
        {"1\n2\n3\n", 1, 99, "2\n3\n"},
        {"1\n2\n3\n", 2, 3, "2\n3\n"}, /* begins at the last line but one at most */
        {"1\n2\n3\n", 2, 0, "2\n"},
        {"1\n2\n3\n", 0, 0, "1\n"},
        {"1\n2\n3\n", 0, -7, "1\n"},
        {"1\n2\n3", 1, 3, "2\n3"},
        {"1\n2\n3", 2, -1, "3"},
        {"1", 0, 5, "1"},
        {"1", 4, 5, "1"},
        {"", 0, 5, ""},
        {"", 3, -1, ""},
        {"\n\n", 1, 2, "\n\n"},
        {"\n\n\n", 1, 2, "\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str got = files_slice_lines(str_of(cases[i].text), cases[i].start,
                                           cases[i].end);
        if (!str_eq(got, str_of(cases[i].want)))
            T_FAIL("case %zu is \"%.*s\", not \"%s\"", i, STR_ARG(got), cases[i].want);
    }
}

TEST(lines_put_into_a_text)
{
    static const struct {
        const char *old, *text;
        int64_t start, end;
        const char *want;
    } cases[] = {
        {"", "a", 0, -1, "a\n"},
        {"", "a\n", 0, -1, "a\n\n"},
        {"", "", 0, -1, "\n"},
        {"1\n2\n3\n", "a\nb", 0, -1, "a\nb\n"},
        {"1\n2\n3\n", "a", 1, -1, "1\na\n"},
        {"1\n2\n3\n", "a", 1, 2, "1\na\n3\n"},
        {"1\n2\n3\n", "a", 1, 1, "1\na\n2\n3\n"},
        {"1\n2\n3\n", "a", 0, 0, "a\n1\n2\n3\n"},
        {"1\n2\n3\n", "a", 0, 2, "a\n3\n"},
        {"1\n2\n3\n", "a", 9, -1, "1\n2\n3\na\n"},
        {"1\n2\n3\n", "a", 9, 9, "1\n2\n3\na\n"},
        {"1\n2\n3\n", "a", -1, -1, "1\n2\na\n"},
        {"1\n2\n3\n", "a", -9, -2, "a\n2\n3\n"},
        {"1\n2\n3\n", "a", INT64_MIN, INT64_MIN, "a\n1\n2\n3\n"},
        {"1\n2", "a", 2, -1, "1\n2\na\n"},
        {"1", "a", 1, 1, "1\na\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str old = str_of(cases[i].old), text = str_of(cases[i].text);
        struct buf b = BUF_INIT(100);
        CHECK_INT(files_splice_lines(&b, old, text, cases[i].start, cases[i].end), 0);
        if (strcmp(buf_z(&b), cases[i].want) != 0)
            T_FAIL("case %zu is \"%s\", not \"%s\"", i, buf_z(&b), cases[i].want);
        for (size_t max = 1; max < b.n; max++) {
            struct buf small = BUF_INIT(max);
            buf_addc(&small, '!');
            CHECK_INT(files_splice_lines(&small, old, text, cases[i].start, cases[i].end),
                      -1);
            CHECK_STR(buf_z(&small), "!");
            buf_release(&small);
        }
        buf_release(&b);
    }
}

TEST(pictures_and_films)
{
    CHECK_STR(files_media_type(STR("/a/b.png")), "image/png");
    CHECK_STR(files_media_type(STR("B.JPG")), "image/jpeg");
    CHECK_STR(files_media_type(STR("b.bmp")), "image/bmp");
    CHECK_STR(files_media_type(STR("b.pdf")), "application/pdf");
    CHECK_STR(files_media_type(STR("b.webm")), "video/webm");
    CHECK_STR(files_media_type(STR("b.txt")), NULL);
    CHECK_STR(files_media_type(STR("b.svg")), NULL);
    CHECK_STR(files_media_type(STR("png")), NULL);
    CHECK_STR(files_media_type(STR("")), NULL);
    struct buf b = BUF_INIT(40);
    CHECK_INT(files_data_url(&b, "image/png", STR("\x89PNG")), 0);
    CHECK_STR(b.p, "data:image/png;base64,iVBORw==");
    CHECK_INT(files_data_url(&b, "image/png", STR("\x89PNG")), -1);
    CHECK_STR(b.p, "data:image/png;base64,iVBORw==");
    buf_release(&b);
}

/* ---- replacing ---- */

TEST(a_new_file)
{
    struct files_put p = {.mode = 0664, .sync = true};
    umask(077);
    CHECK_INT(files_replace(at("f"), STR("a\0b"), &p, &e), 0);
    CHECK(p.created && p.owner_errno == 0);
    struct stat st = look(at("f"));
    CHECK_INT(st.st_mode, S_IFREG | 0664);
    CHECK_INT(st.st_size, 3);
    CHECK_INT(st.st_uid, geteuid());
    CHECK_INT(files_replace(at("f"), STR(""), &p, &e), 0);
    CHECK(!p.created);
    check_holds(at("f"), "");
    CHECK(!left_over());
    /* Relative to where we are, and beside nothing. */
    CHECK_INT(chdir(t_dir()), 0);
    CHECK_REPLACED("g", "here");
    CHECK_INT(files_replace("", STR("x"), &p, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(chdir("/"), 0);
}

TEST(a_new_file_for_somebody)
{
    struct files_put p = {.mode = 0600, .chown = true, .uid = NOBODY, .gid = NOBODY};
    CHECK_INT(files_replace(at("f"), STR("x"), &p, &e), 0);
    if (geteuid() == 0 || geteuid() == NOBODY) {
        CHECK_INT(p.owner_errno, 0);
        CHECK_INT(look(at("f")).st_uid, NOBODY);
        CHECK_INT(look(at("f")).st_gid, NOBODY);
    } else {
        CHECK_INT(p.owner_errno, EPERM);
    }
    check_holds(at("f"), "x");
}

static void new_for_root(void)
{
    struct files_put p = {.mode = 0600, .chown = true, .uid = 0, .gid = 0};
    CHECK_INT(files_replace(at("f"), STR("x"), &p, &e), 0);
    CHECK(p.created);
    CHECK_INT(p.owner_errno, EPERM);
    check_holds(at("f"), "x");
}

TEST(an_owner_that_cannot_be_given_is_told) { as_nobody(new_for_root); }

TEST(folders_are_made)
{
    struct files_put p = {.mode = 0644};
    CHECK_INT(files_replace(at("a/b/f"), STR("x"), &p, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(!is_there(at("a")));
    umask(027);
    p.parents = true;
    CHECK_INT(files_replace(at("a/b//c/f"), STR("x"), &p, &e), 0);
    check_holds(at("a/b/c/f"), "x");
    CHECK_INT(look(at("a/b")).st_mode, S_IFDIR | 0750);
    CHECK_INT(files_replace(at("a/b/c/f/g"), STR("x"), &p, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(files_replace(at("a/b/c/f/g/h"), STR("x"), &p, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(!left_over());
}

TEST(what_was_stays_but_for_the_bytes)
{
    put(at("f"), "old and longer");
    CHECK_INT(chmod(at("f"), 04751), 0);
    if (geteuid() == 0) {
        CHECK_INT(chown(at("f"), 4321, 1234), 0);
        CHECK_INT(chmod(at("f"), 04751), 0);
    }
    struct stat before = look(at("f"));
    struct files_put p = {.mode = 0600, .chown = true, .uid = 5, .gid = 5};
    CHECK_INT(files_replace(at("f"), STR("new"), &p, &e), 0);
    struct stat after = look(at("f"));
    CHECK(!p.created && p.owner_errno == 0);
    CHECK_INT(after.st_mode, before.st_mode);
    CHECK_INT(after.st_uid, before.st_uid);
    CHECK_INT(after.st_gid, before.st_gid);
    CHECK(after.st_ino != before.st_ino);
    check_holds(at("f"), "new");
}

TEST(attributes_and_access_lists_stay)
{
    char value[100];
    put(at("f"), "old");
    if (setxattr(at("f"), "user.note", "why", 3, 0) < 0)
        T_SKIP("no user attributes in the temporary folder");
    setxattr(at("f"), "user.empty", "", 0, 0);
    CHECK_REPLACED(at("f"), "new");
    CHECK_INT(getxattr(at("f"), "user.note", value, sizeof(value)), 3);
    CHECK(memcmp(value, "why", 3) == 0);
    CHECK_INT(getxattr(at("f"), "user.empty", value, sizeof(value)), 0);
    /* Version 2, and user, user 4321, group, mask, others: acl(5). */
    static const unsigned char acl[] = {2,   0,   0,   0, 1,   0,   6,   0,    255,
                                        255, 255, 255, 2, 0,   4,   0,   0xe1, 0x10,
                                        0,   0,   4,   0, 4,   0,   255, 255,  255,
                                        255, 16,  0,   4, 0,   255, 255, 255,  255,
                                        32,  0,   0,   0, 255, 255, 255, 255};
    if (setxattr(at("f"), "system.posix_acl_access", acl, sizeof(acl), 0) < 0)
        T_SKIP("no access lists in the temporary folder");
    CHECK_REPLACED(at("f"), "newer");
    CHECK_INT(getxattr(at("f"), "system.posix_acl_access", value, sizeof(value)),
              sizeof(acl));
    CHECK(memcmp(value, acl, sizeof(acl)) == 0);
}

TEST(links_stay_links)
{
    CHECK_INT(mkdir(at("d"), 0700), 0);
    CHECK_INT(mkdir(at("e"), 0700), 0);
    put(at("d/f"), "old");
    CHECK_INT(symlink("../d/f", at("e/one")), 0);
    CHECK_INT(symlink("e/one", at("two")), 0);
    CHECK_INT(symlink(at("two"), at("d/three")), 0);
    CHECK_REPLACED(at("d/three"), "new");
    check_holds(at("d/f"), "new");
    CHECK(S_ISLNK(look(at("e/one")).st_mode) && S_ISLNK(look(at("two")).st_mode));
    CHECK(S_ISLNK(look(at("d/three")).st_mode));
    /* One to nothing makes it. */
    CHECK_INT(symlink("d/made", at("dangling")), 0);
    CHECK_REPLACED(at("dangling"), "x");
    CHECK(S_ISREG(look(at("d/made")).st_mode));
    CHECK_INT(symlink("a", at("b")), 0);
    CHECK_INT(symlink("b", at("a")), 0);
    CHECK_INT(replace(at("a"), "x"), -1);
    CHECK_INT(e.code, ERR_IO);
    /* Another name of the same file keeps what it had. */
    CHECK_INT(link(at("d/f"), at("hard")), 0);
    CHECK_REPLACED(at("d/f"), "newer");
    check_holds(at("hard"), "new");
    CHECK(!left_over());
}

TEST(what_is_not_replaced)
{
    char name[300];
    CHECK_INT(replace(t_dir(), "x"), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(replace(at(""), "x"), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(replace(at("."), "x"), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(mkfifo(at("pipe"), 0600), 0);
    CHECK_INT(replace(at("pipe"), "x"), -1);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    CHECK(strstr(e.text, "cannot write ") && strstr(e.text, "it is a pipe"));
    CHECK_INT(replace("/dev/null", "x"), -1);
    CHECK_INT(e.code, ERR_UNSUPPORTED);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_INT(replace(at(name), "x"), -1);
    CHECK_INT(e.code, ERR_IO);
    name[255] = '\0';
    CHECK_REPLACED(at(name), "as long as a name can be");
    struct files_put p = {.mode = 0644};
    static const char *const bad[] = {"", "a/b", "a.b", "a b", "../x"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        p.token = bad[i];
        CHECK_INT(files_replace(at("f"), STR("x"), &p, &e), -1);
        CHECK_INT(e.code, ERR_INTERNAL);
    }
    CHECK(!is_there(at("f")) && !left_over());
}

/* What a full disk does as well: the bytes do not fit. */
static void with_no_room(void)
{
    struct rlimit limit = {10, 10};
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_INT(replace(at("f"), "much longer than ten bytes"), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(replace(at("new"), "much longer than ten bytes"), -1);
    CHECK_INT(e.code, ERR_LIMIT);
}

TEST(no_room_leaves_what_was)
{
    put(at("f"), "old");
    chmod(at("f"), 0666);
    /* A user who may not set the owner writes in place. */
    as_nobody(with_no_room);
    check_holds(at("f"), "old");
    if (geteuid() == 0)
        CHECK_INT(chown(at("f"), NOBODY, NOBODY), 0);
    as_nobody(with_no_room);
    check_holds(at("f"), "old");
    CHECK(!is_there(at("new")));
    CHECK(!left_over());
}

static void refused(void)
{
    CHECK_INT(replace(at("readonly"), "x"), -1);
    CHECK_INT(e.code, ERR_DENIED);
    CHECK_INT(replace(at("d/new"), "x"), -1);
    CHECK_INT(e.code, ERR_DENIED);
}

TEST(permissions_are_those_of_writing)
{
    put(at("readonly"), "old");
    chmod(at("readonly"), 0444);
    CHECK_INT(mkdir(at("d"), 0755), 0);
    if (geteuid() != 0)
        chmod(at("d"), 0555);
    as_nobody(refused);
    check_holds(at("readonly"), "old");
    CHECK(!left_over());
}

static void written(void)
{
    struct stat before = look(at("d/f"));
    CHECK_REPLACED(at("d/f"), "new");
    CHECK_INT(look(at("d/f")).st_ino, before.st_ino);
    CHECK_REPLACED(at("d/f"), "new and longer than it was");
    CHECK_REPLACED(at("d/f"), "");
    CHECK_INT(look(at("d/f")).st_mode, before.st_mode);
}

TEST(a_file_in_a_folder_that_is_not_writable_is_written)
{
    CHECK_INT(mkdir(at("d"), 0755), 0);
    put(at("d/f"), "the old bytes");
    chmod(at("d/f"), 0666);
    chmod(at("d"), 0555);
    as_nobody(written);
    chmod(at("d"), 0755);
    CHECK(!left_over());
}

TEST(a_file_whose_owner_cannot_be_given_is_written)
{
    if (geteuid() != 0)
        T_SKIP("needs root, to have a file of another");
    CHECK_INT(mkdir(at("d"), 0777), 0);
    chmod(at("d"), 0777);
    put(at("d/f"), "the old bytes");
    CHECK_INT(chown(at("d/f"), 4321, 4321), 0);
    chmod(at("d/f"), 0666);
    as_nobody(written);
    CHECK_INT(look(at("d/f")).st_uid, 4321);
    CHECK(!left_over());
}

/* A file of a container that is mounted by itself, as /etc/hosts is. */
TEST(a_file_that_is_a_mount_is_written)
{
    put(at("source"), "old");
    put(at("f"), "below");
    if (unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) < 0 ||
        mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(at("source"), at("f"), NULL, MS_BIND, NULL) < 0)
        T_SKIP("no right to mount");
    CHECK_REPLACED(at("f"), "new");
    check_holds(at("source"), "new");
    CHECK(!left_over());
    umount(at("f"));
    check_holds(at("f"), "below");
}

TEST(a_program_that_runs_is_replaced)
{
    struct buf b = BUF_INIT(64 << 20);
    struct files_put p = {.mode = 0755};
    CHECK_INT(file_read("/bin/sleep", 64 << 20, &b, &e), 0);
    CHECK_INT(files_replace(at("sleep"), buf_str(&b), &p, &e), 0);
    buf_release(&b);
    int ready[2];
    CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        execl(at("sleep"), "sleep", "100", (char *)NULL);
        _exit(127);
    }
    close(ready[1]);
    char c;
    CHECK_INT(read(ready[0], &c, 1), 0); /* exec closed the other end */
    CHECK(open(at("sleep"), O_WRONLY) < 0 && errno == ETXTBSY);
    CHECK_REPLACED(at("sleep"), "new");
    kill(pid, SIGKILL);
    CHECK_INT(WTERMSIG(t_reap(pid)), SIGKILL);
}

/* ---- interruptions ---- */

TEST(doing_it_again_takes_the_place_of_what_is_left)
{
    struct files_put p = {.mode = 0644, .token = "abc-1_Z"};
    put(at("f"), "old");
    put(at(".od-abc-1_Z"), "ne");
    CHECK_INT(files_replace(at("f"), STR("new"), &p, &e), 0);
    CHECK(!left_over());
    check_holds(at("f"), "new");
}

enum { BIG = 300000, KILLS = 40 };

static void fill(struct buf *b, char c)
{
    char *p = buf_reserve(b, BIG);
    CHECK(p);
    memset(p, c, BIG);
    buf_commit(b, BIG);
}

/* One letter, all of it. */
static void check_whole(const char *path)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    CHECK_INT(file_read(path, BIG, &b, &e), 0);
    CHECK_INT(b.n, BIG);
    for (size_t i = 0; i < BIG; i++)
        if (b.p[i] != b.p[0])
            T_FAIL("%c at %zu of a file that began with %c", b.p[i], i, b.p[0]);
    buf_release(&b);
}

/* Killed at any moment, a writer leaves whole files. */
TEST(nothing_half_written_is_ever_seen)
{
    struct buf a = BUF_INIT(SIZE_MAX), b = BUF_INIT(SIZE_MAX);
    struct files_put p = {.mode = 0644, .token = "T"};
    fill(&a, 'a');
    fill(&b, 'b');
    CHECK_INT(files_replace(at("f"), buf_str(&a), &p, &e), 0);
    for (int i = 0; i < KILLS; i++) {
        int ready[2];
        CHECK_INT(pipe(ready), 0);
        pid_t pid = t_fork();
        if (pid == 0) {
            if (write(ready[1], "x", 1) != 1)
                _exit(1);
            for (;;) {
                files_replace(at("f"), buf_str(&b), &p, &e);
                files_replace(at("f"), buf_str(&a), &p, &e);
            }
        }
        char c;
        CHECK_INT(read(ready[0], &c, 1), 1);
        for (int j = 0; j < i % 4; j++)
            check_whole(at("f"));
        kill(pid, SIGKILL);
        t_reap(pid);
        close(ready[0]);
        close(ready[1]);
        check_whole(at("f"));
    }
    CHECK_INT(files_replace(at("f"), buf_str(&a), &p, &e), 0);
    CHECK(!left_over());
    buf_release(&a);
    buf_release(&b);
}

T_MAIN
