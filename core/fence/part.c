/* SPDX-License-Identifier: MIT */
/*
 * The options of the fence, and the worker's side: its helper jobs run within it. The
 * state at the keeper has a key that an od without fences does not claim, so that such a
 * one cannot become the worker by an upgrade.
 */
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

static const struct option_row rows[] = {
    {.name = "fence",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_FENCE",
     .about =
         "let programs write, read and see only what the rules in FILE allow (see od "
         "help fence), and the file actions of clients too. The server refuses to "
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

static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *file = option_text(given, "fence");
    struct json *rules = json_array(), *section = json_object();
    struct buf text = BUF_INIT(FENCE_FILE_MAX + 1);
    bool lax = option_is_on(given, "fence-lax");
    char home[PATH_MAX];
    int rc = 0;
    json_free(*own);
    *own = NULL;
    fence_home(option_text(given, "username"), home, sizeof(home));
    if (file)
        rc = file_read(file, FENCE_FILE_MAX + 1, &text, e);
    if (file && rc == 0)
        rc = fence_parse(buf_str(&text), file, home, rules, e);
    if (rc == 0)
        rc = add_items(given, "fence-write", "write", home, rules, e);
    if (rc == 0)
        rc = add_items(given, "fence-hide", "hide", home, rules, e);
    if (rc == 0 && lax && !file && json_count(rules) == 0)
        rc = err_set(e, ERR_INVALID,
                     "--fence-lax goes with --fence, --fence-write or "
                     "--fence-hide");
    if (file)
        json_put_z(section, "file", file);
    json_put(section, "rules", rules);
    json_put_bool(section, "lax", lax);
    if (rc == 0 && (file || json_count(json_get(section, "rules")) > 0))
        *own = section;
    else
        json_free(section);
    buf_release(&text);
    return rc;
}

const struct option_table fence_options = {
    .heading = "Fence", .section = "fence", .rows = rows, .prepare = prepare};

static void configure(struct engine *en, const struct json *options)
{
    if (json_has(options, "fence"))
        en->fence = json_copy(json_get(options, "fence"));
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
        hold_put(en->hold, STR("fence/on"), STR("1"));
}

static void resume(struct engine *en, struct str name, struct str state)
{
    (void)en;
    (void)name;
    (void)state;
}

const struct part part_fence = {
    .key = "fence/",
    .options = &fence_options,
    .configure = configure,
    .take = take,
    .resume = resume,
    .serve = serve,
};
