/* SPDX-License-Identifier: MIT */
/*
 * What is asked of git, with real repositories: results by the rules of git.h, and that a
 * repository can neither have a program run nor is changed.
 */
#include "git/git.h"

#include "os/remove.h"
#include "t.h"

#include <sys/stat.h>

extern char **environ;

static struct loop *loop;

struct heard {
    struct git_call *call;
    struct json *result;
    struct buf data;
    struct err e;
    int dones;
    size_t take; /* of each piece of data; 0: all */
};

static void on_done(void *arg, const struct json *result, const struct err *e)
{
    struct heard *h = arg;
    h->result = result ? json_copy(result) : NULL;
    h->e = *e;
    h->dones++;
    loop_stop(loop);
}

static void resume(struct timer *t);

static struct timer again;
static struct heard *slow;

static size_t on_data(void *arg, struct str bytes)
{
    struct heard *h = arg;
    size_t n = h->take && h->take < bytes.n ? h->take : bytes.n;
    CHECK_INT(buf_add(&h->data, bytes.p, n), 0);
    if (n < bytes.n) {
        slow = h;
        timer_begin(loop, &again, 1, resume);
    }
    return n;
}

static void resume(struct timer *t)
{
    (void)t;
    git_resume(slow->call);
}

static const struct git_events events = {.data = on_data, .done = on_done};

/* The path of a name in the case's folder. */
static const char *at(const char *name)
{
    static char path[4][512];
    static int i;
    snprintf(path[i = (i + 1) % 4], sizeof(path[0]), "%s/%s", t_dir(), name);
    return path[i];
}

static struct heard *ask(struct git_ask q)
{
    struct heard *h = calloc(1, sizeof(*h));
    if (!loop)
        loop = loop_new();
    buf_init(&h->data, 64 << 20);
    if (!q.env)
        q.env = environ;
    h->call = git_start(loop, &q, &events, h, &h->e);
    CHECK(h->call);
    loop_run(loop);
    CHECK_INT(h->dones, 1);
    return h;
}

static void forget(struct heard *h)
{
    json_free(h->result);
    buf_release(&h->data);
    free(h);
}

/* Of the changes: "A x\nD y\n". */
static const char *changes_of(const struct heard *h)
{
    static char text[4096];
    size_t n = 0;
    CHECK_STR(h->e.text, "");
    text[0] = 0;
    struct json *list = json_get(h->result, "changes");
    CHECK(json_is_array(list));
    for (struct json *c = json_first(list); c; c = json_next(c))
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%c %s\n",
                              json_str(c, "status", "?").p[0] - 32,
                              json_str(c, "path", "?").p);
    return text;
}

static const char *changes(const char *folder, const char *ref)
{
    struct heard *h = ask(
        (struct git_ask){.verb = GIT_CHANGES, .path = at(folder), .ref = ref});
    const char *text = changes_of(h);
    forget(h);
    return text;
}

/* A repository `name` on the branch main; commands for it follow. */
static void make(const char *name)
{
    setenv("HOME", t_dir(), 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    t_sh("git config --global user.name Ada && git config --global user.email a@b.c && "
         "git config --global init.defaultBranch main && git init -q %s",
         name);
}

TEST(changes_of_the_working_tree)
{
    make("r");
    CHECK_STR(changes("r", NULL), "");
    t_sh("cd r && echo 1 > new && mkdir d && echo 2 > d/staged && git add d");
    CHECK_STR(changes("r", NULL), "A d/staged\nA new\n");
    CHECK_STR(changes("r", "HEAD"), "A d/staged\nA new\n");
    t_sh("cd r && git add . && git commit -qm one && echo 3 >> new && git mv d/staged "
         "d/moved "
         "&& echo '*.o' > .gitignore && touch x.o");
    CHECK_STR(changes("r", NULL), "A .gitignore\nA d/moved\nD d/staged\nU new\n");
}

TEST(names_of_any_bytes)
{
    make("r");
    t_sh("cd r && printf a > 'with blank' && printf a > \"$(printf 't\\tab')\" && printf "
         "a > é "
         "&& printf a > '\"q\"' && printf a > link.c && git add . && git commit -qm one "
         "&& "
         "for f in *; do printf b > \"$f\"; done && rm link.c && ln -s é link.c");
    CHECK_STR(changes("r", NULL), "U \"q\"\nU link.c\nU t\tab\nU with blank\nU é\n");
}

TEST(a_file_that_git_no_longer_knows)
{
    make("r");
    t_sh("cd r && echo 1 > a && echo 1 > b && git add . && git commit -qm one && "
         "git rm -q --cached a && git rm -q b");
    CHECK_STR(changes("r", NULL), "U a\nD b\n");
}

TEST(no_repository)
{
    struct heard *h;
    t_sh("mkdir plain && touch plain/f");
    t_sh("mkdir -p broken/.git && touch broken/.git/config");
    const char *const paths[] = {"plain", "missing", "plain/f", "broken"};
    for (size_t i = 0; i < 4; i++) {
        h = ask((struct git_ask){.verb = GIT_CHANGES, .path = at(paths[i])});
        CHECK_STR(h->e.text, "");
        CHECK(!json_bool(h->result, "repository", true));
        forget(h);
    }
    h = ask((struct git_ask){.verb = GIT_FILE, .path = at("plain/f")});
    CHECK(!json_bool(h->result, "repository", true));
    forget(h);
    h = ask((struct git_ask){.verb = GIT_PATCH, .path = at("plain")});
    CHECK_INT(h->e.code, ERR_INVALID);
    forget(h);
}

TEST(no_git)
{
    const char *const env[] = {"PATH=/no/such/folder", NULL};
    make("r");
    struct heard *h = ask((
        struct git_ask){.verb = GIT_CHANGES, .path = at("r"), .env = (char *const *)env});
    CHECK_INT(h->e.code, ERR_UNSUPPORTED);
    CHECK(strstr(h->e.text, "install the package git"));
    forget(h);
    h = ask(
        (struct git_ask){.verb = GIT_ABOUT, .path = at("r"), .env = (char *const *)env});
    CHECK_STR(h->e.text, "");
    CHECK(!json_bool(h->result, "program", true));
    forget(h);
}

TEST(repositories_in_the_folder)
{
    make("r");
    t_sh("cd r && git init -q foo && mkdir foobar deep && git init -q deep/er && "
         "echo 1 > foo/a && echo 1 > foobar/b && echo 1 > deep/er/c && echo 1 > top && "
         "git init -q broken && echo junk > broken/.git/HEAD");
    CHECK_STR(changes("r", NULL), "A deep/er/\nA foo/a\nA foobar/b\nA top\n");
    /* A folder of a repository: only what is in it, by paths from there. */
    CHECK_STR(changes("r/foobar", NULL), "A b\n");
}

TEST(submodules)
{
    make("sub");
    t_sh("cd sub && echo 1 > a && git add . && git commit -qm one && cd .. && git init "
         "-q r && "
         "cd r && git -c protocol.file.allow=always submodule -q add ../sub mod && "
         "git commit -qm one && echo 2 >> mod/a && echo 3 > mod/new");
    CHECK_STR(changes("r", NULL), "U mod/a\nA mod/new\n");
}

TEST(the_base_by_the_rules)
{
    make("up");
    t_sh("cd up && echo 1 > a && git add . && git commit -qm one && cd .. && "
         "git clone -q up r && cd r && git checkout -qb work && echo 2 > b && git add . "
         "&& "
         "git commit -qm two");
    /* 3: the merge base with the default branch of origin */
    CHECK_STR(changes("r", NULL), "A b\n");
    /* 2: origin/work, at HEAD: only with a change */
    t_sh("cd r && git push -q origin work");
    CHECK_STR(changes("r", NULL), "A b\n");
    t_sh("cd r && echo 3 > a");
    CHECK_STR(changes("r", NULL), "U a\n");
    /* origin/HEAD is missing */
    t_sh("cd r && git checkout -q a && git remote set-head origin -d");
    CHECK_STR(changes("r", NULL), "A b\n");
    /* 5: no origin, and the local main; 6: on it */
    t_sh("cd r && git remote remove origin");
    CHECK_STR(changes("r", NULL), "A b\n");
    t_sh("cd r && git checkout -q main && echo 4 > a");
    CHECK_STR(changes("r", NULL), "U a\n");
    /* a ref; an orphan */
    CHECK_STR(changes("r", "work"), "U a\nD b\n");
    t_sh("cd r && git checkout -q --orphan other && git rm -rfq --cached . && rm -f b");
    CHECK_STR(changes("r", "HEAD"), "A a\n");
}

TEST(a_ref_that_is_none)
{
    make("r");
    t_sh("cd r && touch a && git add . && git commit -qm one");
    const char *const refs[] = {"nope", "-p", "--output=x", "", "HEAD:a", "a b"};
    for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
        struct heard *h = ask(
            (struct git_ask){.verb = GIT_CHANGES, .path = at("r"), .ref = refs[i]});
        CHECK_INT(h->e.code, ERR_NOTFOUND);
        forget(h);
    }
}

/* "old|new", "-" for none. */
static const char *versions(const char *file, const char *ref, const char *commit)
{
    static char text[256];
    struct heard *h = ask((struct git_ask){
        .verb = GIT_FILE, .path = at(file), .ref = ref, .commit = commit});
    CHECK_STR(h->e.text, "");
    snprintf(text, sizeof(text), "%s|%s", json_str(h->result, "old", "-").p,
             json_str(h->result, "new", "-").p);
    forget(h);
    return text;
}

TEST(versions_of_a_file)
{
    make("r");
    t_sh(
        "cd r && mkdir d && printf ' one\\n' > d/f && git add . && git commit -qm one && "
        "printf two > d/f && git commit -qam two && printf three > d/f && printf new > n "
        "&& "
        "printf '\\377' > bin && ln -s d/f link");
    CHECK_STR(versions("r/d/f", NULL, NULL), "two|three");
    CHECK_STR(versions("r/d/f", "HEAD~1", NULL), " one\n|three");
    CHECK_STR(versions("r/d/f", NULL, "HEAD"), " one\n|two");
    CHECK_STR(versions("r/d/f", NULL, "HEAD~1"), "-| one\n");
    CHECK_STR(versions("r/n", NULL, NULL), "-|new");
    CHECK_STR(versions("r/bin", NULL, NULL), "-|");
    CHECK_STR(versions("r/link", NULL, NULL), "-|d/f");
    CHECK_STR(versions("r/none", NULL, NULL), "-|-");
    t_sh("rm -r r/d");
    CHECK_STR(versions("r/d/f", NULL, NULL), "two|-");
    t_sh("head -c 2000000 /dev/zero > r/big");
    struct heard *h = ask((struct git_ask){.verb = GIT_FILE, .path = at("r/big")});
    CHECK_INT(json_int(h->result, "size", 0), 2000000);
    forget(h);
}

TEST(commits)
{
    make("r");
    struct heard *h = ask(
        (struct git_ask){.verb = GIT_COMMITS, .path = at("r"), .limit = 2});
    CHECK_INT(json_count(json_get(h->result, "commits")), 0);
    forget(h);
    t_sh("cd r && touch gone && git add . && git commit -qm one && git rm -q gone && "
         "git commit -qm 'two | \"quoted\" é' --date '2026-05-02T11:30:00+02:00' && "
         "git config log.showSignature true && git config gpg.program \"$PWD/evil\"");
    h = ask((struct git_ask){.verb = GIT_COMMITS, .path = at("r"), .limit = 1});
    struct json *c = json_first(json_get(h->result, "commits"));
    CHECK_INT(json_count(json_get(h->result, "commits")), 1);
    CHECK(json_bool(h->result, "more", false));
    CHECK_STR(json_str(c, "subject", "").p, "two | \"quoted\" é");
    CHECK_STR(json_str(c, "author", "").p, "Ada");
    CHECK_STR(json_str(c, "time", "").p, "2026-05-02T11:30:00+02:00");
    CHECK_INT(json_str(c, "sha", "").n, 40);
    forget(h);
    h = ask(
        (struct git_ask){.verb = GIT_COMMIT_CHANGES, .path = at("r"), .commit = "HEAD"});
    CHECK_STR(changes_of(h), "D gone\n");
    forget(h);
    h = ask((
        struct git_ask){.verb = GIT_COMMIT_CHANGES, .path = at("r"), .commit = "HEAD~1"});
    CHECK_STR(changes_of(h), "A gone\n");
    forget(h);
    h = ask((
        struct git_ask){.verb = GIT_COMMIT_CHANGES, .path = at("r"), .commit = "abcdef"});
    CHECK_INT(h->e.code, ERR_NOTFOUND);
    forget(h);
}

/* The patch of r, applied to a copy of what is at `base`, gives the working tree. */
static void check_patch(const char *base)
{
    struct heard *h = ask(
        (struct git_ask){.verb = GIT_PATCH, .path = at("r"), .ref = base});
    CHECK_STR(h->e.text, "");
    FILE *f = fopen(at("patch"), "w");
    CHECK_INT(fwrite(h->data.p, 1, h->data.n, f), h->data.n);
    fclose(f);
    forget(h);
}

TEST(a_patch_of_everything)
{
    make("r");
    t_sh("cd r && echo 1 > a && head -c 300 /dev/urandom > bin && echo x > gone && git "
         "add . "
         "&& git commit -qm one && cp -r . ../copy && echo '*.o' > .gitignore && touch "
         "x.o && "
         "rm gone && head -c 300 /dev/urandom > bin && mkdir -p 'n ew/dir' && "
         "echo 5 > 'n ew/dir/é' && git init -q empty && touch empty/f && "
         "sha256sum .git/index > ../before && find .git | sort >> ../before");
    check_patch("HEAD");
    t_sh("cd r && sha256sum .git/index > ../after && find .git | sort >> ../after && cd "
         ".. && "
         "cmp before after && cd copy && git apply ../patch && rm -rf .git && "
         "rm -rf ../r/.git ../r/empty ../r/x.o && diff -r . ../r");
}

TEST(a_patch_leaves_out_what_it_is_told_to)
{
    static const char *const excludes[] = {"node_modules/", "*.pyc", "src/gen", "dist"};
    make("r");
    t_sh("cd r && mkdir -p node_modules/x a/node_modules src/gen a/src/gen && "
         "touch node_modules/x/f a/node_modules/f src/gen/f a/src/gen/f x.pyc a/y.pyc "
         "dist "
         "keep && mkdir b && touch b/node_modules");
    struct heard *h = ask((struct git_ask){
        .verb = GIT_PATCH, .path = at("r"), .excludes = excludes, .excludes_n = 4});
    CHECK_STR(h->e.text, "");
    FILE *f = fopen(at("patch"), "w");
    CHECK_INT(fwrite(h->data.p, 1, h->data.n, f), h->data.n);
    fclose(f);
    forget(h);
    t_sh("grep '^diff' patch | sed 's/.* b.//' > names && "
         "printf 'a/src/gen/f\\nb/node_modules\\nkeep\\n' | cmp - names");
}

TEST(a_patch_is_taken_as_slowly_as_its_reader_wants)
{
    make("r");
    t_sh("cd r && head -c 3000000 /dev/urandom > big && head -c 3000000 /dev/urandom > "
         "big2");
    struct heard *h = calloc(1, sizeof(*h));
    loop = loop_new();
    h->take = 100 << 10;
    buf_init(&h->data, 64 << 20);
    struct git_ask q = {.verb = GIT_PATCH, .path = at("r"), .env = environ};
    CHECK((h->call = git_start(loop, &q, &events, h, &h->e)));
    loop_run(loop);
    CHECK_STR(h->e.text, "");
    CHECK(h->data.n > 6000000);
    forget(h);
}

static void stop_loop(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}

/* Takes nothing, so that the helper stands. */
static size_t take_none(void *arg, struct str bytes)
{
    (void)bytes;
    ((struct heard *)arg)->dones = -1;
    loop_stop(loop);
    return 0;
}

TEST(a_cancelled_patch_leaves_nothing)
{
    static const struct git_events none = {.data = take_none, .done = on_done};
    struct heard h = {.dones = 0};
    struct timer t = {0};
    make("r");
    t_sh("mkdir scratch && cd r && head -c 3000000 /dev/urandom > big");
    loop = loop_new();
    struct git_ask q = {
        .verb = GIT_PATCH, .path = at("r"), .env = environ, .scratch = at("scratch")};
    CHECK((h.call = git_start(loop, &q, &none, &h, &h.e)));
    loop_run(loop);
    CHECK_INT(h.dones, -1);
    t_sh("test -n \"$(ls -A scratch)\"");
    git_cancel(h.call);
    bool empty = false;
    for (int i = 0; i < 3000 && !empty; i++) {
        timer_begin(loop, &t, 10, stop_loop);
        loop_run(loop);
        empty = rmdir(at("scratch")) == 0;
    }
    CHECK(empty);
    CHECK_INT(h.dones, -1);
}

/* Whatever a repository's configuration names, nothing of it runs. */
TEST(a_hostile_repository)
{
    make("r");
    t_sh("cd r && echo 1 > a && git add . && git commit -qm one && "
         "printf '#!/bin/sh\\ntouch %%s/ran\\ncat\\n' \"$PWD/..\" > ../evil && chmod +x "
         "../evil && "
         "for k in core.fsmonitor diff.external core.pager core.sshCommand core.askPass "
         "credential.helper gpg.program core.editor diff.x.command diff.x.textconv "
         "interactive.diffFilter core.gitProxy uploadpack.packObjectsHook; do "
         "git config $k \"$PWD/../evil\"; done && git config log.showSignature true && "
         "mkdir -p .git/hooks && for k in post-index-change pre-commit "
         "fsmonitor-watchman; do "
         "cp ../evil .git/hooks/$k; done && "
         "git config remote.origin.url 'ext::../evil' && "
         "echo '* diff=x' > .gitattributes && echo 2 > a && rm -f ../ran");
    CHECK_STR(changes("r", NULL), "A .gitattributes\nU a\n");
    CHECK_STR(versions("r/a", NULL, NULL), "1\n|2\n");
    check_patch("HEAD");
    struct heard *h = ask(
        (struct git_ask){.verb = GIT_COMMITS, .path = at("r"), .limit = 5});
    CHECK_STR(h->e.text, "");
    forget(h);
    h = ask((struct git_ask){.verb = GIT_ABOUT, .path = at("r")});
    CHECK_STR(json_str(h->result, "remote", "").p, "ext::../evil");
    forget(h);
    t_sh("test ! -e ran && grep -q '^+2' patch");
}

TEST(filters_of_another_user_do_not_run)
{
    if (geteuid() != 0)
        T_SKIP("only root can give a repository to another user");
    make("r");
    t_sh("cd r && echo 1 > a && git add . && git commit -qm one && "
         "printf '#!/bin/sh\\ntouch %%s/ran\\ncat\\n' \"$PWD/..\" > ../evil && chmod +x "
         "../evil && "
         "git config filter.x.clean \"$PWD/../evil\" && "
         "git config filter.y.process \"$PWD/../evil\" && "
         "git config filter.y.required true && "
         "printf 'a filter=x\\nb filter=y\\n' > .gitattributes && echo 2 > a && echo 3 > "
         "b && "
         "chown -R 12345:12345 .");
    CHECK_STR(changes("r", NULL), "A .gitattributes\nU a\nA b\n");
    check_patch("HEAD");
    t_sh("test ! -e ran && grep -q '^+3' patch && chown -R 0:0 r");
    CHECK_STR(changes("r", NULL), "A .gitattributes\nU a\nA b\n");
    t_sh("test -e ran"); /* one's own do */
}

TEST(what_an_archive_is_of)
{
    make("ws/a/r");
    t_sh("cd ws/a/r && git remote add origin https://u:p@example.com/r && mkdir -p "
         "../../node_modules/m ../../.hidden/h && git init -q ../../node_modules/m && "
         "git init -q ../../.hidden/h");
    struct heard *h = ask((struct git_ask){.verb = GIT_ABOUT, .path = at("ws")});
    CHECK_STR(json_str(h->result, "path", "").p, at("ws/a/r"));
    CHECK_STR(json_str(h->result, "branch", "").p, "main");
    CHECK_STR(json_str(h->result, "remote", "").p, "https://u:p@example.com/r");
    CHECK(json_is_null(json_get(h->result, "head")));
    CHECK(json_is_null(json_get(h->result, "base")));
    forget(h);
    t_sh("git init -q ws/b && cd ws/a/r && touch f && git add . && git commit -qm one && "
         "git checkout -q --detach");
    h = ask((struct git_ask){.verb = GIT_ABOUT, .path = at("ws")});
    CHECK_STR(json_str(h->result, "path", "").p, at("ws"));
    CHECK(!json_bool(h->result, "repository", true));
    forget(h);
    h = ask((struct git_ask){.verb = GIT_ABOUT, .path = at("ws/a/r")});
    CHECK(json_is_null(json_get(h->result, "branch")));
    CHECK_STR(json_str(h->result, "base", "").p, json_str(h->result, "head", "?").p);
    forget(h);
}

TEST(more_changes_than_a_result_holds)
{
    make("r");
    t_sh("cd r && long=$(printf %%0200d 0) && mkdir -p $long/$long/$long && cd "
         "$long/$long/$long && "
         "seq -f %%06g 1 30000 | xargs touch");
    struct heard *h = ask((struct git_ask){.verb = GIT_CHANGES, .path = at("r")});
    CHECK_INT(h->e.code, ERR_LIMIT);
    forget(h);
}

T_MAIN
