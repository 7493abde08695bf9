/* SPDX-License-Identifier: MIT */
/*
 * Actions on files: their arguments, and what a call does that was begun before by the
 * same token, in each state that it may have been left in. What they do with files is
 * tried by tests/compat/files.test, over a server.
 */
#define T_LIMIT_S 60
#include "file/fileact.h"

#include "archive/zip_gz.h"
#include "base/clock.h"

#include "t.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

static struct loop *loop;
static struct buf result = BUF_INIT(1 << 20);
static struct err err;
static int dones, kept;

/* ---- calls ---- */

static void on_done(void *arg, struct str text, const struct err *e)
{
    (void)arg;
    buf_reset(&result);
    buf_adds(&result, text);
    err = *e;
    dones++;
}

static void on_turn(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

static void turn(void)
{
    static struct timer stop;
    timer_begin(loop, &stop, 5, on_turn);
    loop_run(loop);
}

static struct fileact *start(const char *verb, const char *args, bool again)
{
    static const struct fileact_events events = {.done = on_done};
    struct json *j = json_parse(str_of(args), &err);
    CHECK(j);
    loop = loop ? loop : loop_new();
    struct fileact_spec q = {.verb = verb,
                             .args = j,
                             .cwd = t_dir(),
                             .token = TOKEN,
                             .resumed = again,
                             .kept = kept};
    dones = 0;
    CHECK_INT(fileact_check(verb, j, false, false, &err), 0);
    struct fileact *f = fileact_start(loop, &q, &events, NULL, &err);
    json_free(j);
    return f;
}

/* Is anything there that has the name of what is staged? */
static bool staged(const char *folder)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), folder);
    DIR *d = opendir(path);
    struct dirent *x;
    bool found = false;
    while (d && (x = readdir(d)))
        found = found || strncmp(x->d_name, ".od-", 4) == 0;
    if (d)
        closedir(d);
    return found;
}

/* No helper is there any more, and what belonged to it is freed. */
static bool all_gone(void)
{
    siginfo_t x;
    turn();
    if (waitid(P_ALL, 0, &x, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD)
        return false;
    turn();
    return true;
}

/* To its end; what it staged is swept away after it. */
static void call(const char *verb, const char *args, bool again)
{
    struct fileact *f = start(verb, args, again);
    CHECK(f);
    while (dones == 0)
        turn();
    T_WAIT(all_gone());
    CHECK(!staged(".") && !staged("to"));
}

static void works(const char *verb, const char *args, bool again)
{
    call(verb, args, again);
    if (err.code)
        T_FAIL("%s %s: %s", verb, args, err.text);
}

static void fails(const char *verb, const char *args, bool again, enum err_code code)
{
    call(verb, args, again);
    if (err.code != code)
        T_FAIL("%s %s: %s %s", verb, args, err_name(err.code), err.text);
}

static void end(void)
{
    loop_free(loop);
    buf_release(&result);
}

/* ---- arguments ---- */

static void refused(const char *verb, const char *args, bool input, bool output)
{
    struct json *j = json_parse(str_of(args), &err);
    CHECK(j);
    CHECK_INT(fileact_check(verb, j, input, output, &err), -1);
    CHECK(err.code == ERR_INVALID || err.code == ERR_UNSUPPORTED);
    json_free(j);
}

TEST(arguments_that_are_missing_unknown_or_of_another_type)
{
    refused("stat", "{}", false, false);
    refused("stat", "{\"path\":null}", false, false);
    refused("stat", "{\"path\":1}", false, false);
    refused("stat", "{\"path\":\"a\",\"follow\":\"yes\"}", false, false);
    refused("stat", "{\"path\":\"a\",\"mode\":\"1\"}", false, false);
    refused("list", "{\"limit\":0}", false, false);
    refused("list", "{\"limit\":\"9\"}", false, false);
    refused("chmod", "{\"path\":\"a\"}", false, false);
    refused("chmod", "{\"path\":\"a\",\"mode_base64\":\"NjQ0\"}", false, false);
    refused("copy", "{\"from\":\"a\"}", false, false);
    refused("archive", "{\"path\":\"a\"}", false, false);
    refused("extract", "{\"to\":\"a\"}", false, false);
    refused("extract", "{\"path\":\"a\"}", true, false);
    refused("nothing", "{}", false, false);
    CHECK(fileact_known(STR("stat")));
    CHECK(!fileact_known(STR("sta")));
    struct json *j = json_parse(STR("{\"to_base64\":\"YQ==\"}"), &err);
    CHECK_INT(fileact_check("extract", j, true, false, &err), 0);
    json_free(j);
    CHECK_STR(fileact_media_type(STR("tar.gz")), "application/gzip");
    CHECK(!fileact_media_type(STR("rar")));
}

/* ---- what only connections use ---- */

TEST(folders_by_their_names_in_small_letters)
{
    t_sh("mkdir d; cd d; mkdir b A É é .hidden; touch file; ln -s b link");
    works("folders", "{\"path\":\"d\"}", false);
    struct json *j = json_parse(buf_str(&result), &err);
    char names[64] = "";
    for (struct json *x = json_first(json_get(j, "folders")); x; x = json_next(x))
        strncat(names, json_str(x, "name", "").p, sizeof(names) - strlen(names) - 1);
    CHECK_STR(names, "AbÉé");
    CHECK(json_is_null(json_get(j, "next")));
    json_free(j);
    works("folders", "{\"path\":\"d\",\"hidden\":true,\"limit\":2}", false);
    j = json_parse(buf_str(&result), &err);
    CHECK_STR(json_str(j, "next", "").p, "b");
    CHECK_STR(json_str(json_first(json_get(j, "folders")), "name", "").p, ".hidden");
    json_free(j);
    works("folders", "{\"path\":\"d\",\"from\":\"b\",\"limit\":1}", false);
    CHECK(strstr(buf_z(&result), "\"name\":\"b\""));
    fails("folders", "{\"path\":\"d/file\"}", false, ERR_INVALID);
    fails("folders", "{\"path\":\"none\"}", false, ERR_NOTFOUND);
    end();
}

static FILE *packed_to;

static size_t on_packed(void *arg, struct str bytes)
{
    (void)arg;
    return fwrite(bytes.p, 1, bytes.n, packed_to);
}

/* A call with a connection: what it sends goes to the file `out`; NULL: it takes input.
 */
static void connected(const char *verb, const char *args, const char *out,
                      const char *input)
{
    static const struct fileact_events events = {.data = on_packed, .done = on_done};
    char path[400];
    struct json *j = json_parse(str_of(args), &err);
    loop = loop ? loop : loop_new();
    snprintf(path, sizeof(path), "%s/%s", t_dir(), out ? out : "none");
    packed_to = out ? fopen(path, "w") : NULL;
    struct fileact_spec q = {.verb = verb,
                             .args = j,
                             .cwd = t_dir(),
                             .token = TOKEN,
                             .input = !out,
                             .output = out};
    dones = 0;
    CHECK_INT(fileact_check(verb, j, !out, out, &err), 0);
    struct fileact *f = fileact_start(loop, &q, &events, NULL, &err);
    CHECK(f);
    json_free(j);
    if (input) {
        CHECK_INT(fileact_write(f, str_of(input)), 0);
        fileact_end_input(f);
    }
    while (dones == 0)
        turn();
    T_WAIT(all_gone());
    if (packed_to)
        fclose(packed_to);
}

TEST(a_snapshot_has_files_and_folders_but_no_secrets)
{
    t_sh("mkdir ws; cd ws; mkdir -p .git/modules/m .git/refs/heads/logs .git/logs empty "
         "build a/build node_modules/x && echo 1 > f && echo 22 > a/f && ln -s f link && "
         "touch .git/config .git/modules/m/config .git/refs/heads/config "
         ".git/refs/heads/logs/x .git/HEAD .git/FETCH_HEAD .git/logs/HEAD config "
         "build/x a/build/x b.pyc node_modules/x/y '#odd'");
    connected("snapshot",
              "{\"path\":\"ws\",\"exclude\":\"node_modules/\\n*.pyc\\n/build\","
              "\"manifest\":\"report.json\",\"about\":\"{\\\"source\\\":\\\"ws\\\"}\"}",
              "out.tgz", NULL);
    CHECK_STR(err.text, "");
    t_sh(
        "tar tzf out.tgz | sort > names && printf '%%s\\n' ws/ ws/#odd ws/.git/ "
        "ws/.git/HEAD "
        "ws/.git/modules/ ws/.git/modules/m/ ws/.git/refs/ ws/.git/refs/heads/ "
        "ws/.git/refs/heads/config ws/.git/refs/heads/logs/ ws/.git/refs/heads/logs/x "
        "ws/a/ ws/a/build/ ws/a/build/x ws/a/f ws/config ws/empty/ ws/f ws/report.json | "
        "sort | diff - names");
    t_sh("test \"$(tar tzf out.tgz | tail -n 1)\" = ws/report.json && "
         "test \"$(tar xzOf out.tgz ws/report.json)\" = "
         "'{\"file_count\":8,\"source\":\"ws\",\"total_bytes\":5}'");
    t_sh("touch ws/report.json");
    connected("snapshot", "{\"path\":\"ws\",\"manifest\":\"report.json\"}", "out.tgz",
              NULL);
    t_sh("test \"$(tar tzf out.tgz | grep -c report)\" = 1");
    connected("snapshot", "{\"path\":\"ws/f\"}", "out.tgz", NULL);
    CHECK(err.code);
    end();
}

TEST(a_file_that_comes_keeps_the_mode_of_the_one_that_is_there)
{
    t_sh("echo old > f; chmod 751 f; ln -s f link");
    connected("receive", "{\"path\":\"link\",\"keep\":true}", NULL, "new");
    CHECK_STR(err.text, "");
    t_sh("test \"$(cat f)\" = new && test -L link && test \"$(stat -c %%a f)\" = 751");
    connected("receive", "{\"path\":\"a/b/c\",\"keep\":true,\"parents\":true}", NULL,
              "x");
    CHECK_STR(err.text, "");
    t_sh("test \"$(cat a/b/c)\" = x && test \"$(stat -c %%a a/b/c)\" = 644");
    connected("receive", "{\"path\":\"f/x/c\",\"parents\":true}", NULL, "x");
    CHECK_INT(err.code, ERR_NOTFOUND);
    t_sh("test -z \"$(find . -name '.od-*')\"");
    end();
}

/* ---- again ---- */

static const char copy[] = "{\"from\":\"d\",\"to\":\"e\"}";

TEST(an_incomplete_copy_is_made_again)
{
    t_sh("mkdir d .od-" TOKEN "; echo one > d/a; echo hal > .od-" TOKEN "/a");
    works("copy", copy, true);
    t_sh("test \"$(cat e/a)\" = one");
    fails("copy", copy, false, ERR_EXISTS);
    end();
}

TEST(a_copy_that_was_whole_is_put_in_its_place)
{
    t_sh("mkdir d .od-" TOKEN "; echo one > d/a; echo whole > .od-" TOKEN "/a");
    t_sh("touch .od-" TOKEN ".whole");
    works("copy", copy, true);
    t_sh("test \"$(cat e/a)\" = whole");
    end();
}

TEST(a_copy_that_was_in_its_place_stays_there)
{
    t_sh("mkdir d e; echo one > d/a; echo changed > e/a; touch .od-" TOKEN ".whole");
    works("copy", copy, true);
    t_sh("test \"$(cat e/a)\" = changed");
    t_sh("rm -r d; touch .od-" TOKEN ".whole");
    works("copy", copy, true);
    end();
}

static const char move[] = "{\"from\":\"d\",\"to\":\"e\"}";

TEST(a_move_that_was_done_is_done)
{
    t_sh("mkdir e; echo one > e/a");
    works("move", move, true);
    fails("move", move, false, ERR_NOTFOUND);
    t_sh("test -e e/a; rm -r e");
    fails("move", move, true, ERR_NOTFOUND);
    end();
}

/* As between file systems: a copy, and then the first one goes. */
TEST(a_move_by_copy_goes_on_where_it_was)
{
    t_sh("mkdir d e; echo one > d/a; echo one > e/a; echo two > e/b");
    t_sh("touch .od-" TOKEN ".whole");
    works("move", move, true);
    t_sh("test ! -e d; test -e e/a; test -e e/b");
    t_sh("mkdir d f; mv e/a d; mkdir .od-" TOKEN "; mv f .od-" TOKEN "/in; rm -r e");
    t_sh("touch .od-" TOKEN ".whole");
    works("move", move, true);
    t_sh("test ! -e d; test -d e/in");
    end();
}

TEST(what_was_removed_is_removed)
{
    fails("remove", "{\"path\":\"d\"}", false, ERR_NOTFOUND);
    works("remove", "{\"path\":\"d\"}", true);
    t_sh("mkdir -p d/e; touch d/e/f");
    works("remove", "{\"path\":\"d\",\"recursive\":true}", true);
    CHECK(strstr(buf_z(&result), "\"removed\":3"));
    end();
}

static const char archive[] = "{\"path\":\"d\",\"to\":\"x.tar\"}";
static const char extract[] = "{\"path\":\"x.tar\",\"to\":\"to\"}";

TEST(an_archive_that_was_whole_is_not_made_again)
{
    t_sh("mkdir d; echo one > d/a; echo whole > .od-" TOKEN "; touch .od-" TOKEN
         ".whole");
    works("archive", archive, true);
    t_sh("test \"$(cat x.tar)\" = whole");
    t_sh("rm x.tar; echo half > .od-" TOKEN);
    works("archive", archive, true);
    t_sh("tar tf x.tar | grep -qx a");
    end();
}

TEST(what_was_unpacked_is_moved_on_into_a_folder_that_is_there)
{
    t_sh("mkdir -p d/s; echo one > d/a; echo two > d/s/b; tar cf x.tar -C d .");
    t_sh("mkdir -p to/s to/.od-" TOKEN "/s; echo mine > to/c; echo moved > to/a");
    t_sh("echo late > to/.od-" TOKEN "/s/b; touch to/.od-" TOKEN ".whole");
    works("extract", extract, true);
    t_sh("test \"$(cat to/a to/s/b to/c)\" = \"$(printf 'moved\\nlate\\nmine')\"");
    end();
}

TEST(what_was_unpacked_beside_is_put_in_its_place)
{
    t_sh("mkdir d; echo one > d/a; tar cf x.tar -C d .");
    t_sh("mkdir .od-" TOKEN "; echo whole > .od-" TOKEN "/a; touch .od-" TOKEN ".whole");
    works("extract", extract, true);
    t_sh("test \"$(cat to/a)\" = whole; touch .od-" TOKEN ".whole");
    works("extract", extract, true);
    t_sh("test \"$(cat to/a)\" = whole");
    fails("extract", extract, false, ERR_EXISTS);
    end();
}

TEST(what_was_joined_is_put_in_its_place_and_its_parts_are_removed)
{
    static const char join[] = "{\"from\":[\"a\",\"b\"],\"to\":\"c\"}";
    t_sh("echo one > a; echo two > b; echo half > .od-" TOKEN);
    works("join", join, true);
    t_sh("test \"$(cat c)\" = \"$(printf 'one\\ntwo')\"; test ! -e a; test ! -e b");
    t_sh("rm c; echo one > a; echo whole > .od-" TOKEN "; touch .od-" TOKEN ".whole");
    works("join", join, true);
    t_sh("test \"$(cat c)\" = whole; test ! -e a");
    t_sh("echo late > b; touch .od-" TOKEN ".whole");
    works("join", join, true);
    t_sh("test \"$(cat c)\" = whole; test ! -e b");
    end();
}

/* ---- what was noted ---- */

static void begin_note(const char *bytes)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/note", t_dir());
    kept = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(kept > 0);
    CHECK_INT(write(kept, bytes, strlen(bytes)), (long)strlen(bytes));
    lseek(kept, 0, SEEK_SET);
}

/* The next worker has the same file, and looks from its beginning. */
static void again_the_same(const char *verb, const char *args)
{
    char *first = strdup(buf_z(&result));
    lseek(kept, 0, SEEK_SET);
    works(verb, args, true);
    CHECK_STR(buf_z(&result), first);
    free(first);
    close(kept);
}

TEST(what_came_to_its_end_is_not_done_twice)
{
    t_sh("mkdir d to; echo one > d/a; tar cf x.tar -C d .");
    begin_note("");
    works("extract", extract, false);
    t_sh("rm to/a; touch to/.od-" TOKEN ".whole");
    again_the_same("extract", extract);
    t_sh("test ! -e to/a");
    begin_note("");
    works("remove", "{\"path\":\"d\",\"recursive\":true}", false);
    t_sh("mkdir d");
    again_the_same("remove", "{\"path\":\"d\",\"recursive\":true}");
    t_sh("rmdir d");
    end();
}

TEST(half_a_note_is_none)
{
    t_sh("mkdir d to; echo one > d/a; tar cf x.tar -C d .");
    begin_note(
        "\"to\":\"half a note, which is longer than what it would have been if only "
        "it had come to its end, wherever that is; and then some: "
        "0123456789012345678901234567890123456789");
    works("extract", extract, true);
    t_sh("test -e to/a");
    again_the_same("extract", extract);
    end();
}

/* ---- ends ---- */

TEST(who_cancels_hears_nothing_and_nothing_is_left)
{
    t_sh("mkdir d; head -c 50000000 /dev/urandom > d/a");
    struct fileact *f = start("archive", "{\"path\":\"d\",\"to\":\"x.tar.gz\"}", false);
    CHECK(f);
    T_WAIT((turn(), staged(".")));
    fileact_cancel(f);
    T_WAIT(all_gone());
    CHECK(!staged("."));
    CHECK_INT(dones, 0);
    t_sh("test ! -e x.tar.gz");
    end();
}

TEST(errors_leave_nothing)
{
    t_sh("mkdir d; echo one > d/a; mkfifo d/pipe; head -c 3000 /dev/urandom > x.tar");
    fails("copy", copy, false, ERR_UNSUPPORTED);
    fails("extract", extract, false, ERR_INVALID);
    fails("extract", "{\"path\":\"x.tar\",\"to\":\"to\",\"format\":\"tar\"}", false,
          ERR_INVALID);
    t_sh("test ! -e e; test ! -e to");
    end();
}

/* ---- gzip ---- */

static struct str rest;

static int put(void *arg, struct str bytes, struct err *e)
{
    (void)e;
    return buf_adds(arg, bytes);
}

static ssize_t take(void *arg, void *p, size_t n, struct err *e)
{
    (void)arg;
    (void)e;
    struct str part = str_sub(rest, 0, n < 777 ? n : 777);
    memcpy(p, part.p, part.n);
    rest = str_sub(rest, part.n, rest.n);
    return (ssize_t)part.n;
}

TEST(gzip_in_pieces_is_one_member)
{
    struct buf plain = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
    static char back[400000];
    for (int i = 0; i < 50000; i++)
        buf_addf(&plain, "%d ", i * i % 9973);
    struct gzip *z = gzip_new(put, &packed, &err);
    for (struct str s = buf_str(&plain); s.n > 0; s = str_sub(s, 10007, s.n))
        CHECK_INT(gzip_write(z, str_sub(s, 0, 10007), &err), 0);
    CHECK_INT(gzip_finish(z, &err), 0);
    gzip_free(z);
    gzip_free(NULL);
    rest = buf_str(&packed);
    CHECK(rest.n < plain.n / 2);
    struct gunzip *u = gunzip_new(take, NULL, &err);
    size_t n = 0;
    ssize_t got;
    while ((got = gunzip_read(u, back + n, sizeof(back) - n, &err)) > 0)
        n += (size_t)got;
    CHECK_INT(got, 0);
    CHECK(n == plain.n && memcmp(back, plain.p, n) == 0);
    gunzip_free(u);
    buf_release(&plain);
    buf_release(&packed);
}

/* ---- files one after the other ---- */

static void frame(struct fileact *f, const char *bytes)
{
    char head[24];
    snprintf(head, sizeof(head), "%08zx", strlen(bytes));
    CHECK_INT(fileact_write(f, str_of(head)), 0);
    CHECK_INT(fileact_write(f, str_of(bytes)), 0);
}

static struct fileact *start_frames(const char *root)
{
    static const struct fileact_events events = {.done = on_done};
    loop = loop ? loop : loop_new();
    dones = 0;
    struct fileact_spec q = {.verb = "receive_all",
                             .cwd = t_dir(),
                             .root = root,
                             .token = TOKEN,
                             .input = true};
    return fileact_start(loop, &q, &events, NULL, &err);
}

static void finish_frames(struct fileact *f)
{
    fileact_end_input(f);
    while (dones == 0)
        turn();
    T_WAIT(all_gone());
    CHECK(!staged(".") && !staged("a"));
}

TEST(files_one_after_the_other)
{
    struct fileact *f = start_frames(NULL);
    frame(f, "{\"path\":\"a/b\",\"parents\":true,\"mode\":416}");
    frame(f, "one");
    frame(f, "two");
    frame(f, "");
    frame(f, "{\"path\":\"empty\",\"sync\":true}");
    frame(f, "");
    finish_frames(f);
    CHECK_STR(err.text, "");
    CHECK(str_find(buf_str(&result), STR("\"size\":6,\"mode\":\"0640\"")) > 0);
    t_sh("[ \"$(cat a/b)\" = onetwo ] && [ -f empty ] && [ ! -s empty ]");
    end();
}

TEST(a_transfer_that_is_cut_leaves_the_whole_files)
{
    struct fileact *f = start_frames(NULL);
    frame(f, "{\"path\":\"whole\"}");
    frame(f, "1");
    frame(f, "");
    frame(f, "{\"path\":\"cut\"}");
    frame(f, "2");
    finish_frames(f);
    CHECK_INT(err.code, ERR_CANCELLED);
    t_sh("[ \"$(cat whole)\" = 1 ] && [ ! -e cut ]");
    f = start_frames(NULL);
    frame(f, "{\"path\":\"more\"}");
    CHECK_INT(fileact_write(f, STR("0000001x")), 0);
    finish_frames(f);
    CHECK_INT(err.code, ERR_CANCELLED);
    t_sh("[ ! -e more ]");
    end();
}

TEST(a_root_holds_for_each_of_them)
{
    t_sh("mkdir in && ln -s .. in/up && ln -s /etc in/etc && mkdir in/d && ln -s d in/l");
    char root[400];
    snprintf(root, sizeof(root), "%s/in", t_dir());
    struct fileact *f = start_frames(root);
    frame(f, "{\"path\":\"/l/f\",\"parents\":true}");
    frame(f, "x");
    frame(f, "");
    frame(f, "{\"path\":\"new/deep/f\",\"parents\":true}");
    frame(f, "");
    frame(f, "{\"path\":\"up/f\",\"parents\":true}");
    frame(f, "");
    finish_frames(f);
    CHECK_INT(err.code, ERR_DENIED);
    t_sh("[ -f in/d/f ] && [ -f in/new/deep/f ] && [ ! -e f ]");
    end();
}

T_MAIN
