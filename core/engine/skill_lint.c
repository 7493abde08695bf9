/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a text, by the programs that the image has: each is given it as
 * standard input, says on standard error what it minds, and is done within seconds.
 * One that is not there minds nothing.
 */
#include "engine/skill_own.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINT_MS = 10000, LINT_CPU_S = 10, LINT_TEXT_MAX = 64 << 10 };

/* The last line of a check that failed: a warning alone is no failure. */
#define FAILED "@@"
#define CHECK(tool, command) \
    "command -v " tool " >/dev/null || exit 0; " command " >/dev/null || echo " FAILED \
    " >&2"

static const char python[] = CHECK(
    "python3", "python3 -I -c 'import sys\n"
               "try:\n"
               "    compile(sys.stdin.buffer.read(), sys.argv[1], \"exec\")\n"
               "except (SyntaxError, ValueError) as e:\n"
               "    sys.exit(\"%s:%s:%s: E999 %s: %s\" % (sys.argv[1],\n"
               "        getattr(e, \"lineno\", 1), getattr(e, \"offset\", 1),\n"
               "        type(e).__name__, getattr(e, \"msg\", e)))' \"$1\"");

static const struct checker {
    const char *ending, *script; /* of sh; NULL: JSON, which we know */
} checkers[] = {
    {".py", python},
    {".js", CHECK("node", "node --check -")},
    {".cjs", CHECK("node", "node --check -")},
    {".mjs", CHECK("node", "node --input-type=module --check -")},
    {".sh", CHECK("bash", "bash -n")},
    {".bash", CHECK("bash", "bash -n")},
    {".go", CHECK("gofmt", "gofmt -e")},
    {".rb", CHECK("ruby", "ruby -c")},
    {".php", CHECK("php", "php -d display_errors=stderr -l")},
    {".json", NULL},
};

static const struct checker *checker_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof(checkers) / sizeof(checkers[0]); i++)
        if (strcasecmp(dot, checkers[i].ending) == 0)
            return &checkers[i];
    return NULL;
}

/* ---- the helper ---- */

struct lint_ask {
    const char *script, *path;
};

/* Becomes the shell that becomes the checker; without one it is done. */
static int child(void *arg, const struct job_child *c, struct err *e)
{
    const struct lint_ask *a = arg;
    int null = open("/dev/null", O_WRONLY);
    (void)e;
    if (null < 0 || dup2(c->fds[0], 0) < 0 || dup2(1, 2) < 0 || dup2(null, 1) < 0 ||
        fcntl(c->control, F_SETFD, 0) < 0) /* while it is open, the job goes on */
        return 0;
    execl("/bin/sh", "sh", "-c", a->script, "sh", a->path, (char *)NULL);
    return 0;
}

static void end(struct skill_run *r)
{
    struct str said = buf_str(&r->raw);
    timer_stop(&r->lint_timer);
    r->job = NULL;
    if (str_ends(said, STR(FAILED "\n")))
        said.n -= sizeof(FAILED);
    else
        said.n = 0;
    r->lint_done(r, said);
}

static void on_data(struct job *j, struct buf *in)
{
    struct skill_run *r = job_owner(j);
    struct str got = buf_str(in);
    /* Of more than there is room for, the end is not needed but for its mark. */
    if (r->raw.n + got.n > LINT_TEXT_MAX && r->raw.n > LINT_TEXT_MAX / 2)
        buf_truncate(&r->raw, LINT_TEXT_MAX / 2);
    buf_adds(&r->raw, str_sub(got, got.n > 4096 ? got.n - 4096 : 0, got.n));
    buf_consume(in, in->n);
}

static void on_done(struct job *j, const struct err *e)
{
    (void)e; /* it left no result: it became another program */
    end(job_owner(j));
}

static const struct job_events events = {on_data, NULL, NULL, on_done, NULL};

static void on_late(struct timer *t)
{
    struct skill_run *r = container_of(t, struct skill_run, lint_timer);
    job_cancel(r->job);
    buf_reset(&r->raw);
    end(r);
}

/* The text as a file without a name, at its beginning; -1: there can be none. */
static int as_file(struct str text)
{
    int fd = memfd_create("od-lint", MFD_CLOEXEC);
    while (fd >= 0 && text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        text = str_sub(text, (size_t)n, text.n);
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static void check_json(const char *path, struct str text, struct buf *out)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    if (!j)
        buf_addf(out, "%s: %s", path, e.text);
    json_free(j);
}

bool lint_start(struct skill_run *r, const char *path, struct str text,
                lint_done_fn *done)
{
    const struct checker *k = checker_of(path);
    struct err e = ERR_INIT;
    if (!k)
        return false;
    r->lint_done = done;
    buf_reset(&r->raw);
    if (!k->script) {
        check_json(path, text, &r->raw);
        done(r, buf_str(&r->raw));
        return true;
    }
    struct lint_ask a = {k->script, path};
    int fd = as_file(text);
    struct job_spec s = {.what = "checking a file",
                         .fn = child,
                         .arg = &a,
                         .fds = &fd,
                         .fds_n = 1,
                         .cpu_s = LINT_CPU_S,
                         .ev = &events,
                         .owner = r};
    r->job = fd >= 0 ? job_start(r->q.loop, &s, &e) : NULL;
    if (fd >= 0)
        close(fd);
    if (r->job)
        timer_begin(r->q.loop, &r->lint_timer, LINT_MS, on_late);
    return r->job != NULL;
}

/* ---- what is new ---- */

/* The same but for their numbers, which an edit moves. */
static bool alike(struct str a, struct str b)
{
    size_t i = 0, k = 0;
    for (;;) {
        while (i < a.n && a.p[i] >= '0' && a.p[i] <= '9')
            i++;
        while (k < b.n && b.p[k] >= '0' && b.p[k] <= '9')
            k++;
        if (i == a.n || k == b.n)
            return i == a.n && k == b.n;
        if (a.p[i++] != b.p[k++])
            return false;
    }
}

void lint_subtract(struct buf *out, struct str now, struct str before)
{
    while (now.n > 0) {
        struct str line = str_cut(&now, '\n'), rest = before;
        bool known = false;
        while (!known && rest.n > 0)
            known = alike(line, str_cut(&rest, '\n'));
        if (!known) {
            buf_adds(out, line);
            buf_addc(out, '\n');
        }
    }
}
