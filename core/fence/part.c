/* SPDX-License-Identifier: MIT */
/*
 * The options of the fence, and the worker's side: its helper jobs run within it. The
 * state at the keeper has a key that an od without fences does not claim, so that such a
 * one cannot become the worker by an upgrade.
 */
#include "base/log.h"
#include "base/option.h"
#include "engine/engine.h"
#include "engine/part.h"
#include "fence/fence.h"
#include "fence/rules.h"
#include "os/file.h"
#include "os/within.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option_row rows[] = {
    {.name = "fence",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_FENCE",
     .about =
         "let programs write, read, see and reach only what the rules in FILE allow (see "
         "od help fence), and the file actions of clients too. The server refuses to "
         "start where the kernel cannot enforce them"},
    {.name = "fence-write",
     .type = OPTION_LIST,
     .value = "PATH",
     .env = "OD_FENCE_WRITE",
     .about = "the same as a line \"write PATH\" of --fence; with or without FILE"},
    {.name = "fence-hide",
     .type = OPTION_LIST,
     .value = "PATH",
     .env = "OD_FENCE_HIDE",
     .about = "the same as a line \"hide PATH\""},
    {.name = "fence-reach",
     .type = OPTION_LIST,
     .value = "HOST[:PORT]",
     .env = "OD_FENCE_REACH",
     .about = "the same as a line \"reach HOST\": programs connect to what these lines "
              "name, and to nothing else"},
    {.name = "fence-listen",
     .type = OPTION_LIST,
     .value = "PORT[-PORT]",
     .env = "OD_FENCE_LISTEN",
     .about = "the same as a line \"listen PORT\": programs listen on these ports only"},
    {.name = "fence-secret",
     .type = OPTION_LIST,
     .value = "RULE",
     .env = "OD_FENCE_SECRET",
     .about = "the same as a line \"secret RULE\", as \"CODE_TOKEN code.example from "
              "/run/secrets/code\": programs use the secret without having it"},
    {.name = "fence-learn",
     .type = OPTION_SWITCH,
     .env = "OD_FENCE_LEARN",
     .about = "refuse nothing that a line could allow, and write down the lines: od "
              "fence learn prints them. With a line for files such lines hold as always, "
              "and none are learned"},
    {.name = "fence-lax",
     .type = OPTION_SWITCH,
     .env = "OD_FENCE_LAX",
     .about = "start also where the kernel cannot enforce a line; the log and --status "
              "name what is not enforced"},
    {.name = NULL},
};

static int add_items(const struct options *given, const char *name, const char *what,
                     const char *home, struct json *rules, struct err *e)
{
    const char *item;
    char space[64];
    for (unsigned i = 0; (item = option_item(given, name, i)); i++) {
        if (fence_add(str_of(item), what, option_source(given, name, space), home, rules,
                      e) < 0)
            return -1;
    }
    return 0;
}

/* Limits the network, if no line does, for there is to be something to learn. */
static int add_nothing(struct json *rules, const char *home, struct err *e)
{
    static const char *const kinds[] = {"reach", "listen"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct json *x = json_first(rules);
        while (x && !str_eq(json_str(x, "do", ""), str_of(kinds[i])))
            x = json_next(x);
        if (!x &&
            fence_add(STR("nothing"), kinds[i], "--fence-learn", home, rules, e) < 0)
            return -1;
    }
    return 0;
}

static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *file = option_text(given, "fence");
    struct json *rules = json_array(), *section = json_object();
    struct buf text = BUF_INIT(FENCE_FILE_MAX + 1);
    bool lax = option_is_on(given, "fence-lax"),
         learn = option_is_on(given, "fence-learn");
    char home[PATH_MAX];
    int rc = 0;
    json_free(*own);
    *own = NULL;
    fence_home(option_text(given, "username"), home, sizeof(home));
    if (file)
        rc = file_read(file, FENCE_FILE_MAX + 1, &text, e);
    if (file && rc == 0)
        rc = fence_parse(buf_str(&text), file, home, rules, e);
    static const char *const kinds[] = {"write", "hide", "reach", "listen", "secret"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && rc == 0; i++) {
        char name[32];
        snprintf(name, sizeof(name), "fence-%s", kinds[i]);
        rc = add_items(given, name, kinds[i], home, rules, e);
    }
    if (rc == 0 && learn)
        rc = add_nothing(rules, home, e);
    if (rc == 0 && lax && !file && json_count(rules) == 0)
        rc = err_set(e, ERR_INVALID,
                     "--fence-lax goes with --fence, or a rule as --fence-write");
    if (file)
        json_put_z(section, "file", file);
    json_put(section, "rules", rules);
    json_put_bool(section, "lax", lax);
    if (learn) {
        json_put_bool(section, "learn", true);
        json_put_z(section, "home", home);
    }
    if (rc == 0 && (file || json_count(json_get(section, "rules")) > 0))
        *own = section;
    else
        json_free(section);
    buf_release(&text);
    return rc;
}

const struct option_table fence_options = {
    .heading = "Fence", .section = "fence", .rows = rows, .prepare = prepare};

/* Does this process have CAP_SYS_PTRACE (linux/capability.h: 19)? */
static bool may_trace(void)
{
    struct buf text = BUF_INIT(8192);
    struct err e = ERR_INIT;
    bool may = false;
    if (file_read("/proc/self/status", 8192, &text, &e) == 0) {
        const char *at = strstr(buf_z(&text), "\nCapEff:");
        may = at && (strtoull(at + 8, NULL, 16) >> 19 & 1);
    }
    buf_release(&text);
    return may;
}

/*
 * The supervisor of the network looks into programs. Into one that changes its user and
 * starts no other program, as apt's do, only CAP_SYS_PTRACE may look, which a container's
 * root does not have. So there apt stays the user that it is.
 */
static void let_apt_work(struct engine *en)
{
    static const char conf[] = "APT::Sandbox::User \"root\";\n";
    char folder[PATH_MAX], path[PATH_MAX + 16];
    struct buf variable = BUF_INIT(sizeof(path) + 16);
    snprintf(folder, sizeof(folder), "%s/" FENCE_FOLDER, en->state_dir);
    snprintf(path, sizeof(path), "%s/apt.conf", folder);
    mkdir(folder, 0755);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, conf, sizeof(conf) - 1) < 0)
        log_warn("cannot write %s, so apt may fail: %m", path);
    buf_addf(&variable, "APT_CONFIG=%s%c", path, 0);
    if (fd >= 0)
        engine_env_add(en, buf_str(&variable));
    if (fd >= 0)
        close(fd);
    buf_release(&variable);
}

static void configure(struct engine *en, const struct json *options)
{
    if (json_has(options, "fence"))
        en->fence = json_copy(json_get(options, "fence"));
    if (json_bool(en->fence, "net", false) && geteuid() == 0 && en->state_dir[0] &&
        !may_trace())
        let_apt_work(en);
}

static bool take(struct engine *en, struct str name, int fd)
{
    (void)en;
    if (!str_eq(name, STR(FENCE_HELD)))
        return false;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    within_set(fd);
    return true;
}

static void serve(struct engine *en)
{
    if (en->fence && en->first)
        keeper_client_put(en->keeper, STR("fence/on"), STR("1"));
}

/* "rules" are those that were added to it (action/fence.c), "learned" what it learned. */
static void resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    bool learned = str_eq(name, STR("learned"));
    struct json *list = en->fence && (learned || str_eq(name, STR("rules")))
                            ? json_parse(state, &e)
                            : NULL;
    if (list)
        json_put(en->fence, learned ? "learned" : "added", list);
}

const struct part part_fence = {
    .key = "fence/",
    .options = &fence_options,
    .configure = configure,
    .take = take,
    .resume = resume,
    .serve = serve,
};
