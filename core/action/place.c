/* SPDX-License-Identifier: MIT */
/* The directory of an action and the notes of what it did; both survive a restart. */
#include "action/outside.h"
#include "action/own.h"

#include "action/python/no_colours.py.h"
#include "action/python/skills.py.h"
#include "base/xalloc.h"
#include "engine/state.h"
#include "kernel/kernel.h"
#include "setup/plugins.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- where ---- */

static const char prefix[] = "native/"; /* and the action's key: its directory */

static void load_one(void *arg, struct str key, struct str cwd)
{
    struct actions *all = arg;
    map_put(&all->places, key, xstrndup(cwd.p, cwd.n));
}

void places_load(struct actions *all) { state_each_text(all->en, prefix, load_one, all); }

int action_place(struct action *a, struct sandbox_place *p, struct err *e)
{
    struct actions *all = a->all;
    const char *before = map_get(&all->places, str_of(a->key));
    if (sandbox_place(all->en->sandbox, str_of(a->session), p, e) < 0)
        return -1;
    if (before)
        snprintf(p->cwd, sizeof(p->cwd), "%s", before);
    else
        state_put_text(all->en, prefix, a->key, str_of(p->cwd));
    a->placed = true;
    return 0;
}

/* ---- what was done ---- */

static const char notes[] = "/done";

static int note_path(const struct actions *all, const char *key, char *path, size_t n)
{
    if (!all->en->state_dir[0])
        return -1;
    snprintf(path, n, "%s%s%s%s", all->en->state_dir, notes, *key ? "/" : "", key);
    return 0;
}

int action_note(struct action *a)
{
    char path[sizeof(a->all->en->state_dir) + sizeof(notes) + ACTION_KEY + 2];
    if (note_path(a->all, "", path, sizeof(path)) < 0)
        return -1;
    mkdir(path, 0700);
    note_path(a->all, a->key, path, sizeof(path));
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    a->noting = fd >= 0;
    return fd;
}

static void drop_note(const struct actions *all, const char *key)
{
    char path[sizeof(all->en->state_dir) + sizeof(notes) + ACTION_KEY + 2];
    if (note_path(all, key, path, sizeof(path)) == 0)
        unlink(path);
}

/* Removes the notes of actions that have ended, or that an earlier server had. */
static void drop_notes(const struct actions *all)
{
    char path[sizeof(all->en->state_dir) + sizeof(notes) + 1];
    DIR *d = note_path(all, "", path, sizeof(path)) == 0 ? opendir(path) : NULL;
    for (struct dirent *f; d && (f = readdir(d));) {
        if (strlen(f->d_name) == ACTION_KEY && !outside_find(all, f->d_name))
            drop_note(all, f->d_name);
    }
    if (d)
        closedir(d);
}

void places_loaded(struct actions *all)
{
    struct str key;
    void *value;
    for (struct action *a = NULL; (a = actions_next(all, a));)
        a->placed = a->placed || map_get(&all->places, str_of(a->key));
    for (void *at = NULL; (at = map_next(&all->places, at, &key, &value));) {
        char name[ACTION_KEY + 1] = "";
        memcpy(name, key.p, key.n < ACTION_KEY ? key.n : ACTION_KEY);
        if (!outside_find(all, name))
            state_drop(all->en, prefix, name);
    }
    drop_notes(all);
}

void place_forget(const struct action *a)
{
    if (a->placed)
        state_drop(a->all->en, prefix, a->key);
    if (a->noting)
        drop_note(a->all, a->key);
}

/* ---- the kernel of a session ---- */

struct kernel *action_kernel(const struct actions *all, struct str session, bool make,
                             struct err *e)
{
    struct engine *en = all->en;
    struct str name = str_eq(session, STR("main")) ? STR("python") : session;
    struct kernel *k = kernel_lookup(en, name);
    if (k || !make) {
        if (!k)
            err_set(e, ERR_NOTFOUND, "there is no kernel %.*s", STR_ARG(name));
        return k;
    }
    struct buf init = BUF_INIT(4096);
    buf_addz(&init, no_colours_py);
    if (plugins_has(en->plugins, STR("agent_skills")))
        buf_addz(&init, skills_py);
    struct kernel_opts o = {.cwd = str_of(sandbox_cwd(en->sandbox, session)),
                            .user = sandbox_user(en->sandbox),
                            .init = buf_str(&init)};
    k = kernel_open(en, name, &o, e);
    buf_release(&init);
    return k;
}
