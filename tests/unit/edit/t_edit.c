/* SPDX-License-Identifier: MIT */
/*
 * Editing: what comes of texts and of the bytes of files, in every encoding and with
 * every line end; what can be undone, by which worker; and an edit that is asked
 * for again after each place where a worker can be ended.
 */
#include "edit/edit.h"

#include "base/xalloc.h"
#include "os/file.h"

#define T_LIMIT_S 60 /* tens of megabytes are written */
#include "t.h"

#include <dirent.h>
#include <fcntl.h>

static char path[400], kept[400];
static struct edits *edits;

static const char *in_dir(const char *name)
{
    static char out[400];
    snprintf(out, sizeof(out), "%s/%s", t_dir(), name);
    return out;
}

/* As a worker that starts. */
static void begin(void)
{
    snprintf(path, sizeof(path), "%s", in_dir("file"));
    snprintf(kept, sizeof(kept), "%s", in_dir("kept"));
    edits_free(edits);
    edits = edits_new(kept);
}

static void put_bytes(const char *at, const void *p, size_t n)
{
    FILE *f = fopen(at, "w");
    CHECK(f && fwrite(p, 1, n, f) == n && fclose(f) == 0);
}

#define PUT(literal) put_bytes(path, literal, sizeof(literal) - 1)

#define CHECK_FILE(literal) \
    do { \
        struct buf t_now = BUF_INIT(64 << 20); \
        CHECK_INT(file_read(path, t_now.max, &t_now, NULL), 0); \
        CHECK_MEM(t_now.p, t_now.n, literal); \
        buf_release(&t_now); \
    } while (0)

static struct edited done;

static int apply(struct edit q)
{
    edited_release(&done);
    done = (struct edited)EDITED_INIT;
    q.path = path;
    return edit_apply(edits, &q, &done);
}

static int replace(const char *old, const char *text)
{
    return apply((struct edit){.kind = EDIT_REPLACE,
                               .old = str_of(old),
                               .text = str_of(text),
                               .strip_old = true,
                               .strip_text = true});
}

static int insert(int64_t line, const char *text)
{
    return apply((struct edit){.kind = EDIT_INSERT, .line = line, .text = str_of(text)});
}

static int create(const char *text)
{
    return apply((struct edit){.kind = EDIT_CREATE, .text = str_of(text), .mode = 0640});
}

static int undo(void) { return apply((struct edit){.kind = EDIT_UNDO}); }

static const char *before(void) { return buf_z(&done.before); }
static const char *after(void) { return buf_z(&done.after); }

/* ---- replacing ---- */

TEST(one_place)
{
    begin();
    PUT("one\ntwo\nthree\n");
    CHECK_INT(replace("two\nthr", "2\n3\n"), 0);
    CHECK_FILE("one\n2\n3\nee\n");
    CHECK_STR(before(), "one\ntwo\nthree\n");
    CHECK_STR(after(), "one\n2\n3\nee\n");
    CHECK_INT(done.line, 2);
    CHECK_INT(done.added, 2);
    CHECK_INT(replace("one\n2\n3\nee\n", ""), 0);
    CHECK_FILE("");
    CHECK_INT(replace("", "anew"), 0);
    CHECK_FILE("anew");
    CHECK_INT(done.line, 1);
}

TEST(no_place)
{
    begin();
    PUT("one\n");
    CHECK_INT(replace("two", "x"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_MATCH);
    CHECK_FILE("one\n");
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
}

TEST(several_places)
{
    begin();
    PUT("a\nb a a\n\naa\n");
    CHECK_INT(replace("a", "x"), -1);
    CHECK_INT(done.failure.why, EDIT_MATCHES);
    CHECK_INT(done.failure.nlines, 3);
    CHECK_INT(done.failure.lines[0], 1);
    CHECK_INT(done.failure.lines[1], 2);
    CHECK_INT(done.failure.lines[2], 4);
    CHECK(!done.failure.more_lines);
    /* What overlaps is one place. */
    PUT("aXaXa\n");
    CHECK_INT(replace("aXa", "x"), 0);
    CHECK_FILE("xXa\n");
}

TEST(nothing_is_everywhere)
{
    begin();
    PUT("1\n2\n3\n");
    CHECK_INT(replace("", "x"), -1);
    CHECK_INT(done.failure.why, EDIT_MATCHES);
    CHECK_INT(done.failure.nlines, 4);
    CHECK_INT(done.failure.lines[3], 4);
    char *many = malloc(3 << 20);
    memset(many, '\n', 3 << 20);
    put_bytes(path, many, 3 << 20);
    CHECK_INT(replace("", "x"), -1);
    CHECK_INT(done.failure.nlines, EDIT_LINES_TOLD);
    CHECK(done.failure.more_lines);
    free(many);
}

TEST(blanks_around_it)
{
    begin();
    PUT("if (a)\n    b();\n");
    CHECK_INT(replace("\n\nb();\n\n", "\n\nc();\n\n"), 0);
    CHECK_FILE("if (a)\n    c();\n");
    CHECK_INT(apply((struct edit){.kind = EDIT_REPLACE,
                                  .old = STR(" \nc()"),
                                  .text = STR(" d() "),
                                  .strip_old = true}),
              0);
    CHECK_FILE("if (a)\n     d() ;\n");
    CHECK_INT(apply((struct edit){
                  .kind = EDIT_REPLACE, .old = STR("\n\nd()"), .text = STR("e")}),
              -1);
    CHECK_INT(done.failure.why, EDIT_NO_MATCH);
}

/* ---- inserting ---- */

TEST(lines_go_in)
{
    begin();
    PUT("1\n2\n");
    CHECK_INT(insert(0, "0"), 0);
    CHECK_FILE("0\n1\n2\n");
    CHECK_INT(done.line, 1);
    CHECK_INT(done.added, 1);
    CHECK_INT(insert(3, "a\nb\n"), 0);
    CHECK_FILE("0\n1\n2\na\nb\n\n");
    CHECK_INT(done.added, 3);
    CHECK_INT(insert(1, ""), 0);
    CHECK_FILE("0\n\n1\n2\na\nb\n\n");
    CHECK_INT(insert(8, "x"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_LINE);
    CHECK_INT(done.failure.count, 7);
    CHECK_INT(insert(-1, "x"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_LINE);
}

TEST(behind_a_line_without_an_end)
{
    begin();
    PUT("1\n2");
    CHECK_INT(insert(2, "3"), 0);
    CHECK_FILE("1\n2\n3\n");
    PUT("");
    CHECK_INT(insert(1, "x"), -1);
    CHECK_INT(insert(0, "x"), 0);
    CHECK_FILE("x\n");
}

/* ---- whole lines ---- */

static int lines_become(int64_t from, int64_t to, const char *text)
{
    return apply(
        (struct edit){.kind = EDIT_LINES, .from = from, .to = to, .text = str_of(text)});
}

TEST(lines_are_replaced)
{
    begin();
    PUT("1\n2\n3");
    CHECK_INT(lines_become(2, 2, "a\nb"), 0);
    CHECK_FILE("1\na\nb\n3");
    CHECK_INT(done.line, 2);
    CHECK_INT(done.added, 2);
    CHECK_INT(lines_become(1, 3, "x\n"), 0);
    CHECK_FILE("x\n3");
    CHECK_INT(lines_become(3, 2, "end"), 0); /* behind the last one */
    CHECK_FILE("x\n3\nend\n");
    CHECK_INT(lines_become(1, 0, "0"), 0); /* before the first one */
    CHECK_FILE("0\nx\n3\nend\n");
    CHECK_INT(lines_become(2, 4, ""), 0);
    CHECK_FILE("0\n");
    CHECK_INT(lines_become(0, 0, "x"), -1);
    CHECK_INT(lines_become(3, 2, "x"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_LINE);
    CHECK_INT(done.failure.count, 1);
    CHECK_INT(lines_become(1, 2, "x"), -1);
    CHECK_FILE("0\n");
    CHECK_INT(undo(), 0);
    CHECK_FILE("0\nx\n3\nend\n");
}

/* ---- creating ---- */

TEST(a_new_file)
{
    struct stat st;
    begin();
    umask(077);
    CHECK_INT(create("text\r\nand\n"), 0);
    CHECK_FILE("text\r\nand\n");
    CHECK_STR(after(), "text\nand\n");
    CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0640);
    CHECK_INT(create("other"), -1);
    CHECK_INT(done.failure.e.code, ERR_EXISTS);
    CHECK_FILE("text\r\nand\n");
    snprintf(path, sizeof(path), "%s", in_dir("no/file"));
    CHECK_INT(create("x"), -1);
    CHECK_INT(done.failure.e.code, ERR_NOTFOUND);
    CHECK(access(in_dir("no"), F_OK) < 0);
    snprintf(path, sizeof(path), "%s", in_dir(""));
    CHECK_INT(create("x"), -1);
    CHECK_INT(done.failure.e.code, ERR_EXISTS);
}

/* ---- what files are made of ---- */

TEST(line_ends_stay)
{
    begin();
    PUT("1\r\n2\r\n3\r\n");
    CHECK_INT(replace("2\n3", "two\nand\r\nthree"), 0);
    CHECK_FILE("1\r\ntwo\r\nand\r\nthree\r\n");
    CHECK_STR(before(), "1\n2\n3\n");
    CHECK_STR(after(), "1\ntwo\nand\nthree\n");
    CHECK_INT(insert(4, "4\n5"), 0);
    CHECK_FILE("1\r\ntwo\r\nand\r\nthree\r\n4\r\n5\r\n");
    CHECK_INT(replace("1\r\ntwo", "x"), 0);
    CHECK_FILE("x\r\nand\r\nthree\r\n4\r\n5\r\n");

    PUT("1\r2\r3");
    CHECK_INT(insert(3, "4"), 0);
    CHECK_FILE("1\r2\r3\r4\r");

    PUT("1\r\n2\n3\n\r4\n\n\r\n5");
    CHECK_INT(replace("4", "four\n"), 0);
    CHECK_FILE("1\r\n2\n3\n\rfour\n\n\n\r\n5");
    CHECK_INT(replace("\n5", "\n6"), 0);
    CHECK_FILE("1\r\n2\n3\n\rfour\n\n\n\n6");

    /* Two line ends of different kinds do not become one. */
    PUT("1\n2\n3\r4");
    CHECK_INT(replace("4", "\n4"), 0);
    CHECK_FILE("1\n2\n3\n\n4");
    PUT("1\r2\r3\n4");
    CHECK_INT(replace("3", "3\n"), 0);
    CHECK_FILE("1\r2\r3\r\r4");
    CHECK_STR(after(), "1\n2\n3\n\n4");
    /* Unless they are asked for. */
    PUT("1\n2\n");
    CHECK_INT(replace("1", "1\r"), 0);
    CHECK_FILE("1\r\n2\n");
    CHECK_STR(after(), "1\n2\n");

    PUT("1\n2\n");
    CHECK_INT(replace("2", "a\r\nb"), 0);
    CHECK_FILE("1\na\r\nb\n");
}

TEST(encodings_stay)
{
    begin();
    PUT("\xef\xbb\xbf"
        "a\xc3\xa9\n");
    CHECK_INT(replace("\xc3\xa9", "\xe2\x82\xac"), 0);
    CHECK_STR(before(), "a\xc3\xa9\n");
    CHECK_FILE("\xef\xbb\xbf"
               "a\xe2\x82\xac\n");

    PUT("caf\xe9\nth\xe9\n");
    CHECK_INT(replace("caf\xc3\xa9", "t\xc3\xa9"), 0);
    CHECK_STR(after(), "t\xc3\xa9\nth\xc3\xa9\n");
    CHECK_FILE("t\xe9\nth\xe9\n");
    CHECK_INT(insert(0, "\xe2\x82\xac"), 0);
    CHECK_FILE("\xe2\x82\xac\nt\xc3\xa9\nth\xc3\xa9\n");

    PUT("\xff\xfe"
        "a\0\r\0\n\0\x3d\xd8\0\xde"
        "b\0");
    CHECK_INT(replace("\xf0\x9f\x98\x80"
                      "b",
                      "\xf0\x9f\x98\x81\n"),
              0);
    CHECK_STR(before(), "a\n\xf0\x9f\x98\x80"
                        "b");
    CHECK_FILE("\xff\xfe"
               "a\0\r\0\n\0\x3d\xd8\x01\xde\r\0\n\0");

    PUT("\xfe\xff\0a\0\n");
    CHECK_INT(insert(1, "\xc3\xa9"), 0);
    CHECK_FILE("\xfe\xff\0a\0\n\0\xe9\0\n");
}

#define MORE "\xc3\xa9\xc3\xa9\xc3\xa9"

TEST(bytes_that_are_not_utf8_are_kept)
{
    begin();
    PUT("\xd0\x9f\n\xff two\n\xf4\x8f\xbe\x80\xc3\xa9\xc3\xa9\xc3\xa9" MORE);
    CHECK_INT(replace("\xd0\x9f", "\xe2\x82\xac"), 0);
    CHECK_FILE("\xe2\x82\xac\n\xff two\n\xf4\x8f\xbe\x80\xc3\xa9\xc3\xa9\xc3\xa9" MORE);
    CHECK_INT(replace("\xf4\x8f\xbf\xbf two", "2"), 0); /* it stands for 0xff */
    CHECK_FILE("\xe2\x82\xac\n2\n\xf4\x8f\xbe\x80\xc3\xa9\xc3\xa9\xc3\xa9" MORE);

    PUT("one\n\xff\ntwo\n");
    CHECK_INT(replace("two", "2"), 0);
    CHECK_FILE("one\n\xff\n2\n");
}

TEST(what_is_no_text)
{
    begin();
    static const struct {
        const char *bytes;
        size_t n;
    } none[] = {{"a\0b", 3},
                {"\x7f"
                 "ELF\1\1\1\0",
                 8},
                {"\xff\xff\xff", 3},
                {"\xff\xfe"
                 "a",
                 3},
                {"\xff\xfe\0\xd8"
                 "a\0",
                 6},
                {"\xff\xfe\0\xdc", 4},
                {"\xff\xfe\0\0", 4}};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        put_bytes(path, none[i].bytes, none[i].n);
        CHECK_INT(replace("a", "b"), -1);
        CHECK_INT(done.failure.why, EDIT_BINARY);
        CHECK(strstr(done.failure.e.text, path));
    }
    /* Zeros behind the head are no hindrance: they stay. */
    char *p = malloc(4000);
    memset(p, 'a', 4000);
    memcpy(p + 2000, "\0X", 2);
    put_bytes(path, p, 4000);
    CHECK_INT(replace("X", "YY"), 0);
    struct buf b = BUF_INIT(8000);
    CHECK_INT(file_read(path, 8000, &b, NULL), 0);
    CHECK(b.n == 4001 && memcmp(b.p + 1999, "a\0YYa", 5) == 0);
    buf_release(&b);
    free(p);
}

TEST(what_is_no_file)
{
    begin();
    CHECK_INT(replace("a", "b"), -1);
    CHECK_INT(done.failure.why, EDIT_FILE);
    CHECK_INT(done.failure.e.code, ERR_NOTFOUND);
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK_INT(replace("a", "b"), -1);
    CHECK_INT(done.failure.e.code, ERR_UNSUPPORTED);
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.e.code, ERR_UNSUPPORTED);
    snprintf(path, sizeof(path), "%s", t_dir());
    CHECK_INT(insert(0, "b"), -1);
    CHECK_INT(done.failure.e.code, ERR_INVALID);
    snprintf(path, sizeof(path), "%s", in_dir("large"));
    PUT("a");
    CHECK_INT(truncate(path, EDIT_FILE_MAX + 1), 0);
    CHECK_INT(replace("a", "b"), -1);
    CHECK_INT(done.failure.why, EDIT_TOO_LARGE);
    CHECK_INT(done.failure.size, EDIT_FILE_MAX + 1);
}

TEST(the_largest_file)
{
    begin();
    char *p = malloc(EDIT_FILE_MAX);
    memset(p, '\xe9', EDIT_FILE_MAX);
    memcpy(p + EDIT_FILE_MAX - 4, "\r\nX\r", 4);
    put_bytes(path, p, EDIT_FILE_MAX);
    CHECK_INT(replace("X", "Y"), 0);
    CHECK_INT(done.line, 2);
    CHECK_INT(undo(), 0);
    struct buf b = BUF_INIT(EDIT_FILE_MAX);
    CHECK_INT(file_read(path, b.max, &b, NULL), 0);
    CHECK(b.n == EDIT_FILE_MAX && memcmp(b.p, p, b.n) == 0);
    buf_release(&b);
    free(p);
}

TEST(mode_and_links_stay)
{
    struct stat st;
    char link[400];
    begin();
    PUT("#!/bin/sh\n");
    CHECK_INT(chmod(path, 0751), 0);
    snprintf(link, sizeof(link), "%s", in_dir("link"));
    CHECK_INT(symlink("file", link), 0);
    snprintf(path, sizeof(path), "%s", link);
    CHECK_INT(insert(1, "true"), 0);
    CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(stat(link, &st) == 0 && (st.st_mode & 07777) == 0751);
    CHECK_FILE("#!/bin/sh\ntrue\n");
    CHECK_INT(undo(), 0);
    CHECK(stat(link, &st) == 0 && (st.st_mode & 07777) == 0751);
    CHECK_FILE("#!/bin/sh\n");
}

/* ---- undo ---- */

TEST(back_step_by_step)
{
    begin();
    CHECK_INT(create("1\n"), 0);
    CHECK_INT(replace("1", "2"), 0);
    CHECK_INT(insert(1, "3"), 0);
    CHECK_INT(undo(), 0);
    CHECK_STR(before(), "2\n3\n");
    CHECK_STR(after(), "2\n");
    CHECK_FILE("2\n");
    CHECK_INT(undo(), 0);
    CHECK_FILE("1\n");
    /* Of what was created, the text itself is kept. */
    CHECK_INT(undo(), 0);
    CHECK_FILE("1\n");
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
}

TEST(bytes_come_back)
{
    begin();
    PUT("\xff\xfe"
        "a\0\r\0\n\0"
        "b\0\n\0");
    CHECK_INT(replace("a", "x"), 0);
    CHECK_INT(undo(), 0);
    CHECK_STR(after(), "a\nb\n");
    CHECK_FILE("\xff\xfe"
               "a\0\r\0\n\0"
               "b\0\n\0");
}

TEST(each_path_has_its_own)
{
    char other[400];
    begin();
    CHECK_INT(create("1"), 0);
    snprintf(other, sizeof(other), "%s", in_dir("other"));
    memcpy(path, other, sizeof(other));
    PUT("x");
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
    CHECK_INT(replace("x", "y"), 0);
    snprintf(path, sizeof(path), "%s", in_dir("file"));
    CHECK_INT(undo(), 0);
    CHECK_FILE("1");
}

TEST(the_next_worker_undoes)
{
    begin();
    PUT("0");
    for (int i = 0; i < EDIT_UNDO_MAX + 5; i++) {
        char a[8], b[8];
        snprintf(a, sizeof(a), "%d", i);
        snprintf(b, sizeof(b), "%d", i + 1);
        CHECK_INT(replace(a, b), 0);
        if (i % 4 == 0)
            begin();
    }
    begin();
    CHECK_FILE("15");
    for (int i = EDIT_UNDO_MAX + 4; i >= 5; i--) {
        char want[8];
        snprintf(want, sizeof(want), "%d", i);
        CHECK_INT(undo(), 0);
        CHECK_STR(after(), want);
        if (i % 3 == 0)
            begin();
    }
    CHECK_INT(undo(), -1);
    CHECK_FILE("5");
}

static size_t count_kept(void)
{
    char command[600];
    snprintf(command, sizeof(command), "ls %s | wc -l", kept);
    FILE *f = popen(command, "r");
    unsigned n = 0;
    CHECK(f && fscanf(f, "%u", &n) == 1);
    pclose(f);
    return n;
}

/* Makes what is kept larger, without a byte that would have to be written. */
static void stretch_kept(off_t size)
{
    struct dirent *e;
    DIR *d = opendir(kept);
    CHECK(d);
    while ((e = readdir(d))) {
        char file[700];
        snprintf(file, sizeof(file), "%s/%s", kept, e->d_name);
        if (e->d_name[0] != '.')
            CHECK_INT(truncate(file, size), 0);
    }
    closedir(d);
}

/* All together are bounded too, by bytes: the oldest go, whosever they are. */
TEST(the_oldest_go)
{
    enum { SIZE = 8 << 20, FIT = EDIT_KEPT_BYTES / SIZE - 1 };
    begin();
    for (size_t i = 0; i < FIT + 3; i++) {
        snprintf(path, sizeof(path), "%s/%zu", t_dir(), i);
        PUT("a");
        CHECK_INT(replace("a", "b"), 0);
    }
    stretch_kept(SIZE);
    edits_free(edits);
    edits = edits_new(kept);
    snprintf(path, sizeof(path), "%s/last", t_dir());
    PUT("a");
    CHECK_INT(replace("a", "b"), 0);
    CHECK_INT(count_kept(), FIT + 1);
    CHECK_INT(undo(), 0);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%zu", t_dir(), i);
        CHECK_INT(undo(), -1); /* what was stretched is no text any more */
        CHECK_INT(done.failure.why == EDIT_NO_HISTORY, i < 3);
    }
}

TEST(nothing_is_kept_without_a_place)
{
    begin();
    edits_free(edits);
    edits = edits_new(NULL);
    CHECK_INT(create("1"), 0);
    CHECK_INT(replace("1", "2"), 0);
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
    CHECK_FILE("2");
    edits_free(edits);
    edits = edits_new("/proc/none");
    CHECK_INT(replace("2", "3"), 0);
    CHECK_INT(undo(), -1);
    CHECK_FILE("3");
}

/* What lies in the folder and is none of ours, or broken. */
TEST(odd_things_in_the_folder)
{
    begin();
    CHECK_INT(mkdir(kept, 0700), 0);
    static const char *const names[] = {"last", "x.1", ".od-kept",
                                        "0123456789abcdef0123456789abcdef.x",
                                        "0123456789abcdef0123456789abcdef.7"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char file[700];
        snprintf(file, sizeof(file), "%s/%s", kept, names[i]);
        put_bytes(file, "a b c d e\n\n", i);
    }
    CHECK_INT(create("1"), 0);
    CHECK_INT(replace("1", "2"), 0);
    begin();
    CHECK_INT(undo(), 0);
    CHECK_FILE("1");
}

/* ---- again, after a worker's end ---- */

struct step {
    struct edit q;
    const char *was, *is; /* the file; NULL: none */
};

static const struct step steps[] = {
    {{.kind = EDIT_CREATE, .text = {"new\n", sizeof("new\n") - 1}, .mode = 0600},
     NULL,
     "new\n"},
    {{.kind = EDIT_REPLACE,
      .old = {"a", sizeof("a") - 1},
      .text = {"aa", sizeof("aa") - 1}},
     "a\n",
     "aa\n"},
    {{.kind = EDIT_INSERT, .line = 1, .text = {"a", sizeof("a") - 1}}, "a\n", "a\na\n"},
    {{.kind = EDIT_WRITE, .text = {"b", sizeof("b") - 1}}, "a\n", "b"},
    {{.kind = EDIT_REPLACE,
      .old = {"  a", sizeof("  a") - 1},
      .text = {"  b", sizeof("  b") - 1},
      .bend = true},
     "\ta\n",
     "\tb\n"},
    {{.kind = EDIT_REPLACE,
      .old = {"a", sizeof("a") - 1},
      .text = {"aa", sizeof("aa") - 1},
      .all = true},
     "a\na a\n",
     "aa\naa aa\n"},
};

static void check_step(const struct step *s, bool again)
{
    CHECK_INT(done.again, again);
    CHECK_STR(before(), s->was ? s->was : "");
    CHECK_STR(after(), s->is);
    struct buf b = BUF_INIT(1000);
    CHECK_INT(file_read(path, 1000, &b, NULL), 0);
    CHECK_STR(buf_z(&b), s->is);
    buf_release(&b);
}

static void put_was(const struct step *s)
{
    if (s->was)
        put_bytes(path, s->was, strlen(s->was));
    else
        unlink(path);
}

TEST(a_done_edit_is_not_done_again)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct edit q = steps[i].q;
        q.token = "abc123";
        begin();
        put_was(&steps[i]);
        CHECK_INT(apply(q), 0);
        check_step(&steps[i], false);
        int64_t line = done.line, added = done.added;
        begin();
        CHECK_INT(apply(q), 0);
        check_step(&steps[i], true);
        CHECK_INT(done.line, line);
        CHECK_INT(done.added, added);
        /* One state is kept, not two. */
        CHECK_INT(undo(), 0);
        CHECK_INT(undo(), -1);
        unlink(path);
    }
}

/* Ended when the record and the state were written, and the file was not. */
TEST(a_begun_edit_is_done_once)
{
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct edit q = steps[i].q;
        q.token = "abc123";
        begin();
        put_was(&steps[i]);
        CHECK_INT(apply(q), 0);
        put_was(&steps[i]);
        begin();
        CHECK_INT(apply(q), 0);
        check_step(&steps[i], false);
        CHECK_INT(undo(), 0);
        CHECK_INT(undo(), -1);
        CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
        unlink(path);
    }
}

TEST(the_same_edit_may_be_meant_twice)
{
    struct edit q = {.kind = EDIT_INSERT, .text = STR("x"), .token = "abc123"};
    begin();
    PUT("");
    CHECK_INT(apply(q), 0);
    CHECK_INT(apply(q), 0);
    CHECK_FILE("x\nx\n");
    /* Another one came between: the caller has had its answer. */
    begin();
    CHECK_INT(insert(0, "y"), 0);
    CHECK_INT(undo(), 0);
    CHECK_INT(apply(q), 0);
    CHECK(!done.again);
    CHECK_FILE("x\nx\nx\n");
}

TEST(an_undo_is_not_done_again)
{
    struct edit q = {.kind = EDIT_UNDO, .token = "abc123"};
    begin();
    PUT("1");
    CHECK_INT(replace("1", "2"), 0);
    CHECK_INT(replace("2", "3"), 0);
    CHECK_INT(apply(q), 0);
    begin();
    CHECK_INT(apply(q), 0);
    CHECK(done.again);
    CHECK_STR(before(), "3");
    CHECK_STR(after(), "2");
    CHECK_FILE("2");
    CHECK_INT(apply(q), 0);
    CHECK(!done.again);
    CHECK_FILE("1");
    CHECK_INT(undo(), -1);
}

/* ---- every place, in another form ---- */

static int replace_all(const char *old, const char *text)
{
    return apply((struct edit){.kind = EDIT_REPLACE,
                               .old = str_of(old),
                               .text = str_of(text),
                               .bend = true,
                               .all = true});
}

static int replace_lines(const char *old, const char *text)
{
    return apply((struct edit){.kind = EDIT_REPLACE,
                               .old = str_of(old),
                               .text = str_of(text),
                               .lines = true});
}

TEST(whole_lines_are_replaced)
{
    begin();
    PUT("support = 80\nport = 8080\nport = 80\n\nport = 80");
    CHECK_INT(replace_lines("port = 80\n\nport", "x"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_MATCH);
    CHECK_INT(replace_lines("port = 80", "x"), -1);
    CHECK_INT(done.failure.why, EDIT_MATCHES);
    CHECK_INT(done.failure.count, 2);
    CHECK_INT(done.failure.lines[0], 3);
    CHECK_INT(done.failure.lines[1], 5);
    CHECK_INT(replace_lines("port = 80\n\nport = 80", "port = 81"), 0);
    CHECK_FILE("support = 80\nport = 8080\nport = 81");
    CHECK_INT(replace_lines("port = 8080\n", ""), 0);
    CHECK_FILE("support = 80\nport = 81");
    CHECK_INT(replace_lines("support = 80", "a"), 0);
    CHECK_FILE("a\nport = 81");
}

TEST(every_place_is_replaced)
{
    begin();
    PUT("a b\r\na a\n\nb\r");
    CHECK_INT(replace_all("a", "ccc"), 0);
    CHECK_FILE("ccc b\r\nccc ccc\n\nb\r");
    CHECK_INT(done.places, 3);
    CHECK_INT(done.failure.nlines, 2);
    CHECK_INT(done.failure.lines[0], 1);
    CHECK_INT(done.failure.lines[1], 2);
    CHECK_STR(match_name(done.matched), "exact");
    /* Line ends next to the places stay what they are; new ones are the usual ones. */
    CHECK_INT(replace_all("c b", "x\ny"), 0);
    CHECK_FILE("ccx\ny\r\nccc ccc\n\nb\r");
    PUT("a\r\nb\r\na\r\nb\r\n");
    CHECK_INT(replace_all("a\nb\n", "c\n"), 0);
    CHECK_FILE("c\r\nc\r\n");
    CHECK_STR(match_name(done.matched), "eol");
    PUT("aaaaa");
    CHECK_INT(replace_all("aa", "a"), 0);
    CHECK_FILE("aaa");
    CHECK_INT(replace_all("x", "a"), -1);
    CHECK_INT(done.failure.why, EDIT_NO_MATCH);
}

TEST(so_many_places_are_not_replaced)
{
    struct buf b = BUF_INIT(1 << 20);
    begin();
    for (int i = 0; i <= EDIT_PLACES_MAX; i++)
        buf_addz(&b, "a\n");
    put_bytes(path, b.p, b.n);
    CHECK_INT(replace_all("a", "b"), -1);
    CHECK_INT(done.failure.e.code, ERR_LIMIT);
    buf_truncate(&b, b.n - 2);
    put_bytes(path, b.p, b.n);
    CHECK_INT(replace_all("a", "b"), 0);
    CHECK_INT(done.places, EDIT_PLACES_MAX);
    buf_release(&b);
}

TEST(several_places_are_counted)
{
    begin();
    PUT("a a\na\n");
    CHECK_INT(replace("a", "b"), -1);
    CHECK_INT(done.failure.why, EDIT_MATCHES);
    CHECK_INT(done.failure.count, 3);
    CHECK_INT(done.failure.nlines, 2);
}

TEST(a_form_that_differs_is_bent)
{
    begin();
    PUT("if a:\r\n\tb\r\n");
    CHECK_INT(replace_all("if a:\n    b\n", "if a:\n    c\n    d\n"), 0);
    CHECK_FILE("if a:\r\n\tc\r\n\td\r\n");
    CHECK_STR(match_name(done.matched), "indent");
    CHECK_STR(done.bent, "tabs put for spaces in both strings");
    CHECK_INT(done.line, 1);
    CHECK_INT(undo(), 0);
    CHECK_FILE("if a:\r\n\tb\r\n");
    /* Only where it is asked for. */
    CHECK_INT(replace("if a:\n    b\n", "x"), -1);
}

/* ---- write and back ---- */

static int put_whole(const char *text)
{
    return apply((struct edit){.kind = EDIT_WRITE, .text = str_of(text), .mode = 0640});
}

static int take_back(void)
{
    return apply((struct edit){.kind = EDIT_BACK, .mode = 0640});
}

TEST(what_is_written_is_taken_back)
{
    begin();
    CHECK_INT(put_whole("one"), 0);
    CHECK(done.created);
    CHECK_INT(put_whole("two"), 0);
    CHECK(!done.created);
    CHECK_STR(before(), "one");
    PUT("\0binary\xff");
    CHECK_INT(put_whole("three"), 0);
    CHECK_INT(edit_undoable(edits, path), 3);
    CHECK_INT(take_back(), 0);
    CHECK_FILE("\0binary\xff");
    CHECK(done.kept_at > 0 && !done.created);
    begin(); /* the next worker knows as much */
    CHECK_INT(take_back(), 0);
    CHECK_FILE("one");
    CHECK_INT(take_back(), 0);
    CHECK(done.created);
    CHECK_INT(access(path, F_OK), -1);
    CHECK_INT(edit_undoable(edits, path), 0);
    CHECK_INT(take_back(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
    /* A file that was removed by someone else comes back. */
    PUT("a");
    CHECK_INT(replace("a", "b"), 0);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(take_back(), 0);
    CHECK_FILE("a");
    struct stat st;
    CHECK_INT(stat(path, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0640);
    /* The editor's undo has no word for a file that was not there. */
    CHECK_INT(unlink(path), 0);
    CHECK_INT(put_whole("new"), 0);
    CHECK_INT(undo(), -1);
    CHECK_INT(done.failure.why, EDIT_NO_HISTORY);
    CHECK_FILE("new");
}

TEST(making_a_file_is_not_done_again)
{
    struct edit q = {
        .kind = EDIT_WRITE, .text = STR("x"), .token = "abc123", .mode = 0644};
    begin();
    CHECK_INT(apply(q), 0);
    begin();
    CHECK_INT(apply(q), 0);
    CHECK(done.again && done.created);
    CHECK_STR(before(), "");
    CHECK_INT(edit_undoable(edits, path), 1);
    q = (struct edit){.kind = EDIT_BACK, .token = "abc124"};
    CHECK_INT(apply(q), 0);
    CHECK_INT(access(path, F_OK), -1);
    begin();
    CHECK_INT(apply(q), 0);
    CHECK(done.again && done.created);
    CHECK_INT(edit_undoable(edits, path), 0);
    /* A repeated request undoes only one of two states. */
    CHECK_INT(put_whole("1"), 0);
    CHECK_INT(put_whole("2"), 0);
    q.token = "abc125";
    CHECK_INT(apply(q), 0);
    begin();
    CHECK_INT(apply(q), 0);
    CHECK(done.again);
    CHECK_FILE("1");
}

TEST(a_file_that_was_seen)
{
    begin();
    PUT("1");
    CHECK(!edits_changed(edits, path));
    edits_seen(edits, path);
    CHECK(!edits_changed(edits, path));
    PUT("22");
    CHECK(edits_changed(edits, path));
    edits_seen(edits, path);
    CHECK(!edits_changed(edits, path));
    CHECK_INT(unlink(path), 0);
    CHECK(!edits_changed(edits, path));
    edits_seen(NULL, path);
    CHECK(!edits_changed(NULL, path));
}

/* ---- looking ---- */

TEST(lines)
{
    struct str t = STR("1\n2\n3");
    CHECK_INT(edit_count_lines(STR("")), 0);
    CHECK_INT(edit_count_lines(STR("\n")), 1);
    CHECK_INT(edit_count_lines(t), 3);
    CHECK_MEM(edit_lines(t, 1, 1).p, edit_lines(t, 1, 1).n, "1\n");
    CHECK_MEM(edit_lines(t, 2, 9).p, edit_lines(t, 2, 9).n, "2\n3");
    CHECK_MEM(edit_lines(t, -5, 2).p, edit_lines(t, -5, 2).n, "1\n2\n");
    CHECK_INT(edit_lines(t, 4, 9).n, 0);
    CHECK_INT(edit_lines(t, 3, 2).n, 0);
    CHECK_INT(edit_lines(str_n(NULL, 0), 1, 1).n, 0);
    CHECK_INT(edit_line_of(t, 0), 1);
    CHECK_INT(edit_line_of(t, 2), 2);
    CHECK_INT(edit_line_of(t, 99), 3);
}

static void make(const char *name, bool dir)
{
    if (dir)
        CHECK_INT(mkdir(in_dir(name), 0700), 0);
    else
        put_bytes(in_dir(name), "", 0);
}

static void check_tree(const char *at, bool by_level, const char *want, size_t hidden)
{
    struct buf out = BUF_INIT(64 << 10);
    struct edit_tree tree;
    char text[2000];
    CHECK_INT(edit_tree(at, by_level, &out, &tree, NULL), 0);
    size_t n = 0;
    for (const char *c = want; *c; c++) {
        if (*c == '@')
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", t_dir());
        else
            text[n++] = *c;
    }
    text[n] = '\0';
    CHECK_STR(buf_z(&out), text);
    CHECK_INT(tree.hidden, hidden);
    CHECK(!tree.more);
    buf_release(&out);
}

TEST(a_tree)
{
    make("sub", true);
    make("sub/deep", true);
    make("sub/deep/er", false);
    make("sub/.hidden", false);
    make("sub-a", false);
    make(".git", true);
    make(".git/x", false);
    make(".b", false);
    CHECK_INT(symlink("sub", in_dir("link")), 0);
    CHECK_INT(symlink("nowhere", in_dir("broken")), 0);
    check_tree(t_dir(), false,
               "@/\n@/broken\n@/link/\n@/link/deep/\n@/sub/\n@/sub-a\n@/sub/deep/", 2);
    check_tree(t_dir(), true,
               "@/\n@/broken\n@/link/\n@/link/deep/\n@/sub/\n@/sub/deep/\n@/sub-a", 2);
    struct err e = ERR_INIT;
    struct edit_tree tree;
    struct buf out = BUF_INIT(5);
    CHECK_INT(edit_tree(t_dir(), false, &out, &tree, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(out.n, 0);
    CHECK_INT(edit_tree(in_dir("none"), false, &out, &tree, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(edit_tree(in_dir("sub-a"), false, &out, &tree, &e), -1);
    buf_release(&out);
}

TEST(a_large_tree_ends)
{
    struct buf out = BUF_INIT(8 << 20);
    struct edit_tree tree;
    make("d", true);
    for (int i = 0; i < EDIT_TREE_MAX + 10; i++) {
        char name[40];
        snprintf(name, sizeof(name), "d/%d", i);
        int fd = open(in_dir(name), O_CREAT | O_WRONLY, 0600);
        CHECK(fd >= 0 && close(fd) == 0);
    }
    CHECK_INT(edit_tree(t_dir(), false, &out, &tree, NULL), 0);
    CHECK(tree.more);
    CHECK_INT(edit_count_lines(buf_str(&out)), EDIT_TREE_MAX + 1);
    buf_release(&out);
}

T_MAIN
