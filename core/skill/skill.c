/* SPDX-License-Identifier: MIT */
/*
 * The arguments and the life of a call:
 *
 *   started ──► a search, a document or a helper runs ──► done
 *      └──────► the text is complete already ───────────► done, at the turn's end
 */
#include "skill/skill.h"

#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/browsing.h"
#include "document/document.h"
#include "skill/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static const struct param *param_of(const struct skill *s, struct str name)
{
    for (const struct param *p = s->takes.params; p->name; p++)
        if (str_eq(name, str_of(p->name)))
            return p;
    return NULL;
}

static bool fits(const struct param *p, const struct json *j)
{
    switch (p->type) {
    case PARAM_INT: /* the editor accepts a number as a string */
        return json_int_value(j, INT64_MIN) != INT64_MIN ||
               (strcmp(p->name, "insert_line") == 0 && json_is_string(j));
    case PARAM_BOOL:
        return json_is_bool(j);
    case PARAM_INTS:
        return json_is_array(j);
    default:
        return json_is_string(j);
    }
}

static int check_args(const struct skill *s, const struct json *args, struct err *e)
{
    static const char *const types[] = {[PARAM_STRING] = "a string",
                                        [PARAM_TEXT] = "a string",
                                        [PARAM_INT] = "a whole number",
                                        [PARAM_INTS] = "a list of whole numbers",
                                        [PARAM_BOOL] = "true or false"};
    if (!json_is_object(args))
        return err_set(e, ERR_INVALID, "the arguments of %s are an object", s->name);
    for (const struct json *j = json_first(args); j; j = json_next(j)) {
        const struct param *p = param_of(s, str_of(json_name(j)));
        if (!p)
            return err_set(e, ERR_INVALID, "%s has no argument %.100s", s->name,
                           json_name(j));
        if (!json_is_null(j) && !fits(p, j))
            return err_set(e, ERR_INVALID, "%s: %s must be %s", s->name, p->name,
                           types[p->type]);
    }
    for (const struct param *p = s->takes.params; p->name; p++) {
        const struct json *j = json_get(args, p->name);
        if (p->required && (!j || json_is_null(j)))
            return err_set(e, ERR_INVALID, "%s needs an argument %s: %s", s->name,
                           p->name, p->about);
    }
    return 0;
}

/* Defaults of strings have no escapes. */
struct str skill_str(const struct skill_run *r, const char *name)
{
    BUG_ON(!r->q.args);
    const struct json *j = json_get(r->q.args, name);
    struct str dflt = str_of(param_of(r->q.skill, str_of(name))->dflt);
    if (j && !json_is_null(j))
        return json_str_value(j, "");
    if (dflt.n < 2 || dflt.p[0] != '"')
        return (struct str){0};
    return str_sub(dflt, 1, dflt.n - 2);
}

int64_t skill_int(const struct skill_run *r, const char *name)
{
    BUG_ON(!r->q.args);
    const struct json *j = json_get(r->q.args, name);
    const char *dflt = param_of(r->q.skill, str_of(name))->dflt;
    return json_int_value(j, dflt ? strtoll(dflt, NULL, 10) : 0);
}

bool skill_bool(const struct skill_run *r, const char *name)
{
    BUG_ON(!r->q.args);
    return json_bool(r->q.args, name, false);
}

/* Makes a/./b//../c into a/c, as os.path.abspath. Returns -1 if it is too long. */
static int normal_path(const char *cwd, struct str path, char out[PATH_MAX])
{
    struct str parts[2] = {str_of(cwd), path};
    size_t n = 0;
    for (int i = path.n > 0 && path.p[0] == '/'; i < 2; i++) {
        while (parts[i].n > 0) {
            struct str part = str_cut(&parts[i], '/');
            if (part.n == 0 || str_eq(part, STR(".")))
                continue;
            if (str_eq(part, STR(".."))) {
                while (n > 0 && out[--n] != '/')
                    continue;
                continue;
            }
            if (n + part.n + 2 > PATH_MAX)
                return -1;
            out[n++] = '/';
            memcpy(out + n, part.p, part.n);
            n += part.n;
        }
    }
    if (n == 0)
        out[n++] = '/';
    out[n] = 0;
    return 0;
}

int skill_path(struct skill_run *r, const char *name, char shown[PATH_MAX],
               char path[PATH_MAX])
{
    struct str given = skill_str(r, name);
    if (given.n == 0 || given.n >= PATH_MAX || normal_path(r->q.cwd, given, path) < 0) {
        skill_fail(r, "File %.*s not found.", given.n > 400 ? 400 : (int)given.n,
                   given.n ? given.p : "");
        return -1;
    }
    memcpy(shown, given.p, given.n);
    shown[given.n] = 0;
    return 0;
}

/*
 * Resolves ~/a and file:///a to paths; out has room for PATH_MAX. Returns -1 if it is too
 * long.
 */
static int plain_path(const struct skill_run *r, struct str given, char *out)
{
    struct str file = STR("file://"), home = {0};
    if (str_starts(given, file))
        given = str_sub(given, file.n, given.n);
    bool tilde = str_eq(given, STR("~")) || str_starts(given, STR("~/"));
    if (tilde && r->q.home) {
        home = str_of(r->q.home);
        given = str_sub(given, 1, given.n);
    }
    if (home.n + given.n >= PATH_MAX || memchr(given.p ? given.p : "", 0, given.n))
        return -1;
    snprintf(out, PATH_MAX, "%.*s%.*s", (int)home.n, home.n ? home.p : "", (int)given.n,
             given.n ? given.p : "");
    return 0;
}

int skill_place(struct skill_run *r, const char *name, char shown[PATH_MAX],
                char path[PATH_MAX])
{
    struct str given = skill_str(r, name);
    bool good = given.n > 0 && plain_path(r, given, shown) == 0 &&
                normal_path(r->q.cwd, str_of(shown), path) == 0;
    if (good)
        return 0;
    r->failed = true;
    buf_addf(&r->text, "%s is %s\n", name,
             given.n ? "longer than a path can be" : "empty; it has to name a file");
    return -1;
}

struct json *skill_facts(struct skill_run *r)
{
    if (!r->facts)
        r->facts = json_object();
    return r->facts;
}

/* ---- a call ---- */

static void on_told(struct task *t)
{
    struct skill_run *r = container_of(t, struct skill_run, told);
    skill_tell_now(r);
}

static void free_run(struct skill_run *r)
{
    timer_stop(&r->timer);
    timer_stop(&r->lint_timer);
    edit_free(r);
    editor_free(r);
    changing_free(r);
    finding_free(r);
    json_free(r->facts);
    json_free(r->noted);
    task_cancel(&r->told);
    buf_release(&r->text);
    buf_release(&r->state);
    buf_release(&r->picture);
    buf_release(&r->raw);
    free(r);
}

/* A text that is too long keeps its beginning, and a note that it is cut. */
static void cut_text(struct buf *text)
{
    enum { WORDS = 200 };
    size_t most = text->max - WORDS;
    buf_truncate(text, text->n < most ? text->n : utf8_cut(buf_str(text), most));
    buf_resume(text);
    buf_addf(text, "\n[The text is longer than %zu bytes, and is cut here.]\n",
             text->max);
}

/* The last line: it stays one line, whatever names it has. */
static void put_state(struct skill_run *r)
{
    struct buf line = BUF_INIT(r->state.max);
    utf8_repair(&line, buf_str(&r->state), true);
    for (size_t i = 0; i < line.n; i++)
        if ((unsigned char)line.p[i] < ' ')
            line.p[i] = ' ';
    buf_release(&r->state);
    r->state = line;
    if (r->text.n > 0 && r->text.p[r->text.n - 1] != '\n')
        buf_addc(&r->text, '\n');
    buf_addf(&r->text, "[%s]\n", buf_z(&r->state));
}

void skill_tell_now(struct skill_run *r)
{
    timer_stop(&r->timer);
    if (buf_full(&r->text))
        cut_text(&r->text);
    if (r->failed)
        buf_reset(&r->state);
    else if (r->state.n > 0)
        put_state(r);
    struct skill_result result = {.text = str_n(buf_z(&r->text), r->text.n),
                                  .failed = r->failed,
                                  .state = str_n(buf_z(&r->state), r->state.n),
                                  .facts = r->facts,
                                  .picture = buf_str(&r->picture),
                                  .picture_type = r->picture_type};
    r->done(r->arg, &result);
    free_run(r);
}

int skill_tell(struct skill_run *r)
{
    task_defer(r->q.loop, &r->told);
    return 0;
}

int skill_fail(struct skill_run *r, const char *fmt, ...)
{
    va_list ap;
    r->failed = true;
    buf_reset(&r->text);
    buf_addz(&r->text, "ERROR: ");
    va_start(ap, fmt);
    buf_addv(&r->text, fmt, ap);
    va_end(ap);
    buf_addc(&r->text, '\n');
    return 0;
}

int skill_job(struct skill_run *r, const struct job_spec *spec, void *arg, struct err *e)
{
    struct job_spec s = *spec;
    s.arg = arg;
    s.owner = r;
    s.as_user = r->q.as_user;
    s.uid = r->q.uid;
    s.gid = r->q.gid;
    s.groups = r->q.groups;
    s.groups_n = r->q.groups_n;
    r->job = job_start(r->q.loop, &s, e);
    return r->job ? 0 : -1;
}

static void stop_work(struct skill_run *r)
{
    if (r->search)
        skills_search_cancel(r->search);
    finding_free(r);
    if (r->job)
        job_cancel(r->job);
    if (r->browse)
        browsing_drop(r->browse);
    r->browse = NULL;
    r->search = NULL;
    r->job = NULL;
}

static void on_timer(struct timer *t)
{
    struct skill_run *r = container_of(t, struct skill_run, timer);
    stop_work(r);
    skill_fail(r, "%s was not done within %d seconds.", r->q.skill->name,
               SKILL_TIME_MS / 1000);
    skill_tell_now(r);
}

struct skill_run *skill_start(const struct skill_call *q, skill_done_fn *done, void *arg,
                              struct err *e)
{
    struct skill_run *r;
    if (check_args(q->skill, q->args, e) < 0)
        return NULL;
    r = xnew(struct skill_run);
    *r = (struct skill_run){.q = *q, .done = done, .arg = arg};
    r->q.bytes = q->bytes ? q->bytes : SKILL_ANSWER;
    buf_init(&r->text, SKILL_TEXT_MAX);
    buf_init(&r->raw, SKILL_TEXT_MAX);
    buf_init(&r->state, 4 * PATH_MAX);
    buf_init(&r->picture, SKILL_PICTURE_MAX);
    task_init(&r->told, on_told);
    if (q->skill->shared)
        window_load(q->windows, q->session, &r->window);
    if (q->skill->run(r, e) < 0) {
        free_run(r);
        return NULL;
    }
    r->q.args = NULL; /* the caller's again, and so are these */
    r->q.cwd = r->q.home = NULL;
    if (r->job || (r->text.n == 0 && r->state.n == 0))
        timer_begin(q->loop, &r->timer, SKILL_TIME_MS, on_timer);
    else
        skill_tell(r);
    return r;
}

void skill_leave(struct skill_run *r)
{
    stop_work(r);
    free_run(r);
}

void skill_cancel(struct skill_run *r)
{
    struct browsing_call *c = r->browse && browsing_runs(r->browse) ? r->browse : NULL;
    skill_leave(r);
    if (c)
        browsing_cancel(c);
}

uint64_t skill_files(const struct skill_run *r) { return finding_files(r); }

/* ---- searches ---- */

static void on_found(void *arg, const struct skills_found *found, const struct err *e)
{
    struct skill_run *r = arg;
    r->search = NULL;
    if (e->code)
        skill_fail(r, "%s", e->text);
    else
        buf_adds(&r->text, found->text);
    if (r->text.n && r->text.p[r->text.n - 1] != '\n')
        buf_addc(&r->text, '\n');
    skill_tell_now(r);
}

/* A copy that ends in a zero, or NULL for NULL. */
static char *copy(struct str s) { return s.p ? xstrndup(s.p, s.n) : NULL; }

/* The first argument is the searched text, the second one the place. */
int skill_search(struct skill_run *r, struct err *e)
{
    const struct skill *s = r->q.skill;
    struct str in = skill_str(r, s->takes.params[1].name);
    bool open = s->kind == SKILLS_SEARCH_FILE && !in.p && r->window.path[0];
    struct str filter = s->kind == SKILLS_GREP ? skill_str(r, "include")
                                               : (struct str){0};
    char *what = copy(skill_str(r, s->takes.params[0].name));
    char *at = copy(open ? str_of(r->window.path) : in), *include = copy(filter);
    struct skills_search q = {.kind = (enum skills_search_kind)s->kind,
                              .term = what,
                              .where = at,
                              .include = include,
                              .home = r->q.home,
                              .cwd = r->q.cwd,
                              .as_user = r->q.as_user,
                              .uid = r->q.uid,
                              .gid = r->q.gid,
                              .groups = r->q.groups,
                              .groups_n = r->q.groups_n};
    r->search = skills_search_start(r->q.loop, &q, on_found, r, e);
    if (!r->search)
        skill_fail(r, "%s", e->text);
    free(what);
    free(at);
    free(include);
    return 0;
}

/* ---- documents ---- */

static void on_read(void *arg, struct str text, const struct err *e)
{
    struct skill_run *r = arg;
    r->job = NULL;
    if (e->code && text.n == 0)
        skill_fail(r, "%s", e->text);
    else
        buf_adds(&r->text, text);
    r->failed = e->code != ERR_NONE;
    skill_tell_now(r);
}

int skill_document(struct skill_run *r, struct err *e)
{
    char shown[PATH_MAX], path[PATH_MAX];
    enum docread_kind kind = (enum docread_kind)r->q.skill->kind;
    int64_t n = kind == DOCREAD_VIDEO ? skill_int(r, "frame_interval") : 0;
    struct docread_spec s = {.file = {.kind = kind,
                                      .path = path,
                                      .shown = shown,
                                      .frame_interval = n > 0 && n < INT32_MAX ? (int)n
                                                                               : 0},
                             .as_user = r->q.as_user,
                             .uid = r->q.uid,
                             .gid = r->q.gid,
                             .groups = r->q.groups,
                             .groups_n = r->q.groups_n};
    if (skill_path(r, "file_path", shown, path) < 0)
        return 0;
    r->job = docread_start(r->q.loop, &s, on_read, r, e);
    if (!r->job)
        skill_fail(r, "%s", e->text);
    return 0;
}

/* ---- without a loop ---- */

struct skill_waiting {
    struct loop *loop;
    struct buf *out;
    bool failed, full;
};

static void on_waited(void *arg, const struct skill_result *result)
{
    struct skill_waiting *w = arg;
    w->failed = result->failed;
    w->full = buf_adds(w->out, result->text) < 0;
    loop_stop(w->loop);
}

int skill_wait(const struct skill_call *q, struct buf *out, bool *failed, struct err *e)
{
    struct skill_waiting w = {.loop = loop_new(), .out = out};
    struct skill_call mine = *q;
    if (!w.loop)
        return err_set(e, ERR_LIMIT, "cannot begin: no descriptors are left");
    mine.loop = w.loop;
    int rc = skill_start(&mine, on_waited, &w, e) ? 0 : -1;
    if (rc == 0)
        loop_run(w.loop);
    loop_free(w.loop);
    *failed = w.failed;
    if (rc == 0 && w.full)
        rc = err_set(e, ERR_LIMIT, "no room for the text");
    return rc;
}
