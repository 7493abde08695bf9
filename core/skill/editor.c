/* SPDX-License-Identifier: MIT */
/*
 * file_editor, with the words of edit/editor.h, in the frame that callers of the Python
 * function parse; and the new faults after a change.
 */
#include "base/xalloc.h"
#include "edit/editor.h"
#include "skill/own.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

struct viewing {
    struct editor_answer answer;
    struct buf faults; /* in the current text */
    bool creates;      /* the command is `create` */
};

void editor_free(struct skill_run *r)
{
    if (!r->view)
        return;
    editor_answer_release(&r->view->answer);
    buf_release(&r->view->faults);
    free(r->view);
    r->view = NULL;
}

/* ---- the answer ---- */

static void put_text(struct buf *out, const char *name, struct str s)
{
    buf_addf(out, "%s\"%s\": ", out->p[out->n - 1] == '{' ? "" : ",", name);
    if (s.p)
        json_quote(out, s);
    else
        buf_addz(out, "null");
}

/* As Python's dataclass prints it, between marks that no text contains by chance. */
static void put_result(struct skill_run *r)
{
    const struct editor_answer *a = &r->view->answer;
    struct buf *out = &r->text;
    struct str none = {0}, all = str_n(buf_z(&a->content), a->content.n);
    bool creates = r->view->creates;
    const struct edited *d = &a->edited;
    uint8_t random[16];
    char id[33] = "";
    r->failed = a->failed;
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        memset(random, 0, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(id + 2 * i, 3, "%02x", random[i]);
    buf_addf(out, "<oh_aci_output_%s>\n{", id);
    put_text(out, "output", a->failed ? none : all);
    put_text(out, "error", a->failed ? str_sub(all, 7, all.n) : none);
    put_text(out, "path", a->failed ? none : str_of(a->path));
    buf_addf(out, ",\"prev_exist\": %s", creates && !a->failed ? "false" : "true");
    put_text(out, "old_content",
             a->changed && !creates ? str_n(buf_z(&d->before), d->before.n) : none);
    put_text(out, "new_content", a->changed ? str_n(buf_z(&d->after), d->after.n) : none);
    put_text(out, "formatted_output_and_error", all);
    buf_addf(out, "}\n</oh_aci_output_%s>", id);
}

/* ---- faults ---- */

static void put_fault(struct buf *out, struct str line, struct str path)
{
    struct lint_fault f;
    if (!lint_take(line, path, &f)) {
        buf_addf(out, "- %.*s\n", STR_ARG(f.words));
        return;
    }
    buf_addf(out, "- Line %llu", (unsigned long long)f.line);
    if (f.column_known)
        buf_addf(out, ", Column %llu", (unsigned long long)f.column);
    buf_addf(out, ": %.*s\n", STR_ARG(f.words));
}

/* Faults from before the change are not counted. */
static void on_old_checked(struct skill_run *r, struct str before)
{
    struct buf fresh = BUF_INIT(EDIT_TEXT_MAX), said = BUF_INIT(EDIT_TEXT_MAX);
    lint_subtract(&fresh, buf_str(&r->view->faults), before);
    struct str rest = buf_str(&fresh), path = str_of(r->view->answer.path);
    buf_addz(&said, rest.n > 0 ? "Linting issues found in the changes:\n"
                               : "No linting issues found in the changes.");
    while (rest.n > 0)
        put_fault(&said, str_cut(&rest, '\n'), path);
    editor_checked(&r->view->answer, buf_str(&said));
    buf_release(&fresh);
    buf_release(&said);
    put_result(r);
    skill_tell(r);
}

static void on_new_checked(struct skill_run *r, struct str faults)
{
    const struct editor_answer *a = &r->view->answer;
    buf_adds(&r->view->faults, faults);
    if (faults.n == 0 ||
        !lint_start(r, a->path, buf_str(&a->edited.before), on_old_checked))
        on_old_checked(r, STR(""));
}

/* ---- the call ---- */

static void on_read(void *arg, struct str text, const struct err *why)
{
    struct skill_run *r = arg;
    r->job = NULL;
    editor_told(&r->view->answer, text, why);
    put_result(r);
    skill_tell_now(r);
}

static int read_document(struct skill_run *r, struct err *e)
{
    r->job = editor_read(r->q.loop, &r->view->answer, r->q.as_user ? r->q.uid : geteuid(),
                         r->q.as_user ? r->q.gid : getegid(), on_read, r, e);
    return r->job ? 0 : -1;
}

int edit_file_editor(struct skill_run *r, struct err *e)
{
    struct viewing *v = r->view = xnew(struct viewing);
    struct editor ed = {.edits = r->q.edits,
                        .token = r->q.token,
                        .chown = r->q.as_user,
                        .uid = r->q.uid,
                        .gid = r->q.gid};
    *v = (struct viewing){EDITOR_ANSWER_INIT, BUF_INIT(EDIT_TEXT_MAX),
                          str_eq(skill_str(r, "command"), STR("create"))};
    if (editor_run(&ed, NULL, r->q.args, &v->answer, e) < 0)
        return -1;
    if (v->answer.document)
        return read_document(r, e);
    if (v->answer.review == 0 || !json_bool(r->q.args, "enable_linting", false))
        put_result(r);
    else if (!lint_start(r, v->answer.path, buf_str(&v->answer.edited.after),
                         on_new_checked))
        on_new_checked(r, STR(""));
    return 0;
}
