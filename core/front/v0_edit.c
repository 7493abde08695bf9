/* SPDX-License-Identifier: MIT */
/* V0's observations of the editor, around what engine/editor says. */
#include "front/v0_edit.h"

#include "front/v0_own.h"
#include "proto/diff.h"

/* A member with a string, or null. */
static int put_member(struct buf *out, const char *name, struct str s)
{
    if (buf_addf(out, "\"%s\": ", name) < 0)
        return -1;
    int rc = s.p ? json_quote(out, s) : buf_addz(out, "null");
    return rc < 0 ? -1 : buf_addz(out, ", ");
}

/* A member as it was given, or null. */
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

int v0_editor_edit(struct buf *out, const struct editor *ed, const struct json *args,
                   struct err *e)
{
    struct editor_answer a = EDITOR_ANSWER_INIT;
    struct buf diff = BUF_INIT(ANSWER_MAX);
    struct str source = STR("oh_aci");
    int rc = json_want_str(args, "impl_source", &source, e);
    if (rc == 0 && !str_eq(source, STR("oh_aci")))
        rc = err_set(e, ERR_INVALID,
                     "impl_source must be oh_aci: an edit by a model is the client's");
    if (rc == 0)
        rc = editor_run(ed, NULL, args, &a, e);
    if (rc == 0) {
        if (a.changed)
            diff_unified(&diff, buf_str(&a.edited.before), buf_str(&a.edited.after),
                         str_of(a.path));
        rc = put_edit(out, &a, args, diff.n > 0 ? buf_str(&diff) : STR(""));
        if (rc < 0 && put_edit(out, &a, args, STR("")) < 0) /* what was done is told */
            rc = too_long(e);
        else
            rc = 0;
    }
    buf_release(&diff);
    editor_answer_release(&a);
    return rc;
}

int v0_editor_view(struct buf *out, const struct editor *ed, const struct json *args,
                   bool *binary, struct err *e)
{
    struct editor_answer a = EDITOR_ANSWER_INIT;
    int rc = editor_run(ed, "view", args, &a, e);
    *binary = a.binary;
    if (rc == 0 && !a.binary &&
        v0_put_read(out, json_str(args, "path", ""), true,
                    str_n(buf_z(&a.content), a.content.n)) < 0)
        rc = too_long(e);
    editor_answer_release(&a);
    return rc;
}

/* ---- actions ---- */

static struct editor editor_of(struct action *a)
{
    struct v0 *v = a->v;
    struct editor ed = {.edits = engine_edits(v->en),
                        .workspace = v->cwd[0] ? v->cwd : v->en->home,
                        .token = a->key,
                        .chown = true};
    v0_owner(v, &ed.uid, &ed.gid);
    return ed;
}

void v0_edit(struct action *a)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(ANSWER_MAX);
    struct editor ed = editor_of(a);
    if (v0_editor_edit(&out, &ed, a->a.args, &e) < 0)
        v0_answer_internal(a, e.text);
    else
        v0_answer(a, 200, &out);
    buf_release(&out);
}

void v0_view(struct action *a)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(ANSWER_MAX);
    struct editor ed = editor_of(a);
    bool binary = false;
    if (v0_editor_view(&out, &ed, a->a.args, &binary, &e) < 0)
        v0_answer_internal(a, e.text);
    else if (binary)
        v0_answer_error(a, v0_binary_file);
    else
        v0_answer(a, 200, &out);
    buf_release(&out);
}
