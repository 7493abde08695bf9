/* SPDX-License-Identifier: MIT */
/* One call of git, with the options that git.h promises. */
#include "base/log.h"
#include "base/xalloc.h"
#include "git/own.h"
#include "io/job_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OFF_MAX = 64 };

/*
 * git-config(1): turns off settings by which a repository could run a program, or use
 * much memory. A folder of another user is accepted: we do not write to it, and its owner
 * cannot make us run anything.
 */
static const char *const options[] = {
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.askPass=true",
    "core.sshCommand=false",
    "core.quotePath=false",
    "core.packedGitWindowSize=32m",
    "core.packedGitLimit=256m",
    "credential.helper=",
    "protocol.allow=never",
    "log.showSignature=false",
    "color.ui=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "safe.directory=*",
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

/* ---- the environment ---- */

static bool passes(const char *variable)
{
    static const char *const kept[] = {"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=",
                                       "GIT_CONFIG_NOSYSTEM=", "GIT_EXEC_PATH="};
    if (strncmp(variable, "GIT_", 4) != 0)
        return strncmp(variable, "LC_ALL=", 7) != 0;
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
            return true;
    }
    return false;
}

static char **make_env(const struct git *g)
{
    static const char *const ours[] = {"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
                                       "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat",
                                       "LC_ALL=C"};
    enum { OURS = sizeof(ours) / sizeof(ours[0]) };
    size_t n = 0, had = 0;
    while (g->q->env[had])
        had++;
    char **env = xcalloc(had + OURS + 5, sizeof(*env));
    for (size_t i = 0; i < had; i++) {
        if (passes(g->q->env[i]))
            env[n++] = g->q->env[i];
    }
    for (size_t i = 0; i < OURS; i++)
        env[n++] = (char *)ours[i];
    for (size_t i = 0; i < 4 && g->extra[i]; i++)
        env[n++] = (char *)g->extra[i];
    return env;
}

/* ---- a call ---- */

/* The last line of its error output, without the final newlines. */
static struct str last_said(const struct buf *said)
{
    struct str all = str_trim(buf_str(said)), line = all;
    while (all.n > 0)
        line = str_cut(&all, '\n');
    return line;
}

static int call(struct git *g, const char *const *args, struct err *e)
{
    const char **argv = xcalloc(2 + 2 * (OPTIONS + OFF_MAX) + GIT_ARGS_MAX + 1,
                                sizeof(*argv));
    char what[64];
    struct buf said = BUF_INIT(GIT_SAID_MAX);
    size_t n = 0;
    int status = 0;
    argv[n++] = "git";
    argv[n++] = "--no-pager";
    for (size_t i = 0; i < OPTIONS; i++) {
        argv[n++] = "-c";
        argv[n++] = options[i];
    }
    for (size_t i = 0; g->off && g->off[i]; i++) {
        argv[n++] = "-c";
        argv[n++] = g->off[i];
    }
    for (size_t i = 0; args[i]; i++) {
        BUG_ON(i == GIT_ARGS_MAX);
        argv[n++] = args[i];
    }
    argv[n] = NULL;
    snprintf(what, sizeof(what), "git %.40s", args[0]);
    free(g->env);
    g->env = make_env(g);
    buf_reset(&g->text);
    struct job_run q = {.what = what,
                        .argv = (char *const *)argv,
                        .env = g->env,
                        .cwd = g->path,
                        .in = -1,
                        .out = g->out_fd < 0 ? &g->text : NULL,
                        .out_fd = g->out_fd,
                        .err = &said,
                        .err_fd = -1,
                        .quiet_ms = GIT_CALL_MS,
                        .within_ms = GIT_CALL_MS};
    int rc = job_run(&q, &status, e);
    if (rc < 0 && e->code == ERR_NOTFOUND && access(g->path, F_OK) == 0)
        err_set(e, ERR_UNSUPPORTED,
                "cannot run git: there is no git in PATH; install the package git");
    if (rc == 0 && WIFEXITED(status) && WEXITSTATUS(status) < 2)
        rc = WEXITSTATUS(status);
    else if (rc == 0)
        rc = err_set(e, ERR_IO, "%s failed: %.*s", what, STR_ARG(last_said(&said)));
    buf_release(&said);
    free(argv);
    return rc;
}

/* ---- filters of a stranger's repository ---- */

static int turn_off(struct git *g, struct str driver, size_t *n, struct err *e)
{
    static const char *const kinds[] = {"clean", "smudge", "process", "required"};
    if (*n + 4 >= OFF_MAX || str_chr(driver, '=') >= 0 || driver.n > 200)
        return err_set(e, ERR_DENIED,
                       "the repository %.200s of another user has too many filters, or "
                       "one with a strange name",
                       g->root);
    for (size_t i = 0; i < 4; i++) {
        struct buf b = BUF_INIT(300);
        buf_addf(&b, "%.*s.%s=%s", STR_ARG(driver), kinds[i], i == 3 ? "false" : "");
        g->off[(*n)++] = buf_take(&b);
    }
    return 0;
}

/* "filter.NAME.clean" → "filter.NAME" */
static struct str driver_of(struct str key)
{
    size_t n = key.n;
    while (n > 0 && key.p[n - 1] != '.')
        n--;
    return str_sub(key, 0, n > 0 ? n - 1 : 0);
}

static int check_owner(struct git *g, struct err *e)
{
    struct stat st;
    size_t n = 0;
    int rc, out_fd = g->out_fd;
    char git[PATH_MAX + 8];
    g->checked = true;
    snprintf(git, sizeof(git), "%s/.git", g->root);
    if (stat(git, &st) == 0 && st.st_uid == geteuid())
        return 0;
    g->out_fd = -1;
    rc = call(g,
              (const char *const[]){"config", "--null", "--name-only", "--get-regexp",
                                    "^filter\\.", NULL},
              e);
    g->out_fd = out_fd;
    g->off = xcalloc(OFF_MAX + 1, sizeof(*g->off));
    struct str rest = buf_str(&g->text);
    while (rc == 0 && rest.n > 0) {
        struct str driver = driver_of(str_cut(&rest, 0));
        if (driver.n > 6 && turn_off(g, driver, &n, e) < 0)
            rc = -1;
    }
    return rc < 0 ? -1 : 0;
}

void git_leave(struct git *g)
{
    for (size_t i = 0; g->off && g->off[i]; i++)
        free(g->off[i]);
    free(g->off);
    g->off = NULL;
    g->checked = false;
}

int git_run(struct git *g, struct err *e, const char *const *args)
{
    if (!g->checked && check_owner(g, e) < 0)
        return -1;
    return call(g, args, e);
}

int git_line(struct git *g, char *out, size_t size, struct err *e,
             const char *const *args)
{
    int rc = git_run(g, e, args);
    struct str rest = buf_str(&g->text), line = str_cut(&rest, '\n');
    out[0] = 0;
    if (rc < 0 && e->code != ERR_IO)
        return -1;
    if (rc < 0)
        *e = (struct err)ERR_INIT;
    if (rc == 0 && line.n < size) {
        memcpy(out, line.p, line.n);
        out[line.n] = 0;
    }
    return 0;
}
