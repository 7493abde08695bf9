/* SPDX-License-Identifier: MIT */
/* The Python module: python/agentskills.py, with the path of this program put in. */
#include "skill/python.h"

#include "archive/zip_text.h"
#include "base/limits.h"
#include "base/log.h"
#include "file/files.h"
#include "os/file.h"
#include "os/self.h"
#include "skill/python/agentskills.py.gz.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

enum { MODULE_MAX = 256 << 10 };

static int put_path(struct buf *out)
{
    char self[PATH_MAX];
    int rc = 0;
    if (self_path(self, sizeof(self)) < 0)
        return 0;
    for (const char *c = self; rc == 0 && *c; c++)
        rc = buf_addf(out, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    return rc;
}

int skill_python(struct buf *out)
{
    struct buf text = BUF_INIT(MODULE_MAX);
    zip_text(&text, str_n((const char *)agentskills_py_gz, sizeof(agentskills_py_gz)));
    struct str all = buf_str(&text);
    long at = str_find(all, STR("@OD@"));
    size_t before = out->n, from = (size_t)at;
    int rc = 0;
    if (buf_adds(out, str_sub(all, 0, from)) < 0 || put_path(out) < 0 ||
        buf_adds(out, str_sub(all, from + 4, all.n)) < 0) {
        buf_truncate(out, before);
        rc = -1;
    }
    buf_release(&text);
    return rc;
}

/* The kernel may have any user, so all can read it, like a module of the system. */
static int write_module(const char *dir)
{
    struct buf text = BUF_INIT(MODULE_MAX), path = BUF_INIT(PATH_MAX);
    struct buf there = BUF_INIT(MODULE_MAX);
    struct files_put put = {.mode = 0644};
    struct err e = ERR_INIT;
    buf_addf(&path, "%s/agentskills.py", dir);
    int rc = skill_python(&text);
    if (rc == 0 && file_read(buf_z(&path), MODULE_MAX, &there, NULL) == 0 &&
        str_eq(buf_str(&there), buf_str(&text)))
        rc = 1; /* it has this program's module */
    if (rc == 0 && mkdir(dir, 0755) < 0 && errno != EEXIST)
        rc = err_sys(&e, errno, "cannot make %s", dir);
    if (rc == 0)
        rc = files_replace(buf_z(&path), buf_str(&text), &put, &e);
    if (rc < 0)
        log_warn("kernels will not find agentskills: %s", e.text);
    if (rc == 0) {
        chmod(dir, 0755); /* whatever our umask is */
        chmod(buf_z(&path), 0644);
    }
    buf_release(&text);
    buf_release(&there);
    buf_release(&path);
    return rc < 0 ? -1 : 0;
}

/* Finds the last variable of this name in strings that end in NUL. */
static struct str value_of(struct str env, struct str name)
{
    struct str found = {0};
    while (env.n > 0) {
        struct str one = str_cut(&env, 0);
        if (str_starts(one, name))
            found = str_sub(one, name.n, one.n);
    }
    return found;
}

void skill_python_env(struct engine *en, struct buf *env)
{
    char dir[sizeof(en->state_dir) + 8];
    struct buf path = BUF_INIT(LIMIT_SPAWN_MAX);
    const char *ours = env_get(en->env, "PYTHONPATH");
    snprintf(dir, sizeof(dir), "%s/python", en->state_dir);
    if (en->socket[0] && !value_of(buf_str(env), STR("OD_SOCKET=")).p) {
        buf_addf(env, "OD_SOCKET=%s", en->socket);
        buf_addc(env, 0);
    }
    struct str given = value_of(buf_str(env), STR("PYTHONPATH=")); /* until env grows */
    if (en->state_dir[0] && write_module(dir) == 0) {
        buf_addf(&path, "PYTHONPATH=%s", dir);
        if (given.n || (!given.p && ours && *ours)) {
            buf_addc(&path, ':');
            buf_adds(&path, given.p ? given : str_of(ours));
        }
        buf_addc(&path, 0);
        buf_adds(env, buf_str(&path));
    }
    buf_release(&path);
}
