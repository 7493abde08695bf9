/* SPDX-License-Identifier: MIT */
/* Plugins' folders as they are read, and the caches that outlive containers. */
#include "engine/engine.h"
#include "setup/cachedir.h"
#include "setup/plugins.h"

#include "t.h"

#include <fcntl.h>

static const char *in(const char *path)
{
    static char space[4][600];
    static int i;
    i = (i + 1) % 4;
    snprintf(space[i], sizeof(space[i]), "%s/%s", t_dir(), path);
    return space[i];
}

static void put(const char *path, const char *text, mode_t mode)
{
    char dirs[600];
    snprintf(dirs, sizeof(dirs), "%s", in(path));
    for (char *p = dirs + strlen(t_dir()) + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(dirs, 0755);
        *p = '/';
    }
    unlink(in(path));
    int fd = open(in(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        fchmod(fd, mode) < 0)
        T_FAIL("%s: %s", path, strerror(errno));
    close(fd);
}

static char *text_of(const char *path)
{
    static char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return text;
}

/* A member of the plugin in folder x, as text that lives for a few calls. */
static const char *member(const char *name)
{
    static char space[4][800];
    static int i;
    struct json *j = plugin_read(in("x"), 120);
    struct buf b = BUF_INIT(sizeof(space[0]) - 1);
    struct json *m = json_get(j, name);
    i = (i + 1) % 4;
    if (json_is_string(m))
        buf_adds(&b, json_str_value(m, ""));
    else if (m)
        json_print(&b, m);
    snprintf(space[i], sizeof(space[i]), "%s", m ? buf_z(&b) : "(none)");
    buf_release(&b);
    json_free(j);
    return space[i];
}

/* What is wrong with a plugin.json of this text. */
static const char *problem(const char *json)
{
    put("x/setup.sh", "true\n", 0644);
    put("x/plugin.json", json, 0644);
    return member("problem");
}

static bool has(const char *text, const char *word) { return strstr(text, word) != NULL; }

TEST(a_folder_with_a_script_is_enough)
{
    put("x/setup.sh", "true\n", 0644);
    CHECK_STR(member("problem"), "(none)");
    CHECK_STR(member("name"), "x");
    CHECK_STR(member("shell"), "sh");
    CHECK_STR(member("seconds"), "120");
    CHECK_STR(member("memory_mb"), "0");
    CHECK_STR(member("bin"), "false");
    CHECK_STR(member("checks"), "[]");
    CHECK_STR(member("dir"), in("x"));
    CHECK_INT(strlen(member("hash")), 64);
}

TEST(the_first_line_says_which_shell)
{
    static const struct {
        const char *line, *shell;
    } rows[] = {{"#!/bin/bash -e\n", "/bin/bash"},
                {"#! /usr/bin/env bash\n", "bash"},
                {"#!/usr/bin/env python3\n", ""},
                {"#!/usr/bin/perl\n", ""},
                {"#!/bin/busybox sh\n", ""},
                {"# a comment\n", "sh"},
                {"", "sh"},
                {"#!", ""},
                {"#!/opt/dash", "/opt/dash"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        put("x/setup.sh", rows[i].line, 0755);
        CHECK_STR(member("shell"), rows[i].shell);
    }
}

TEST(what_plugin_json_says_is_taken)
{
    put("x/bin/tool", "#!/bin/sh\n", 0755);
    CHECK_STR(problem("{\"name\":\"My.tool-1\",\"order\":-2.5,\"limits\":{\"seconds\":9,"
                      "\"memory_mb\":512},\"environment\":{\"A\":\"$PLUGIN/a:$PLUGIN\","
                      "\"B\":\"\"},\"checks\":[\"command -v tool\"]}"),
              "(none)");
    char env[1300];
    snprintf(env, sizeof(env), "[\"A=%s/a:%s\",\"B=\"]", in("x"), in("x"));
    CHECK_STR(member("name"), "My.tool-1");
    CHECK_STR(member("order"), "-2.5");
    CHECK_STR(member("seconds"), "9");
    CHECK_STR(member("memory_mb"), "512");
    CHECK_STR(member("environment"), env);
    CHECK_STR(member("checks"), "[\"command -v tool\"]");
    CHECK_STR(member("bin"), "true");
}

TEST(what_is_wrong_is_said_in_a_word)
{
    static const struct {
        const char *json, *words;
    } rows[] = {{"{", "plugin.json is not a JSON object"},
                {"[]", "plugin.json is not a JSON object"},
                {"{\"name\":1}", "name must be a string"},
                {"{\"name\":\"../x\"}", "name must be 1 to 24"},
                {"{\"name\":\"a/b\"}", "name must be 1 to 24"},
                {"{\"name\":\"\"}", "name must be 1 to 24"},
                {"{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaa\"}", "name must be 1 to 24"},
                {"{\"order\":\"first\"}", "order must be a number"},
                {"{\"limits\":3}", "limits must be an object"},
                {"{\"limits\":{\"seconds\":0}}", "limits.seconds must be from 1"},
                {"{\"limits\":{\"seconds\":86401}}", "limits.seconds"},
                {"{\"limits\":{\"memory_mb\":-1}}", "limits.memory_mb must be from 0"},
                {"{\"environment\":[]}", "environment must be an object"},
                {"{\"environment\":{\"A B\":\"\"}}", "\"A B\" is not so"},
                {"{\"environment\":{\"A\":1}}", "\"A\" is not so"},
                {"{\"checks\":\"true\"}", "checks must be an array"},
                {"{\"checks\":[1]}", "each of its checks"},
                {"{\"checks\":[\"\"]}", "each of its checks"},
                {"{\"chekcs\":[]}", "there is no member chekcs"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *said = problem(rows[i].json);
        if (!has(said, rows[i].words))
            T_FAIL("%s: \"%s\"", rows[i].json, said);
    }
}

TEST(too_much_is_refused)
{
    static char text[PLUGIN_JSON_MAX + 2];
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, "{}", 2);
    CHECK(has(problem(text), "longer than 16384 bytes"));
    text[PLUGIN_JSON_MAX] = 0;
    CHECK_STR(problem(text), "(none)");
    static char big[PLUGIN_TEXT_MAX + 64];
    snprintf(big, sizeof(big), "{\"environment\":{\"A\":\"%*s\"}}", PLUGIN_TEXT_MAX, "x");
    CHECK(has(problem(big), "its variable A is longer"));
}

TEST(what_cannot_be_read_is_a_problem)
{
    CHECK(has(member("problem"), "cannot read the folder"));
    CHECK_STR(member("name"), "x");
    mkdir(in("x"), 0755);
    CHECK(has(member("problem"), "cannot read setup.sh: No such file"));
    put("y", "", 0644);
    struct json *j = plugin_read(in("y"), 120);
    CHECK(has(json_str(j, "problem", "").p, "Not a directory"));
    json_free(j);
}

TEST(the_hash_is_of_all_that_matters_and_of_nothing_else)
{
    char first[80], now[80];
    put("x/setup.sh", "true\n", 0644);
    put("x/sub/b", "b", 0644);
    put("x/sub/a", "a", 0644);
    snprintf(first, sizeof(first), "%s", member("hash"));
#define CHANGED(...) \
    do { \
        __VA_ARGS__; \
        snprintf(now, sizeof(now), "%s", member("hash")); \
        CHECK(strcmp(now, first) != 0); \
        memcpy(first, now, sizeof(first)); \
    } while (0)
    put("x/setup.sh", "true\n", 0644); /* another inode and time */
    CHECK_STR(member("hash"), first);
    CHANGED(put("x/setup.sh", "false\n", 0644));
    CHANGED(put("x/sub/a", "A", 0644));
    CHANGED(chmod(in("x/sub/a"), 0755));
    CHANGED(rename(in("x/sub/b"), in("x/b")));
    CHANGED(CHECK_INT(symlink("setup.sh", in("x/link")), 0));
    CHANGED(unlink(in("x/link")); CHECK_INT(symlink("b", in("x/link")), 0));
    CHANGED(CHECK_INT(mkfifo(in("x/fifo"), 0600), 0)); /* is not opened */
    /* Two names are not one, and a file's end is not the next one's beginning. */
    put("x/sub/a", "Ab", 0644);
    put("x/sub/b", "", 0644);
    snprintf(first, sizeof(first), "%s", member("hash"));
    CHANGED(put("x/sub/a", "A", 0644); put("x/sub/b", "b", 0644));
}

TEST(names_of_folders_become_names_of_plugins)
{
    static const struct {
        const char *folder, *name;
    } rows[] = {{"a b", "ab"},
                {".git-tool", "git-tool"},
                {"--", "plugin"},
                {"0123456789012345678901234567", "012345678901234567890123"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char script[100];
        snprintf(script, sizeof(script), "%s/setup.sh", rows[i].folder);
        put(script, "true\n", 0644);
        struct json *j = plugin_read(in(rows[i].folder), 120);
        CHECK_STR(json_str(j, "name", "").p, rows[i].name);
        json_free(j);
    }
}

TEST(they_are_sorted_by_order_and_else_stay)
{
    static const int orders[] = {3, 0, -1, 0, 3, 0};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct json *list[6];
    char got[7] = "";
    for (int i = 0; i < 6; i++) {
        list[i] = plugin_known(names[i]);
        json_put_int(list[i], "order", orders[i]);
    }
    struct json *all = plugins_sort(list, 6);
    int n = 0;
    for (struct json *j = json_first(all); j; j = json_next(j))
        got[n++] = json_str(j, "name", "?").p[0];
    CHECK_STR(got, "cbdfae");
    json_free(all);
    all = plugins_sort(list, 0);
    CHECK_INT(json_count(all), 0);
    json_free(all);
}

static int done_calls;
static void on_set_up(void *arg)
{
    (void)arg;
    done_calls++;
}

TEST(without_plugins_there_is_nothing_to_wait_for)
{
    struct json *none = json_array();
    CHECK(plugins_open(NULL, none) == NULL);
    plugins_load(NULL);
    plugins_listen(NULL, NULL, NULL);
    plugins_start(NULL, STR(""), on_set_up, NULL);
    CHECK_INT(done_calls, 1);
    CHECK(plugins_problem(NULL) == NULL);
    json_free(none);
}

/* ---- caches ---- */

TEST(each_user_has_caches_of_its_own)
{
    struct err e = ERR_INIT;
    struct stat st;
    char path[700];
    struct buf vars = BUF_INIT(4096);
    mkdir(in("cache"), 0755);
    CHECK_INT(cachedir_prepare(in("cache"), &e), 0);
    CHECK_INT(cachedir_prepare(in("cache"), &e), 0);
    CHECK(has(text_of(in("cache/apt.conf")), "Dir::Cache::archives"));
    CHECK(stat(in("cache/apt/archives/partial"), &st) == 0);
    uid_t other = geteuid() == 0 ? 4321 : geteuid();
    cachedir_variables(in("cache"), other, getegid(), &vars);
    snprintf(path, sizeof(path), "PIP_CACHE_DIR=%s/%u/pip", in("cache"), (unsigned)other);
    CHECK_STR(vars.p, path);
    CHECK(stat(path + strlen("PIP_CACHE_DIR="), &st) == 0);
    CHECK_INT(st.st_uid, other);
    buf_reset(&vars);
    cachedir_variables("", other, 0, &vars);
    CHECK_INT(vars.n, 0);
    buf_release(&vars);
}

TEST(a_file_of_an_earlier_version_is_known_when_its_folder_is_gone)
{
    static const char other[] = "Dir::Cache::archives \"/nonexistent/\";\n";
    struct err e = ERR_INIT;
    char gone[300] = "", conf[700], old[700];
    snprintf(conf, sizeof(conf), "%s", in(CACHEDIR_LEFTOVER + 1));
    CHECK(!cachedir_leftover(t_dir(), gone, sizeof(gone)));
    mkdir(in("etc"), 0755);
    mkdir(in("etc/apt"), 0755);
    mkdir(in("etc/apt/apt.conf.d"), 0755);
    mkdir(in("old"), 0755);
    CHECK_INT(cachedir_prepare(in("old"), &e), 0);
    CHECK_INT(rename(in("old/apt.conf"), conf), 0);
    CHECK(!cachedir_leftover(t_dir(), gone, sizeof(gone)));
    snprintf(old, sizeof(old), "%s", in("old"));
    CHECK_INT(rename(old, in("moved")), 0);
    CHECK(cachedir_leftover(t_dir(), gone, sizeof(gone)));
    snprintf(old, sizeof(old), "%s/apt/archives/", in("old"));
    CHECK_STR(gone, old);
    FILE *f = fopen(conf, "w");
    CHECK(f && fputs(other, f) >= 0 && fclose(f) == 0);
    CHECK(!cachedir_leftover(t_dir(), gone, sizeof(gone)));
}

TEST(a_folder_that_cannot_be_a_cache_is_refused)
{
    struct err e = ERR_INIT;
    char longer[300];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = 0;
    CHECK_INT(cachedir_prepare(longer, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(cachedir_prepare("/tmp/\"; quoted", &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(cachedir_prepare(in("nowhere"), &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
}

T_MAIN
