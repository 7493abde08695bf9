/* SPDX-License-Identifier: MIT */
/*
 * --jupyter-app DIR: JupyterLab, from the folder that its package has as
 * share/jupyter/lab. Its page is static/index.html, a template of Jinja, of which only
 * the address of the scripts and the configuration (PageConfig of @jupyterlab/coreutils)
 * are filled in. Below it are what jupyterlab_server has for it: files at /lab/static and
 * /lab/api/themes; at /lab/api/settings the schemas of plugins, with what a person has
 * set; at /lab/api/workspaces layouts. What is changed is a section of /api/config, by
 * its whole path: sections of others have no slash.
 *
 * nb_app_find runs in the helper of contents.c, as the user of the sandbox.
 */
#include "front/jupyter/own.h"

#include "access/access.h"
#include "base/jsontext.h"
#include "os/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 4 << 20, DEPTH = 3 };

#define SETTINGS   "api/settings"
#define WORKSPACES "api/workspaces"

/* ---- the helper: the page ---- */

static void put_config(struct buf *out, const struct nb_ask *a)
{
    struct str path = str_of(a->path), workspace = STR("default");
    long tree = str_find(path, STR("tree/"));
    buf_addf(
        out,
        "{\"baseUrl\":\"%s/\",\"appUrl\":\"/lab\",\"appName\":\"JupyterLab\","
        "\"fullStaticUrl\":\"%s/lab/static\",\"themesUrl\":\"/lab/api/themes\","
        "\"terminalsAvailable\":\"true\",\"federated_extensions\":\"[]\","
        "\"disabledExtensions\":\"[\\\"@jupyterlab/extensionmanager-extension\\\"]\","
        "\"treePath\":",
        a->base, a->base);
    json_quote(out, tree < 0 ? STR("") : str_sub(path, (size_t)tree + 5, path.n));
    if (str_starts(path, STR("workspaces/"))) {
        path = str_sub(path, 11, path.n);
        workspace = str_cut(&path, '/');
    }
    buf_addz(out, ",\"workspace\":");
    json_quote(out, workspace);
    buf_addc(out, '}');
}

/* Appends the template with the address of the scripts, and without its other
 * expressions. */
static void put_template(struct buf *out, struct str text, const char *base)
{
    while (text.n) {
        long at = str_chr(text, '{');
        size_t before = at < 0 ? text.n : (size_t)at;
        struct str rest = str_sub(text, before, text.n);
        char kind = rest.n > 1 ? rest.p[1] : 0;
        const char end[] = {kind == '{' ? '}' : kind, '}', 0};
        bool is = kind && strchr("{%#", kind);
        long close = is ? str_find(str_sub(rest, 2, rest.n), str_of(end)) : -1;
        buf_adds(out, str_sub(text, 0, before + (close < 0 && rest.n)));
        if (close >= 0 && kind == '{' &&
            str_find(str_sub(rest, 2, (size_t)close), STR(".fullStaticUrl")) >= 0)
            buf_addf(out, "%s/lab/static", base);
        text = str_sub(rest, close < 0 ? 1 : (size_t)close + 4, rest.n);
    }
}

static int put_page(const struct nb_ask *a, struct buf *out, struct buf *text)
{
    struct buf page = BUF_INIT(FILE_MAX);
    put_template(&page, buf_str(text), a->base);
    struct str all = buf_str(&page);
    long at = str_find(all, STR("id=\"jupyter-config-data\""));
    struct str rest = str_sub(all, at < 0 ? all.n : (size_t)at, all.n);
    long open = str_chr(rest, '>'), end = str_find(rest, STR("</script>"));
    if (open < 0 || end < open)
        return -1;
    buf_adds(out, str_sub(all, 0, (size_t)(at + open + 1)));
    put_config(out, a); /* instead of what the script has */
    buf_adds(out, str_sub(rest, (size_t)end, rest.n));
    return 0;
}

/* ---- the helper: settings ---- */

/* Appends a plugin with its schema, and what a person has set. */
static int put_plugin(const struct nb_ask *a, const char *folder, const char *name,
                      struct buf *out)
{
    char path[2 * PATH_MAX], id[2 * PATH_MAX];
    struct buf text = BUF_INIT(FILE_MAX);
    struct err e = ERR_INIT;
    snprintf(path, sizeof(path), "%s/schemas/%s/%s.json", a->root, folder, name);
    snprintf(id, sizeof(id), SETTINGS "/%s:%s", folder, name);
    int rc = file_read(path, FILE_MAX, &text, &e);
    if (rc == 0 && jsontext_valid(buf_str(&text))) {
        buf_addz(out, out->n && out->p[out->n - 1] == '}' ? ",{\"id\":" : "{\"id\":");
        json_quote(out, str_of(id + sizeof(SETTINGS)));
        buf_addz(out, ",\"version\":\"\",\"settings\":{},\"raw\":");
        json_quote(out, json_str(json_get(a->kept, id), "raw", "{}"));
        buf_addf(out, ",\"schema\":%s}", buf_z(&text));
    }
    buf_release(&text);
    return rc;
}

/* Appends the plugins of a folder of schemas, and of those in it. */
static void put_plugins(const struct nb_ask *a, const char *folder, int depth,
                        struct buf *out)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/schemas/%s", a->root, folder);
    DIR *d = opendir(path);
    for (struct dirent *x; d && (x = readdir(d));) {
        struct str name = str_of(x->d_name);
        char below[PATH_MAX];
        if (name.p[0] == '.')
            continue;
        snprintf(below, sizeof(below), "%s%s%s", folder, folder[0] ? "/" : "", name.p);
        if (str_ends(name, STR(".json"))) {
            x->d_name[name.n - 5] = 0;
            put_plugin(a, folder, x->d_name, out);
        } else if (depth > 1) {
            put_plugins(a, below, depth - 1, out);
        }
    }
    if (d)
        closedir(d);
}

int nb_app_find(const struct nb_ask *a, struct buf *out)
{
    char path[PATH_MAX + 64];
    struct buf text = BUF_INIT(FILE_MAX);
    struct err e = ERR_INIT;
    int rc = -1;
    const char *id = a->path + sizeof(SETTINGS) - 1;
    if (a->verb == NB_PAGE) {
        snprintf(path, sizeof(path), "%s/static/index.html", a->root);
        rc = file_read(path, FILE_MAX, &text, &e) < 0 ? -1 : put_page(a, out, &text);
    } else if (!*id) {
        buf_addz(out, "{\"settings\":[");
        put_plugins(a, "", DEPTH, out);
        buf_addz(out, "]}");
        rc = 0;
    } else {
        snprintf(path, sizeof(path), "%s", id + 1);
        char *name = strrchr(path, ':');
        if (name) {
            *name++ = 0;
            rc = put_plugin(a, path, name, out);
        }
    }
    buf_release(&text);
    return rc;
}

/* ---- requests ---- */

/* Answers with all layouts, or with the one of this name. */
static void send_layouts(struct req *r, struct str name)
{
    const struct jupyter *f = req_arg(r);
    struct json *ids = json_array(), *values = json_array(), *all = json_object();
    struct json *j = NULL;
    for (const struct json *one = json_first(f->config); one; one = json_next(one)) {
        struct str id = str_of(json_name(one));
        if (!str_starts(id, STR(WORKSPACES "/")))
            continue;
        id = str_sub(id, sizeof(WORKSPACES), id.n);
        json_push_str(ids, id);
        json_push(values, json_copy(one));
        if (str_eq(id, name))
            j = json_copy(one);
    }
    json_put(all, "ids", ids);
    json_put(all, "values", values);
    if (name.n) {
        json_free(all);
        all = json_object();
        json_put_str(all, "id", name);
    }
    if (!j) {
        j = json_object();
        json_put(j, "data", json_object());
        json_put(j, name.n ? "metadata" : "workspaces", all);
    } else {
        json_free(all);
    }
    nb_json(r, 200, j);
}

static bool has_app(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    if (!f->app)
        nb_fail(r, 404, "No app is served: see --jupyter-app of od serve");
    return f->app != NULL;
}

void nb_get_lab(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    struct nb_ask ask = {.verb = NB_PAGE, .base = f->base, .kept = f->config};
    struct str path = req_param(r, "*");
    bool hidden;
    if (!has_app(r))
        return;
    if (nb_path(path, ask.path, &hidden) < 0 || hidden) {
        nb_fail(r, 404, "Not Found");
        return;
    }
    path = str_of(ask.path);
    snprintf(ask.root, sizeof(ask.root), "%s", f->app);
    if (str_starts(path, STR("static/")) || str_starts(path, STR("api/themes/"))) {
        nb_send_file(r, f->app, path.p[0] == 's' ? path : str_sub(path, 4, path.n), NULL);
    } else if (str_starts(path, STR(WORKSPACES))) {
        send_layouts(r, str_sub(path, sizeof(WORKSPACES), path.n));
    } else if (str_starts(path, STR("api/translations"))) { /* other packages have some */
        req_answer(r, 200, "application/json", STR("{\"data\":{},\"message\":\"\"}"));
    } else if (str_starts(path, STR(SETTINGS))) {
        ask.verb = NB_SETTINGS;
        nb_ask_helper(r, &ask);
    } else if (str_starts(path, STR("api/"))) {
        nb_fail(r, 404, "Not Found");
    } else {
        access_enter_page(f->access, r, "token");
        req_header_add(r, "Cache-Control", "no-store");
        req_header_add(r, "Referrer-Policy", "same-origin");
        req_header_add(r, "Content-Security-Policy", "frame-ancestors 'self'");
        nb_ask_helper(r, &ask);
    }
}

void nb_get_root(struct req *r)
{
    const struct jupyter *f = req_arg(r);
    access_enter_page(f->access, r, "token");
    if (has_app(r))
        nb_redirect(r, "/lab", req_head(r)->query);
}

/* PUT of a layout or of a plugin's settings, DELETE of a layout. */
void nb_change_lab(struct req *r)
{
    struct str path = req_param(r, "*");
    if (str_starts(path, STR(SETTINGS "/")) || str_starts(path, STR(WORKSPACES "/")))
        nb_change_config(r, path.p, true);
    else
        nb_fail(r, 404, "Not Found");
}
