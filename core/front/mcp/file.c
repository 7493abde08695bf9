/* SPDX-License-Identifier: MIT */
/* file:///PATH: files. Those below the working directory can be subscribed to. */
#include "front/mcp/own.h"

#include "action/files.h"
#include "base/xalloc.h"
#include "http/http.h"
#include "os/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_BYTES = 1 << 20, PATH_BYTES = 4096, LIST_ENTRIES = 10000 };

static const char prefix[] = "file://";

/* ---- paths ---- */

int mcp_file_path(struct str uri, struct buf *path, struct err *e)
{
    struct str at = str_sub(uri, sizeof(prefix) - 1, uri.n);
    if (str_starts(at, STR("localhost/")))
        at = str_sub(at, 9, at.n);
    if (at.n == 0 || at.p[0] != '/' || http_decode(path, at, false) < 0)
        return err_set(e, ERR_INVALID, "the address of a file is file:/// and its path");
    return 0;
}

static bool is_below(const char *path, const char *base)
{
    size_t n = strlen(base);
    if (n == 1)
        return true;
    return strncmp(path, base, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/*
 * Finds the real path of a folder, which must be the working directory or below it.
 * Returns -1 and sets *e: DENIED if it is elsewhere, NOTFOUND.
 */
static int mcp_folder_real(const struct mcp *m, const char *path, char out[PATH_BYTES],
                           struct err *e)
{
    char base[PATH_BYTES], folder[PATH_BYTES];
    const char *cwd = sandbox_cwd(m->en->sandbox, STR("main"));
    if (!realpath(cwd, base))
        return file_fail(e, errno, "look at", cwd);
    /* "/." makes realpath fail if path is not a folder. */
    int n = snprintf(folder, sizeof(folder), "%s/.", path);
    if (n >= (int)sizeof(folder) || !realpath(folder, out))
        return file_fail(e, n >= (int)sizeof(folder) ? ENAMETOOLONG : errno, "look at",
                         path);
    if (!is_below(out, base))
        return err_set(e, ERR_DENIED, "%.500s is not below the working directory, %.500s",
                       path, base);
    return 0;
}

/* ---- contents ---- */

static void read_file(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(PATH_BYTES), bytes = BUF_INIT(FILE_BYTES);
    if (mcp_file_path(uri, &path, &e) < 0 ||
        file_read(buf_z(&path), FILE_BYTES, &bytes, &e) < 0)
        mcp_resource_fail(a, uri, &e);
    else
        mcp_result(a,
                   mcp_contents(a->revision, uri, "text/plain", buf_str(&bytes), NULL));
    buf_release(&path);
    buf_release(&bytes);
}

/* ---- changes ---- */

static int watch(struct mcp_sub *s, struct err *e)
{
    struct buf path = BUF_INIT(PATH_BYTES);
    char folder[PATH_BYTES];
    int rc = mcp_file_path(str_of(s->uri), &path, e);
    const char *slash = rc == 0 ? strrchr(path.p, '/') : NULL;
    struct str name = slash ? str_of(slash + 1) : STR("");
    struct buf above = BUF_INIT(PATH_BYTES);
    if (rc == 0 && (name.n == 0 || str_eq(name, STR(".")) || str_eq(name, STR(".."))))
        rc = err_set(e, ERR_INVALID, "a folder has no contents to follow");
    if (rc == 0)
        buf_add(&above, path.p, slash > path.p ? (size_t)(slash - path.p) : 1);
    if (rc == 0)
        rc = mcp_folder_real(s->listener->m, buf_z(&above), folder, e);
    if (rc == 0)
        rc = mcp_folder_add(s, folder, name, e);
    buf_release(&above);
    buf_release(&path);
    return rc;
}

/* ---- completion ---- */

/* A folder that is being listed; `own` of a request. */
struct file_listing {
    struct mcp_pending *p;
    struct fileact *act;
    char *head; /* owned: the value up to its last '/' */
    char *name; /* owned: the part after it */
};

static void listing_free(struct file_listing *l)
{
    free(l->head);
    free(l->name);
    free(l);
}

static void stop(struct mcp_pending *p)
{
    struct file_listing *l = p->own;
    fileact_cancel(l->act);
    listing_free(l);
}

/*
 * Answers with the entries whose names begin with `name`; with none if the folder cannot
 * be listed.
 */
static void on_listed(void *arg, struct str result, const struct err *e)
{
    struct file_listing *l = arg;
    struct err none = ERR_INIT;
    struct json *j = e->code ? NULL : json_parse(result, &none), *values = json_array();
    size_t n = 0;
    const struct json *v = json_first(json_get(j, "entries"));
    for (; v; v = json_next(v)) {
        struct buf b = BUF_INIT(2 * PATH_BYTES);
        struct str name = json_str(v, "path", "");
        bool folder = str_eq(json_str(v, "type", ""), STR("folder"));
        if (!str_starts(name, str_of(l->name)) || json_has(v, "path_base64"))
            continue;
        buf_addf(&b, "%s%.*s%s", l->head, STR_ARG(name), folder ? "/" : "");
        n++;
        json_push_str(values, buf_str(&b));
        buf_release(&b);
    }
    mcp_pending_result(l->p, mcp_complete_result(values, n, json_has(j, "cursor")));
    json_free(j);
    listing_free(l);
}

static void list_folder(struct mcp_ask *a, const char *folder, struct str head,
                        struct str name)
{
    static const struct fileact_events calls = {.done = on_listed};
    struct err e = ERR_INIT;
    struct sandbox_place place;
    struct json *args = json_object();
    struct file_listing *l = xnew(struct file_listing);
    struct files_ask q = {.verb = "list", .args = args, .place = &place, .token = "mcp"};
    json_put_z(args, "path", folder);
    json_put_int(args, "limit", LIST_ENTRIES);
    *l = (struct file_listing){.head = xstrndup(head.p, head.n),
                               .name = xstrndup(name.p, name.n)};
    l->p = mcp_pending_new(a, STR(""), l, stop);
    if (!l->p) {
        listing_free(l);
    } else if (sandbox_place(a->m->en->sandbox, STR("main"), &place, &e) < 0 ||
               files_start(a->m->actions, &q, &calls, l, &l->act, &e) < 0) {
        mcp_pending_fail(l->p, &e);
        listing_free(l);
    }
    json_free(args);
}

/* Completes a path. The template has its first '/', so the value lacks it. */
static void complete(struct mcp_ask *a, struct str variable, struct str value)
{
    struct err e = ERR_INIT;
    struct str cwd = str_of(sandbox_cwd(a->m->en->sandbox, STR("main")));
    struct buf path = BUF_INIT(PATH_BYTES);
    char folder[PATH_BYTES];
    (void)variable;
    cwd = str_sub(cwd, 1, cwd.n);
    if (cwd.n > 0 && str_starts(cwd, value)) {
        struct json *values = json_array();
        buf_adds(&path, cwd);
        buf_addc(&path, '/');
        json_push_str(values, buf_str(&path));
        mcp_result(a, mcp_complete_result(values, 1, false));
        buf_release(&path);
        return;
    }
    size_t end = value.n;
    while (end > 0 && value.p[end - 1] != '/')
        end--;
    buf_addc(&path, '/');
    buf_adds(&path, str_sub(value, 0, end));
    if (buf_full(&path) || memchr(path.p, 0, path.n) ||
        mcp_folder_real(a->m, path.p, folder, &e) < 0)
        mcp_result(a, mcp_complete_result(json_array(), 0, false));
    else
        list_folder(a, folder, str_sub(value, 0, end), str_sub(value, end, value.n));
    buf_release(&path);
}

const struct mcp_resource mcp_resource_file = {
    .prefix = prefix,
    .pattern = "file:///{+path}",
    .name = "file",
    .about = "A file of this computer, up to 1 MiB. Changes of those below the working "
             "directory can be subscribed to",
    .arguments = "path",
    .read = read_file,
    .complete = complete,
    .watch = watch,
    .unwatch = mcp_folder_leave};
