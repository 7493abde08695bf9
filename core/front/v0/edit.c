/* SPDX-License-Identifier: MIT */
/* V0's observations of edits, around the answers of edit/editor.h. */
#include "front/v0/edit.h"

#include "base/xalloc.h"
#include "front/v0/own.h"
#include "text/diff.h"

#include <stdlib.h>

/* Appends a member with a string, or null. */
static int put_member(struct buf *out, const char *name, struct str s)
{
    if (buf_addf(out, "\"%s\": ", name) < 0)
        return -1;
    int rc = s.p ? json_quote(out, s) : buf_addz(out, "null");
    return rc < 0 ? -1 : buf_addz(out, ", ");
}

/* Appends a member as it was given, or null. */
static int put_given(struct buf *out, const char *name, const struct json *j)
{
    return put_member(out, name,
                      json_is_string(j) ? json_str_value(j, "") : (struct str){0});
}

static int put_edit(struct buf *out, const struct editor_answer *a,
                    const struct json *args, struct str diff)
{
    struct buf message = BUF_INIT(ANSWER_MAX);
    struct str path = json_str(args, "path", "");
    size_t before = out->n;
    int rc = -1;
    if (buf_addz(&message, "I edited the file ") == 0 && buf_adds(&message, path) == 0 &&
        buf_addc(&message, '.') == 0 && buf_addc(out, '{') == 0 &&
        put_member(out, "message", buf_str(&message)) == 0 &&
        put_member(out, "observation", STR("edit")) == 0 &&
        put_member(out, "content", str_n(buf_z(&a->content), a->content.n)) == 0 &&
        buf_addz(out, "\"extras\": {") == 0 && put_member(out, "path", path) == 0 &&
        buf_addz(out, "\"prev_exist\": false, ") == 0 &&
        put_given(out, "old_content", json_get(args, "old_str")) == 0 &&
        put_given(out, "new_content", json_get(args, "new_str")) == 0 &&
        put_member(out, "impl_source", STR("oh_aci")) == 0 &&
        put_member(out, "diff", diff) == 0)
        rc = buf_addz(out, "\"_diff_cache\": null}}");
    if (rc < 0)
        buf_truncate(out, before);
    buf_release(&message);
    return rc;
}

static int too_long(struct err *e)
{
    return err_set(e, ERR_LIMIT, "the answer of the editor is larger than %d bytes",
                   ANSWER_MAX);
}

static int put_with_diff(struct buf *out, const struct json *args,
                         const struct editor_answer *a)
{
    struct buf diff = BUF_INIT(ANSWER_MAX);
    if (a->changed)
        diff_unified(&diff, buf_str(&a->edited.before), buf_str(&a->edited.after),
                     str_of(a->path));
    int rc = put_edit(out, a, args, diff.n > 0 ? buf_str(&diff) : STR(""));
    if (rc < 0) { /* reports the part that was done */
        buf_resume(out);
        rc = put_edit(out, a, args, STR(""));
    }
    buf_release(&diff);
    return rc;
}

int v0_editor_run(const struct editor *ed, bool edit, const struct json *args,
                  struct editor_answer *a, struct err *e)
{
    struct str source = STR("oh_aci");
    if (edit && json_want_str(args, "impl_source", &source, e) < 0)
        return -1;
    if (!str_eq(source, STR("oh_aci")))
        return err_set(e, ERR_INVALID,
                       "impl_source must be oh_aci: an edit by a model is the client's");
    return editor_run(ed, edit ? NULL : "view", args, a, e);
}

int v0_editor_put(struct buf *out, bool edit, const struct json *args,
                  const struct editor_answer *a, struct err *e)
{
    struct str content = str_n(buf_z(&a->content), a->content.n);
    int rc = edit ? put_with_diff(out, args, a)
                  : v0_put_read(out, json_str(args, "path", ""), true, content);
    return rc < 0 ? too_long(e) : 0;
}

/* ---- actions ---- */

/* A document that is being read for an action. */
struct edit_viewing {
    struct v0_call *a; /* borrowed: it waits for its answer */
    struct editor_answer answer;
};

static void tell(struct v0_call *a, const struct editor_answer *answer)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(ANSWER_MAX);
    bool edit = a->a.kind == V0_EDIT;
    if (answer->binary && !edit)
        v0_answer_error(a, v0_binary_file);
    else if (v0_editor_put(&out, edit, a->a.args, answer, &e) < 0)
        v0_answer_internal(a, e.text);
    else
        v0_answer(a, 200, &out);
    buf_release(&out);
}

static void drop(struct edit_viewing *w)
{
    editor_answer_release(&w->answer);
    free(w);
}

static void on_read(void *arg, struct str text, const struct err *why)
{
    struct edit_viewing *w = arg;
    editor_told(&w->answer, text, why);
    tell(w->a, &w->answer);
    drop(w);
}

void v0_edit(struct v0_call *a)
{
    struct v0 *v = a->v;
    struct err e = ERR_INIT;
    struct edit_viewing *w = xnew(struct edit_viewing);
    struct editor ed = {.edits = edits_of(v->en),
                        .workspace = v->cwd[0] ? v->cwd : v->en->home,
                        .token = a->key,
                        .chown = true};
    v0_owner(v, &ed.uid, &ed.gid);
    *w = (struct edit_viewing){a, EDITOR_ANSWER_INIT};
    if (v0_editor_run(&ed, a->a.kind == V0_EDIT, a->a.args, &w->answer, &e) < 0) {
        v0_answer_internal(a, e.text);
        drop(w);
        return;
    }
    if (w->answer.document &&
        editor_read(v->en->loop, &w->answer, ed.uid, ed.gid, on_read, w, &e))
        return;
    if (w->answer.document)
        editor_told(&w->answer, STR(""), &e);
    tell(a, &w->answer);
    drop(w);
}
