/* SPDX-License-Identifier: MIT */
/*
 * Faults of a text, found by checkers in the image: each reads the text on standard
 * input, prints faults on standard error, exits with a status that is not 0, and takes
 * only seconds. A missing checker finds nothing.
 */
#include "skill/own.h"

#include "os/file.h"
#include "skill/python/check.py.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LINT_MS = 10000, LINT_CPU_S = 10, LINT_TEXT_MAX = 64 << 10 };

enum { WORDS_MAX = 7 };

static const struct checker {
    const char *ending;
    const char *called; /* its name for its input, at the beginning of a line */
    const char *words[WORDS_MAX];
} checkers[] = {
    {".py", NULL, {"python3", "-I", "-c", check_py}}, /* and the file's name */
    {".js", "[stdin]", {"node", "--check", "-"}},
    {".cjs", "[stdin]", {"node", "--check", "-"}},
    {".mjs", "[stdin]", {"node", "--input-type=module", "--check", "-"}},
    {".sh", "bash", {"bash", "-n"}},
    {".bash", "bash", {"bash", "-n"}},
    {".go", "<standard input>", {"gofmt", "-e"}},
    {".rb", "-", {"ruby", "-c"}},
    {".php", NULL, {"php", "-d", "display_errors=stderr", "-d", "log_errors=0", "-l"}},
    {".json", NULL, {NULL}}, /* checked by ourselves */
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

/* Its lines, with the file's own name, and without places in node's own code. */
static void put_said(struct buf *out, struct str said, const char *path)
{
    static const struct str php = STR("Standard input code");
    struct str called = str_of(checker_of(path)->called);
    while (said.n > 0) {
        struct str line = str_cut(&said, '\n');
        long at = str_find(line, php);
        if (str_starts(line, STR("    at ")) || str_starts(line, STR("Node.js v")))
            continue;
        if (called.n > 0 && str_starts(line, called)) {
            buf_addz(out, path);
            line = str_sub(line, called.n, line.n);
        } else if (!called.n && at >= 0) {
            buf_adds(out, str_sub(line, 0, (size_t)at));
            buf_addz(out, path);
            line = str_sub(line, (size_t)at + php.n, line.n);
        }
        buf_adds(out, line);
        buf_addc(out, '\n');
    }
}

static void end(struct skill_run *r, struct str said)
{
    struct buf out = BUF_INIT(2 * LINT_TEXT_MAX);
    ASSERT(r->job); /* lint_done is called once */
    timer_stop(&r->lint_timer);
    r->job = NULL;
    put_said(&out, said, r->lint_path);
    r->lint_done(r, str_trim(buf_str(&out)));
    buf_release(&out);
}

static void on_data(struct job *j, struct buf *in)
{
    struct skill_run *r = job_owner(j);
    struct str got = buf_str(in);
    buf_adds(&r->raw, str_sub(got, 0, LINT_TEXT_MAX - r->raw.n)); /* the first faults */
    buf_consume(in, in->n);
}

static void on_done(struct job *j, const struct err *e)
{
    struct skill_run *r = job_owner(j);
    /* A warning is not a fault; a program that is missing or fails itself finds none. */
    end(r, e->code == ERR_INVALID ? buf_str(&r->raw) : STR(""));
}

static const struct job_events events = {on_data, NULL, NULL, on_done, NULL};

static void on_late(struct timer *t)
{
    struct skill_run *r = container_of(t, struct skill_run, lint_timer);
    job_cancel(r->job);
    end(r, STR(""));
}

static void check_json(const char *path, struct str text, struct buf *out)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    if (!j)
        buf_addf(out, "%s: %s", path, e.text);
    json_free(j);
}

static struct job *start(struct skill_run *r, const struct checker *k, const char *path,
                         struct str text)
{
    const char *argv[WORDS_MAX + 2] = {NULL};
    struct err e = ERR_INIT;
    int n = 0, fd = file_of_text("od-lint", text);
    while (k->words[n]) {
        argv[n] = k->words[n];
        n++;
    }
    if (k == checkers)
        argv[n] = path;
    struct job_spec s = {.what = "checking a file",
                         .program = (char *const *)argv,
                         .fds = &fd,
                         .fds_n = 1,
                         .cpu_s = LINT_CPU_S,
                         .ev = &events,
                         .owner = r};
    struct job *j = fd >= 0 ? job_start(r->q.loop, &s, &e) : NULL;
    if (fd >= 0)
        close(fd);
    return j;
}

bool lint_start(struct skill_run *r, const char *path, struct str text,
                lint_done_fn *done)
{
    const struct checker *k = checker_of(path);
    if (!k)
        return false;
    r->lint_done = done;
    r->lint_path = path;
    buf_reset(&r->raw);
    if (!k->words[0]) {
        check_json(path, text, &r->raw);
        done(r, buf_str(&r->raw));
        return true;
    }
    r->job = start(r, k, path, text);
    if (r->job)
        timer_begin(r->q.loop, &r->lint_timer, LINT_MS, on_late);
    return r->job != NULL;
}

/* ---- faults ---- */

/* "PATH:LINE:COLUMN: TEXT", the form of most checkers, as far as its parts are known. */
bool lint_take(struct str line, struct str path, struct lint_fault *f)
{
    struct str rest, number, column;
    *f = (struct lint_fault){0};
    if (str_starts(line, path) && line.n > path.n && line.p[path.n] == ':')
        line = str_trim(str_sub(line, path.n + 1, line.n));
    f->words = rest = line;
    number = str_cut(&rest, ':');
    if (str_starts(number, STR("line ")))
        number = str_sub(number, 5, number.n);
    if (str_to_u64(number, &f->line) < 0)
        return false;
    f->words = rest;
    column = str_cut(&rest, ':');
    f->column_known = str_to_u64(column, &f->column) == 0;
    if (f->column_known)
        f->words = rest;
    f->words = str_trim(f->words);
    return true;
}

void lint_first(struct str faults, struct str path, struct lint_fault *f)
{
    static const struct str error = STR("Error: ");
    *f = (struct lint_fault){0};
    while (faults.n > 0) {
        struct lint_fault one;
        lint_take(str_cut(&faults, '\n'), path, &one);
        long at = str_find(one.words, error);
        f->line = f->line ? f->line : one.line;
        if (at < 0 && f->words.n > 0)
            continue;
        f->words = at < 0 ? one.words
                          : str_sub(one.words, (size_t)at + error.n, one.words.n);
        if (at >= 0)
            break;
    }
}

/* ---- what is new ---- */

/* Whether two are equal except for their line numbers, which an edit moves. */
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
