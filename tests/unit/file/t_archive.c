/* SPDX-License-Identifier: MIT */
/*
 * Folders out and in, as jobs: what is in the archive and what is not, names
 * that want to lead out, links in the way, and that no half of a file stays.
 */
#define T_LIMIT_S 60
#include "file/archive.h"

#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>

static struct loop *loop;
static struct job *job;
static int dones;
static struct archive_result result;
static struct buf out = BUF_INIT(256 << 20), warnings = BUF_INIT(1 << 20);
static struct err err;
static size_t take_most; /* 0: all */
static bool cancel_on_data;
static char work[300];

/* ---- the file tree ---- */

static const char *in(const char *name)
{
    static char path[4][400];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof(path[at]), "%s/%s", t_dir(), name);
    return path[at];
}

static bool there(const char *name)
{
    struct stat st;
    return lstat(in(name), &st) == 0;
}

/* ---- jobs ---- */

static void resume(struct timer *t)
{
    (void)t;
    job_resume(job);
}

static struct timer resume_timer;

static size_t on_data(void *arg, struct str bytes)
{
    CHECK(arg == work);
    CHECK_INT(dones, 0);
    size_t n = take_most && take_most < bytes.n ? take_most : bytes.n;
    CHECK_INT(buf_add(&out, bytes.p, n), 0);
    if (cancel_on_data) {
        job_cancel(job);
        loop_stop(loop);
    } else if (n < bytes.n) {
        timer_begin(loop, &resume_timer, 0, resume);
    }
    return n;
}

static void on_done(void *arg, const struct archive_result *r)
{
    CHECK(arg == work);
    dones++;
    result = *r;
    buf_reset(&warnings);
    buf_adds(&warnings, r->warnings);
    loop_stop(loop);
}

static void run(void)
{
    CHECK_INT(loop_run(loop), 0);
    CHECK_INT(dones, 1);
}

static void prepare(void)
{
    if (!loop)
        loop = loop_new();
    dones = 0;
    err = (struct err)ERR_INIT;
    buf_reset(&out);
}

static void zip(struct archive_zip_spec spec)
{
    prepare();
    job = archive_zip(loop, &spec, on_data, on_done, work, &err);
    if (!job)
        T_FAIL("%s", err.text);
    run();
    if (result.err.code)
        T_FAIL("%s", result.err.text);
}

/* An archive in memory into the folder "to". */
static void unzip_fd(int fd, struct archive_unzip_spec spec)
{
    prepare();
    spec.fd = fd;
    spec.dir = spec.dir ? spec.dir : in("to");
    job = archive_unzip(loop, &spec, on_done, work, &err);
    close(fd);
    if (!job)
        T_FAIL("%s", err.text);
}

static const struct archive_unzip_spec plain = {.uid = (uid_t)-1, .gid = (gid_t)-1};

static int memory_file(struct str bytes)
{
    int fd = memfd_create("t_archive", MFD_CLOEXEC);
    CHECK_INT(write(fd, bytes.p, bytes.n), bytes.n);
    return fd;
}

static void unzip(struct str archive, struct archive_unzip_spec spec)
{
    unzip_fd(memory_file(archive), spec);
    run();
}

static void check_ok(void)
{
    if (result.err.code)
        T_FAIL("%s", result.err.text);
}

/* ---- archives of the tests' own ---- */

static struct buf made = BUF_INIT(64 << 20);
static struct zip_writer *writer;

static int put(void *arg, struct str bytes, struct err *e)
{
    (void)arg, (void)e;
    return buf_adds(&made, bytes);
}

static void add(const char *name, const char *text, mode_t mode)
{
    if (!writer) {
        buf_reset(&made);
        writer = zip_writer_new(put, NULL, -1);
    }
    struct zip_meta m = {.name = str_of(name), .mode = mode, .level = 6};
    CHECK_INT(zip_begin(writer, &m, &err), 0);
    if (text)
        CHECK_INT(zip_add(writer, str_of(text), &err), 0);
    CHECK_INT(zip_end(writer, &err), 0);
}

static struct str finish(void)
{
    CHECK_INT(zip_finish(writer, &err), 0);
    zip_writer_free(writer);
    writer = NULL;
    return buf_str(&made);
}

/* The names in `out`, sorted, a line each, folders too. */
static const char *names(void)
{
    static struct buf b = BUF_INIT(1 << 20);
    static char *list[1000];
    int n = 0, fd = memory_file(buf_str(&out));
    struct zip_entry x;
    struct zip_reader *r = zip_open(fd, NULL, &err);
    if (!r)
        T_FAIL("%s", err.text);
    while (zip_next(r, &x, &err) > 0)
        list[n++] = strdup(x.name.p);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (strcmp(list[k], list[i]) < 0) {
                char *t = list[i];
                list[i] = list[k];
                list[k] = t;
            }
    buf_reset(&b);
    for (int i = 0; i < n; i++) {
        buf_addf(&b, "%s\n", list[i]);
        free(list[i]);
    }
    zip_close(r);
    close(fd);
    return buf_z(&b);
}

/* ---- packing ---- */

TEST(a_folder_by_names_relative_to_it)
{
    t_sh("mkdir -p from/a/b from/empty; echo 1 >from/one; echo 2 >from/a/two; "
         "seq 100000 >from/a/b/three; : >from/nothing");
    zip((struct archive_zip_spec){.path = in("from")});
    CHECK_STR(names(), "a/b/three\na/two\nnothing\none\n");
    CHECK_INT(result.files, 4);
    CHECK_INT(result.bytes, 588895 + 4);
    CHECK_INT(result.warnings_n, 0);
    zip((struct archive_zip_spec){.path = in("from/"), .folders = true, .level = 6});
    CHECK_STR(names(), "a/\na/b/\na/b/three\na/two\nempty/\nnothing\none\n");
    CHECK(out.n < 300000);
    loop_free(loop);
}

TEST(a_single_file_by_its_name)
{
    t_sh("echo hello >'a file'");
    zip((struct archive_zip_spec){.path = in("a file")});
    CHECK_STR(names(), "a file\n");
    loop_free(loop);
}

TEST(there_and_back)
{
    t_sh("mkdir -p from/d to; seq 50000 >from/d/seq; head -c 300000 /dev/urandom "
         ">from/noise; "
         "chmod 750 from/noise; printf x >'from/ '; ln -s d/seq from/link");
    struct archive_unzip_spec spec = plain;
    spec.modes = true;
    for (int level = 0; level < 10; level += 3) {
        zip((struct archive_zip_spec){.path = in("from"), .level = level});
        t_sh("rm -rf to; mkdir to");
        unzip(buf_str(&out), spec);
        check_ok();
        CHECK_INT(result.files, 4);
        t_sh("diff -r from to; [ ! -L to/link ]; [ \"$(stat -c %%a to/noise)\" = 750 ]");
    }
    loop_free(loop);
}

TEST(links_pipes_and_sockets)
{
    t_sh("mkdir -p from/d out; echo 1 >from/d/f; echo target >out/t; mkfifo from/fifo; "
         "ln -s ../out/t from/link; ln -s ../out from/dirlink; ln -s d from/d2; "
         "ln -s nowhere from/dangling; ln -s loop from/loop; ln -s /dev/zero from/zero");
    zip((struct archive_zip_spec){.path = in("from")});
    CHECK_STR(names(), "d/f\nlink\n");
    CHECK_INT(result.warnings_n, 2);
    CHECK(strstr(buf_z(&warnings), "cannot open dangling: No such file") != NULL);
    CHECK(strstr(buf_z(&warnings), "cannot open loop: ") != NULL);
    loop_free(loop);
}

TEST(what_the_kernel_invents_has_no_end)
{
    if (access("/proc/self/stat", R_OK) < 0)
        T_SKIP("no /proc here");
    /* A file of /proc by itself is taken, though it says it is empty. */
    zip((struct archive_zip_spec){.path = "/proc/version"});
    CHECK_STR(names(), "version\n");
    CHECK(result.bytes > 10);
    loop_free(loop);
}

TEST(what_cannot_be_packed)
{
    struct archive_zip_spec spec = {.path = in("not here")};
    prepare();
    CHECK(archive_zip(loop, &spec, on_data, on_done, work, &err) == NULL);
    CHECK_INT(err.code, ERR_NOTFOUND);
    t_sh("mkfifo pipe");
    spec.path = in("pipe");
    CHECK(archive_zip(loop, &spec, on_data, on_done, work, &err) == NULL);
    CHECK_INT(err.code, ERR_INVALID);
    CHECK(strstr(err.text, "is neither a file nor a folder") != NULL);
    loop_free(loop);
}

TEST(what_may_not_be_read_is_a_warning)
{
    if (geteuid() == 0) /* who may read everything */
        CHECK(chown(t_dir(), 65534, 65534) == 0 && setgid(65534) == 0 &&
              setuid(65534) == 0);
    t_sh("mkdir -p from/closed; echo 1 >from/a; echo 2 >from/b; chmod 0 from/b "
         "from/closed");
    zip((struct archive_zip_spec){.path = in("from")});
    t_sh("chmod 700 from/closed");
    CHECK_STR(names(), "a\n");
    CHECK_INT(result.warnings_n, 2);
    loop_free(loop);
}

TEST(what_fails_to_be_read_is_a_warning)
{
    if (access("/proc/self/mem", F_OK) < 0)
        T_SKIP("no /proc here");
    zip((struct archive_zip_spec){.path = "/proc/self/mem"});
    CHECK_STR(names(), "");
    CHECK_INT(result.warnings_n, 1);
    CHECK(strstr(buf_z(&warnings), "cannot read mem: ") != NULL);
    loop_free(loop);
}

TEST(deeper_than_can_be_followed)
{
    char name[] = "abcdefghij";
    int dir = open(t_dir(), O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 300; i++) {
        CHECK_INT(mkdirat(dir, name, 0700), 0);
        int next = openat(dir, name, O_RDONLY | O_DIRECTORY);
        close(dir);
        dir = next;
    }
    close(openat(dir, "file", O_WRONLY | O_CREAT, 0600));
    close(dir);
    zip((struct archive_zip_spec){.path = in(name)});
    CHECK_STR(names(), "");
    CHECK_INT(result.warnings_n, 1);
    CHECK(strstr(buf_z(&warnings), "is more than 256 folders deep") != NULL);
    t_sh("rm -rf abcdefghij");
    loop_free(loop);
}

/* A slow reader holds the child, and memory does not grow by what it packs. */
TEST(a_slow_reader_gets_it_all)
{
    t_sh("mkdir from to; seq 600000 >from/a; seq 300000 >from/b");
    take_most = 40000;
    zip((struct archive_zip_spec){.path = in("from")});
    CHECK_INT(result.bytes, 4088895 + 1988895);
    unzip(buf_str(&out), plain);
    check_ok();
    t_sh("diff -r from to");
    loop_free(loop);
}

static bool no_child_left(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static bool (*until)(void);
static struct timer look_timer;
static void look_again(struct timer *t)
{
    if (until())
        loop_stop(loop);
    else
        timer_begin(loop, t, 2, look_again);
}

static void run_until(bool (*cond)(void))
{
    until = cond;
    timer_begin(loop, &look_timer, 0, look_again);
    CHECK_INT(loop_run(loop), 0);
}

TEST(cancelled_while_packing)
{
    t_sh("mkdir from; seq 2000000 >from/a");
    prepare();
    cancel_on_data = true;
    struct archive_zip_spec spec = {.path = in("from")};
    job = archive_zip(loop, &spec, on_data, on_done, work, &err);
    CHECK(job != NULL);
    CHECK_INT(loop_run(loop), 0);
    run_until(no_child_left);
    CHECK_INT(dones, 0);
    loop_free(loop);
}

/* ---- unpacking ---- */

TEST(names_that_lead_out_are_kept_within)
{
    t_sh("mkdir -p x/to");
    add("../../up", "1", 0);
    add("/abs/olute", "2", 0);
    add("a/../b/./c", "3", 0);
    add("//d//e", "4", 0);
    add("..", "5", 0);
    add("../", NULL, 0);
    add("new/", NULL, 0);
    add("..a/...", "6", 0);
    struct archive_unzip_spec spec = plain;
    spec.dir = in("x/to");
    unzip(finish(), spec);
    check_ok();
    t_sh("[ \"$(cd x && find . -type f | sort | tr '\\n' ' ')\" = "
         "'./to/..a/... ./to/a/b/c ./to/abs/olute ./to/d/e ./to/up ' ]; [ -d x/to/new ]");
    CHECK_INT(result.files, 5);
    CHECK_INT(result.warnings_n, 1);
    loop_free(loop);
}

static void check_refused(enum err_code code, const char *want)
{
    CHECK_STR(result.err.text, want);
    CHECK_INT(result.err.code, code);
}

TEST(strict_refuses_them)
{
    static const char *const bad[] = {"../up", "/abs", "a/../b", "..", "a/.."};
    struct archive_unzip_spec spec = plain;
    char want[100];
    spec.strict = true;
    t_sh("mkdir to");
    for (int i = 0; i < 5; i++) {
        add(bad[i], "x", 0);
        unzip(finish(), spec);
        snprintf(want, sizeof(want), "%s leads out of the folder", bad[i]);
        check_refused(ERR_DENIED, want);
    }
    add("link", "/etc/passwd", S_IFLNK | 0777);
    unzip(finish(), spec);
    check_refused(ERR_DENIED, "link is a link");
    add("./a//b", "x", 0);
    unzip(finish(), spec);
    check_ok();
    t_sh("[ \"$(find to | sort | tr '\\n' ' ')\" = 'to to/a to/a/b ' ]");
    loop_free(loop);
}

TEST(an_entry_that_is_a_link_becomes_a_file_of_its_text)
{
    t_sh("mkdir to");
    add("evil", "/etc", S_IFLNK | 0777);
    unzip(finish(), plain);
    check_ok();
    t_sh("[ ! -L to/evil ]; [ \"$(cat to/evil)\" = /etc ]");
    /* And what is below it finds a file there. */
    add("evil/passwd", "x", 0);
    unzip(finish(), plain);
    check_refused(ERR_EXISTS, "cannot unpack evil/passwd: evil exists there and is not a "
                              "folder, or is a link to one");
    loop_free(loop);
}

TEST(links_in_the_way_are_never_followed)
{
    t_sh("mkdir to out; echo keep >out/file; ln -s ../out to/dir; ln -s ../out/file "
         "to/file");
    add("file", "new", 0);
    unzip(finish(), plain);
    check_ok();
    t_sh(
        "[ ! -L to/file ]; [ \"$(cat to/file)\" = new ]; [ \"$(cat out/file)\" = keep ]");
    add("dir/file", "bad", 0);
    unzip(finish(), plain);
    check_refused(ERR_EXISTS, "cannot unpack dir/file: dir exists there and is not a "
                              "folder, or is a link to one");
    add("dir/", NULL, 0);
    unzip(finish(), plain);
    CHECK_INT(result.err.code, ERR_EXISTS);
    t_sh("[ \"$(cat out/file)\" = keep ]; [ \"$(ls out)\" = file ]; [ -L to/dir ]");
    loop_free(loop);
}

TEST(existing_files_are_replaced_and_folders_are_not)
{
    t_sh("mkdir -p to/d/full; echo old >to/f; ln to/f to/other; echo 1 >to/d/full/x");
    add("f", "new", 0);
    add("d/g", "g", 0);
    unzip(finish(), plain);
    check_ok();
    t_sh(
        "[ \"$(cat to/f)\" = new ]; [ \"$(cat to/other)\" = old ]; [ \"$(cat to/d/g)\" = "
        "g ]");
    add("d/full", "file", 0);
    unzip(finish(), plain);
    CHECK(strstr(result.err.text, "cannot put d/full in its place: ") != NULL);
    t_sh("[ -d to/d/full ]; [ \"$(ls -A to | tr '\\n' ' ')\" = 'd f other ' ]");
    loop_free(loop);
}

TEST(permissions_come_from_the_umask_or_the_archive)
{
    umask(027);
    t_sh("mkdir to; chmod 777 to");
    add("a", "x", S_IFREG | 04777);
    add("d/b", "x", S_IFREG | 0600);
    struct str archive = finish();
    unzip(archive, plain);
    check_ok();
    t_sh("[ \"$(stat -c %%a to/a to/d/b to/d | tr '\\n' ' ')\" = '640 640 750 ' ]");
    struct archive_unzip_spec spec = plain;
    spec.modes = true;
    unzip(archive, spec);
    check_ok();
    t_sh("[ \"$(stat -c %%a to/a to/d/b | tr '\\n' ' ')\" = '750 600 ' ]");
    loop_free(loop);
}

TEST(owners)
{
    if (geteuid() != 0)
        T_SKIP("only root gives files away");
    t_sh("mkdir -p to/old; chmod 2770 to/old; chgrp 7777 to/old");
    struct archive_unzip_spec spec = plain;
    add("old/a", "x", 0);
    unzip(finish(), spec);
    check_ok();
    t_sh("[ \"$(stat -c %%u:%%g to/old/a)\" = 0:7777 ]");
    spec.uid = 1234;
    spec.gid = 5678;
    add("old/b", "x", 0);
    add("new/c/d", "x", 0);
    add("empty/", NULL, 0);
    unzip(finish(), spec);
    check_ok();
    t_sh(
        "[ \"$(stat -c %%u:%%g to/old/b to/new to/new/c to/new/c/d to/empty | sort -u)\" "
        "= "
        "1234:5678 ]; [ \"$(stat -c %%u:%%g to to/old | tr '\\n' ' ')\" = '0:0 0:7777 ' "
        "]");
    loop_free(loop);
}

TEST(a_bad_entry_is_named_and_leaves_no_half)
{
    t_sh("mkdir to");
    add("first", "whole", 0);
    add("second", "this will be damaged", 0);
    struct str archive = finish();
    long at = str_find(archive, STR("second"));
    CHECK(at > 0);
    made.p[at + 12 + 6] ^= 0x10; /* within its compressed bytes */
    unzip(archive, plain);
    CHECK_INT(result.err.code, ERR_INVALID);
    CHECK(strncmp(result.err.text, "second is damaged: ", 19) == 0);
    CHECK_INT(result.files, 1);
    t_sh("[ \"$(ls -A to)\" = first ]");
    loop_free(loop);
}

TEST(no_archive_and_no_folder)
{
    t_sh("mkdir to");
    unzip(STR("this is no zip archive, whatever its name may be"), plain);
    CHECK_INT(result.err.code, ERR_INVALID);
    CHECK(strstr(result.err.text, "not a zip archive") != NULL);
    t_sh("[ -z \"$(ls -A to)\" ]");
    struct archive_unzip_spec spec = plain;
    prepare();
    spec.dir = in("not here");
    CHECK(archive_unzip(loop, &spec, on_done, work, &err) == NULL);
    CHECK_INT(err.code, ERR_NOTFOUND);
    loop_free(loop);
}

TEST(limits_are_those_given)
{
    t_sh("mkdir to");
    struct archive_unzip_spec spec = plain;
    spec.limits.total = 10;
    add("small", "12345", 0);
    add("large", "123456", 0);
    unzip(finish(), spec);
    check_refused(ERR_LIMIT, "large: the archive unpacks to more than 0 MiB");
    t_sh("[ \"$(ls -A to)\" = small ]");
    loop_free(loop);
}

/* The child is stopped in the middle of a file, by its folder seen. */
static bool half_written(void)
{
    DIR *d = opendir(in("to"));
    bool found = false;
    for (struct dirent *x; (x = readdir(d));)
        found |= strncmp(x->d_name, ".od-unzip-", 10) == 0;
    closedir(d);
    return found;
}

static bool clean(void) { return no_child_left() && !half_written(); }

TEST(cancelled_while_unpacking)
{
    static char much[20 << 20];
    memset(much, 'm', sizeof(much) - 1);
    t_sh("mkdir to");
    add("much", much, 0);
    struct str archive = finish();
    for (int i = 0; i < 3; i++) {
        unzip_fd(memory_file(archive), plain);
        run_until(half_written);
        job_cancel(job);
        run_until(clean);
        CHECK_INT(dones, 0);
        CHECK(!there("to/much"));
    }
    loop_free(loop);
}

static bool has_progress(void)
{
    uint64_t files, bytes;
    archive_progress(job, &files, &bytes);
    return files >= 256 && bytes == files * 3;
}

TEST(progress_and_many_files)
{
    char name[40];
    t_sh("mkdir to");
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "d%d/e/f%d", i / 100, i);
        add(name, "abc", 0);
    }
    unzip_fd(memory_file(finish()), plain);
    run_until(has_progress);
    if (!dones)
        run();
    check_ok();
    CHECK_INT(result.files, 1000);
    CHECK_INT(result.bytes, 3000);
    t_sh("[ \"$(find to -type f | wc -l)\" = 1000 ]");
    zip((struct archive_zip_spec){.path = in("to")});
    CHECK_INT(result.files, 1000);
    loop_free(loop);
}

T_MAIN
