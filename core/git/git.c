/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of git.h.
 *
 *   RUNNING ── done ────▶ over ──▶ freed when the helper is gone
 *      └────── cancel ──▶ the same, without done
 *
 * The helper of a patch reports its folder in a note, and removes it; that of a helper
 * which was ended is removed here.
 */
#include "base/xalloc.h"
#include "git/own.h"
#include "os/remove.h"

#include <errno.h>
#include <stdlib.h>

enum { JOB_NICE = 5, JOB_CPU_S = 600 };
#define JOB_MEMORY ((size_t)4 << 30) /* git maps its packs */

struct git_call {
    struct job *job; /* borrowed; NULL: it is over */
    const struct git_events *ev;
    void *arg;
    bool output;
    struct buf text;
    char dir[PATH_MAX]; /* of a patch; "": none */
};

static git_fn *const verbs[] = {
    [GIT_CHANGES] = git_changes, [GIT_COMMIT_CHANGES] = git_commit_changes,
    [GIT_FILE] = git_file,       [GIT_COMMITS] = git_commits,
    [GIT_ABOUT] = git_about,     [GIT_PATCH] = git_patch};

/* ---- the helper ---- */

static int run(void *arg, const struct job_child *c, struct err *e)
{
    const struct git_ask *q = arg;
    struct git *g = calloc(1, sizeof(*g));
    if (!g)
        return err_set(e, ERR_LIMIT, "cannot begin: no memory");
    g->c = c;
    g->q = q;
    g->out_fd = -1;
    buf_init(&g->out, GIT_RESULT_MAX);
    buf_init(&g->text, GIT_RESULT_MAX);
    int rc = verbs[q->verb](g, e);
    if (rc < 0 && e->code == ERR_GONE && q->verb == GIT_PATCH) {
        e->code = ERR_INVALID;
    } else if (rc < 0 && e->code == ERR_GONE) {
        *e = (struct err)ERR_INIT;
        buf_reset(&g->out);
        rc = buf_addz(&g->out, "\"repository\":false");
    }
    if (rc < 0)
        return -1;
    if (buf_full(&g->out))
        return err_set(e, ERR_LIMIT, "the result is longer than %d bytes",
                       GIT_RESULT_MAX);
    if (q->verb != GIT_PATCH &&
        (job_put(c, STR("{")) < 0 || job_put(c, buf_str(&g->out)) < 0 ||
         job_put(c, STR("}")) < 0))
        return err_sys(e, errno, "cannot hand over a result");
    return 0;
}

/* ---- the parent ---- */

static void on_data(struct job *j, struct buf *in)
{
    struct git_call *g = job_owner(j);
    size_t n = in->n;
    if (!g->output) {
        buf_adds(&g->text, buf_str(in));
    } else if (g->ev->data) {
        n = g->ev->data(g->arg, buf_str(in));
        BUG_ON(n > in->n);
        if (n < in->n)
            job_pause(j);
    }
    buf_consume(in, n);
}

static void on_note(struct job *j, struct str note)
{
    struct git_call *g = job_owner(j);
    if (note.n < sizeof(g->dir)) {
        memcpy(g->dir, note.p, note.n);
        g->dir[note.n] = 0;
    }
}

static void on_done(struct job *j, const struct err *e)
{
    struct git_call *g = job_owner(j);
    struct err bad = ERR_INIT;
    struct json *result = NULL;
    ASSERT(g->job == j); /* done is called once */
    g->job = NULL;
    if (!e->code && !g->output && !(result = json_parse(buf_str(&g->text), &bad)))
        e = &bad;
    g->ev->done(g->arg, result, e);
    json_free(result);
}

static void on_gone(void *owner)
{
    struct git_call *g = owner;
    if (g->dir[0])
        remove_tree(g->dir);
    buf_release(&g->text);
    free(g);
}

struct git_call *git_start(struct loop *l, const struct git_ask *q,
                           const struct git_events *ev, void *arg, struct err *e)
{
    static const struct job_events events = {
        .on_data = on_data, .on_note = on_note, .on_done = on_done, .on_gone = on_gone};
    struct git_call *g = xnew(struct git_call);
    *g = (struct git_call){.ev = ev, .arg = arg, .output = q->verb == GIT_PATCH};
    buf_init(&g->text, GIT_RESULT_MAX + 16);
    struct job_spec s = {.what = "asking git",
                         .fn = run,
                         .arg = (void *)q,
                         .memory = JOB_MEMORY,
                         .cpu_s = JOB_CPU_S,
                         .nice = JOB_NICE,
                         .as_user = q->as_user,
                         .uid = q->uid,
                         .gid = q->gid,
                         .groups = q->groups,
                         .groups_n = q->groups_n,
                         .ev = &events,
                         .owner = g};
    g->job = job_start(l, &s, e);
    if (!g->job) {
        free(g);
        return NULL;
    }
    return g;
}

void git_cancel(struct git_call *g)
{
    if (g->job)
        job_cancel(g->job);
    g->job = NULL;
}

void git_resume(struct git_call *g)
{
    if (g->job)
        job_resume(g->job);
}
