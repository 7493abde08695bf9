/* SPDX-License-Identifier: MIT */
/*
 * Contexts. All contexts are one state at the keeper, so that the next worker has them in
 * the same order; their kernels outlive the worker anyway. python and javascript exist
 * from the beginning if the image can run them; their processes start when they are used.
 */
#include "front/interpreter/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/e2b/e2b.h"
#include "keeper/keeper_client.h"
#include "setup/sandbox.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STATE_MAX = LIMIT_BLOB_MAX - 64 };

#define HOME_OF_ALL "/home/user"

static const struct str state_key = STR("interpreter/contexts");

/* ---- the state ---- */

void context_print(struct buf *out, const struct context *c)
{
    buf_addf(out, "{\"id\":\"%s\",\"language\":", c->id);
    json_quote(out, str_of(c->language));
    buf_addz(out, ",\"cwd\":");
    json_quote(out, str_of(c->cwd));
    buf_addc(out, '}');
}

static const struct state_field kept[] = {STATE_ROW(struct context, id),
                                          STATE_ROW(struct context, language),
                                          STATE_ROW(struct context, spec),
                                          STATE_ROW(struct context, code),
                                          STATE_ROW(struct context, cwd),
                                          STATE_ROW(struct context, standing),
                                          STATE_ROW(struct context, shells),
                                          STATE_ROW(struct context, count),
                                          {.name = NULL}};

int contexts_save(struct interpreter *f)
{
    struct buf b = BUF_INIT(STATE_MAX);
    struct json *j = json_array();
    struct list *it, *tmp;
    list_each (it, tmp, &f->contexts) {
        const struct context *c = list_entry(it, struct context, node);
        json_push(j, state_json(kept, c));
    }
    int rc = json_print(&b, j);
    if (rc == 0)
        keeper_client_put(f->en->keeper, state_key, buf_str(&b));
    json_free(j);
    buf_release(&b);
    return rc;
}

static void copy(char *out, size_t max, struct str s)
{
    snprintf(out, max, "%.*s", STR_ARG(s));
}

void contexts_load(struct interpreter *f)
{
    struct err e = ERR_INIT;
    const struct buf *stored = map_get(&f->en->states, state_key);
    struct json *all = stored ? json_parse_kept(buf_str(stored), &e) : NULL;
    if (stored && !all)
        log_error("the contexts of the code interpreter are unreadable: %s", e.text);
    f->stood = all != NULL;
    for (struct json *o = json_first(all); o; o = json_next(o)) {
        struct context *c = xnew(struct context);
        c->f = f;
        state_read(kept, c, o);
        list_add_tail(&f->contexts, &c->node);
    }
    json_free(all);
}

/* ---- finding a context ---- */

struct context *context_find(const struct interpreter *f, struct str id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->contexts) {
        struct context *c = list_entry(it, struct context, node);
        if (str_eq(id, str_of(c->id)))
            return c;
    }
    return NULL;
}

void context_language(char out[LANGUAGE_MAX + 1], struct str given)
{
    static const char *const short_forms[][2] = {
        {"", "python"}, {"js", "javascript"}, {"ts", "typescript"}};
    copy(out, LANGUAGE_MAX + 1, str_trim(given));
    for (char *p = out; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (size_t i = 0; i < sizeof(short_forms) / sizeof(short_forms[0]); i++) {
        if (strcmp(out, short_forms[i][0]) == 0)
            copy(out, LANGUAGE_MAX + 1, str_of(short_forms[i][1]));
    }
}

/* ---- making a context ---- */

static bool is_directory(const char *path)
{
    struct stat st;
    return path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *default_cwd(const struct interpreter *f)
{
    const char *set = f->e2b ? e2b_workdir(f->e2b) : "";
    if (is_directory(set))
        return set;
    return is_directory(HOME_OF_ALL) ? HOME_OF_ALL
                                     : sandbox_cwd(f->en->sandbox, STR("main"));
}

static int fail_spec(const struct json *specs, const char *language, struct err *e)
{
    struct buf names = BUF_INIT(200);
    for (const struct json *s = json_first(specs); s; s = json_next(s))
        buf_addf(&names, "%s%.*s", names.n ? ", " : "", STR_ARG(json_str(s, "name", "")));
    err_set(e, ERR_NOTFOUND, "no kernel of this machine runs %s; there are: %s", language,
            names.n ? buf_z(&names) : "none");
    buf_release(&names);
    return -1;
}

static int find_spec(struct context *c, struct err *e)
{
    struct json *all = kernel_overview(c->f->en, str_of(c->cwd));
    const struct json *specs = json_get(all, "specs");
    const struct json *s = kernel_spec_of(specs, str_of(c->language));
    copy(c->spec, sizeof(c->spec), json_str(s, "name", ""));
    copy(c->code, sizeof(c->code), json_str(s, "language", ""));
    for (char *p = c->code; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    bool shell = !s && strcmp(c->language, "bash") == 0;
    if (shell)
        copy(c->code, sizeof(c->code), STR("bash"));
    int rc = s || shell ? 0 : fail_spec(specs, c->language, e);
    json_free(all);
    return rc;
}

static void make_id(char out[CONTEXT_ID + 1])
{
    char hex[33];
    random_hex(hex, 32); /* RFC 9562 5.4 */
    snprintf(out, CONTEXT_ID + 1, "%.8s-%.4s-4%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 13,
             "89ab"[hex[16] & 3], hex + 17, hex + 20);
}

struct context *context_make(struct interpreter *f, const char *language, struct str cwd,
                             bool standing, struct err *e)
{
    struct context *c = xnew(struct context);
    c->f = f;
    c->standing = standing;
    copy(c->language, sizeof(c->language), str_of(language));
    if (cwd.n == 0)
        cwd = str_of(default_cwd(f));
    else if (cwd.n >= sizeof(c->cwd) || !is_directory(cwd.p)) {
        err_set(e, ERR_INVALID, "the directory %.*s cannot be entered",
                (int)(cwd.n < 200 ? cwd.n : 200), cwd.p);
        free(c);
        return NULL;
    }
    copy(c->cwd, sizeof(c->cwd), cwd);
    if (find_spec(c, e) < 0) {
        free(c);
        return NULL;
    }
    make_id(c->id);
    list_add_tail(&f->contexts, &c->node);
    if (contexts_save(f) < 0) {
        list_del(&c->node);
        free(c);
        err_set(e, ERR_LIMIT, "all contexts have %d bytes: remove one", STATE_MAX);
        return NULL;
    }
    return c;
}

void contexts_stand(struct interpreter *f)
{
    struct err e = ERR_INIT;
    if (f->stood)
        return;
    f->stood = true;
    context_make(f, "python", STR(""), true, &e);
    context_make(f, "javascript", STR(""), true, &e);
}

struct context *context_of(struct interpreter *f, const char *language, struct err *e)
{
    struct list *it, *tmp;
    contexts_stand(f);
    list_each (it, tmp, &f->contexts) {
        struct context *c = list_entry(it, struct context, node);
        if (c->standing && strcmp(c->language, language) == 0)
            return c;
    }
    return context_make(f, language, STR(""), true, e);
}

int context_act(struct context *c, const struct action_kind *kind, struct err *e)
{
    struct json *message = json_object(), *args = json_object();
    struct action_order o = {
        .source = ACTION_SOURCE_INTERPRETER, .kind = kind, .session = str_of(c->id)};
    json_put_z(args, "kernel", c->id);
    json_put_z(message, "action", kind->name);
    json_put(message, "args", args);
    struct action *a = action_open(c->f->actions, message, &o, e);
    if (!a)
        return -1;
    action_go(a);
    return 0;
}

void context_remove(struct context *c)
{
    struct interpreter *f = c->f;
    struct err e = ERR_INIT;
    if (kernel_lookup(f->en, str_of(c->id)))
        context_act(c, &action_close_kernel, &e);
    if (!c->spec[0])
        shell_restart(c);
    list_del(&c->node);
    contexts_save(f);
    free(c);
}
