/* SPDX-License-Identifier: MIT */
/*
 * Files: upload, download, folders, all by helpers. The bytes of an upload go from the
 * form to a helper as they arrive; it writes them next to the target and renames the file
 * when the form is complete. Clients from before 2026 send the path at the end of the
 * URL.
 */
#include "front/transfer/transfer.h"
#include "front/v1/work.h"

#include "base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

enum { FAVORITES_MAX = 50 };

static const struct model_field path_fields[] = {
    {.name = "path", .type = MODEL_STRING, .required = true}, {.name = NULL}};
static const struct model path_model = {.fields = path_fields};

static struct json *success(void)
{
    struct json *j = json_object();
    json_put_bool(j, "success", true);
    return j;
}

/*
 * Like work_new, for a path in the query or, as before 2026, after the route:
 * /api/file/upload//tmp/x is for /tmp/x.
 */
static struct work *work_at(struct req *r)
{
    struct str rest = req_param(r, "*");
    if (rest.n == 0)
        return work_new(r, &path_model, true);
    if (rest.p[0] != '/' || rest.n >= V1_PATH_MAX) {
        v1_detail(r, 400, "Path must be absolute");
        return NULL;
    }
    struct work *w = work_new(r, NULL, true);
    if (w)
        memcpy(w->path, rest.p, rest.n);
    return w;
}

/* ---- upload ---- */

struct v1_upload {
    char path[V1_PATH_MAX];
    struct sandbox_place place;
    bool had, plain, lacks; /* had: the part `file` is a file; plain: it is not; lacks:
                             * there is none */
};

static void refuse_part(struct req *r, bool plain)
{
    struct json *errors = NULL;
    model_error(&errors, plain ? "value_error" : "missing", "body", "file",
                plain ? "Value error, Expected UploadFile, received: <class 'str'>"
                      : "Field required",
                NULL);
    model_refuse(r, errors);
}

static int on_part(void *arg, const struct multipart_part *p, struct json **args,
                   struct err *e)
{
    struct v1_upload *u = arg;
    bool named = str_eq(p->name, STR("file"));
    (void)e;
    u->plain = u->plain || (named && !p->filename.p);
    if (!named || !p->filename.p || u->had)
        return PART_SKIP;
    u->had = true;
    *args = json_object();
    json_put_z(*args, "path", u->path);
    json_put_bool(*args, "parents", true);
    json_put_bool(*args, "keep", true);
    return PART_FILE;
}

static int on_form_end(void *arg, struct err *e)
{
    struct v1_upload *u = arg;
    u->lacks = !u->had;
    return u->had ? 0 : err_set(e, ERR_INVALID, "the form has no file of this name");
}

static void on_uploaded(struct req *r, void *arg, struct str result)
{
    struct json *j = json_parse(str_trim(result), NULL), *answer = success();
    (void)arg;
    json_put_int(answer, "file_size",
                 json_int(json_first(json_get(j, "files")), "size", 0));
    json_free(j);
    v1_answer(r, 200, answer);
}

static void on_upload_failed(struct req *r, void *arg, const struct err *e)
{
    struct v1_upload *u = arg;
    struct buf b = BUF_INIT(16 << 10);
    struct stat st;
    bool folder = stat(u->path, &st) == 0 && S_ISDIR(st.st_mode);
    if (u->lacks) {
        refuse_part(r, u->plain);
    } else if (e->code == ERR_INVALID && !folder) {
        v1_detail(r, 400, e->text);
    } else {
        buf_addz(&b, "Failed to upload file: ");
        work_errno(&b, u->path, e);
        v1_broken(r, 500, buf_z(&b));
    }
    buf_release(&b);
}

static void post_upload(struct req *r)
{
    static const struct transfer_words words = {.done = on_uploaded,
                                                .fail = on_upload_failed};
    static const struct transfer_form form = {.part = on_part, .end = on_form_end};
    struct str type = req_header(r, "Content-Type");
    struct work *w = work_at(r);
    if (!w)
        return;
    if (type.n < 19 || strncasecmp(type.p, "multipart/form-data", 19) != 0) {
        refuse_part(r, false);
        work_end(w);
        return;
    }
    if (str_find(type, STR("boundary=")) < 0) {
        work_detail(w, 400, "Missing boundary in multipart.");
        return;
    }
    struct v1_upload *u = xnew(struct v1_upload);
    memcpy(u->path, w->path, sizeof(u->path));
    u->place = w->place;
    work_end(w);
    transfer_form(r,
                  &(struct transfer_ask){.en = v1_of(r)->en,
                                         .place = &u->place,
                                         .source = ACTION_SOURCE_V1,
                                         .words = &words,
                                         .arg = u,
                                         .free = free},
                  &form);
}

/* ---- download ---- */

struct v1_download {
    char path[V1_PATH_MAX];
    struct sandbox_place place;
};

static void on_download(struct req *r, void *arg, const struct json *about)
{
    const struct v1_download *d = arg;
    char date[32];
    http_date(date, (time_t)json_int(about, "mtime", 0));
    req_header_add(r, "Last-Modified", date);
    work_attachment(r, work_base(d->path));
}

static void on_no_range(struct req *r, void *arg, uint64_t size)
{
    (void)arg;
    (void)size;
    v1_detail(r, 416, "Range Not Satisfiable");
}

static void on_download_failed(struct req *r, void *arg, const struct err *e)
{
    const struct v1_download *d = arg;
    struct buf b = BUF_INIT(2 * V1_PATH_MAX);
    bool inside = str_ends(str_of(e->text), str_of(strerror(ENOTDIR)));
    if (e->code == ERR_NOTFOUND || inside) {
        v1_detail(r, 404, "File not found");
    } else if (e->code == ERR_INVALID || e->code == ERR_UNSUPPORTED) {
        v1_detail(r, 400, "Path is not a file");
    } else {
        if (e->code == ERR_DENIED)
            buf_addf(&b, "[Errno %d] %s: '%s'", EACCES, strerror(EACCES), d->path);
        else
            buf_addz(&b, e->text);
        v1_unforeseen(r, buf_z(&b));
    }
    buf_release(&b);
}

static void get_download(struct req *r)
{
    static const struct transfer_words words = {
        .fail = on_download_failed, .head = on_download, .unsatisfied = on_no_range};
    struct work *w = work_at(r);
    if (!w)
        return;
    struct v1_download *d = xnew(struct v1_download);
    struct json *args = json_object();
    memcpy(d->path, w->path, sizeof(d->path));
    d->place = w->place;
    work_end(w);
    json_put_z(args, "path", d->path);
    json_put_bool(args, "head", str_eq(req_method(r), STR("HEAD")));
    transfer_range(r, args); /* a malformed range counts as none (RFC 9110 14.2) */
    transfer_send(r, &(struct transfer_ask){.en = v1_of(r)->en,
                                            .verb = "send",
                                            .args = args,
                                            .place = &d->place,
                                            .type = "application/octet-stream",
                                            .source = ACTION_SOURCE_V1,
                                            .words = &words,
                                            .arg = d,
                                            .free = free});
    json_free(args);
}

/* ---- folders ---- */

static void on_made(struct work *w, const struct json *result, const struct err *e)
{
    struct buf why = BUF_INIT(2 * V1_PATH_MAX);
    (void)result;
    work_errno(&why, w->path, e);
    if (!e->code)
        work_answer(w, success());
    else if (e->code == ERR_EXISTS || e->code == ERR_NOTFOUND)
        work_detail(w, 400, "Path exists and is not a directory");
    else if (e->code == ERR_DENIED)
        work_detail(w, 403, "Permission denied: %s", buf_z(&why));
    else
        work_broken(w, "Failed to create directory", e);
    buf_release(&why);
}

static void post_directory(struct req *r)
{
    struct work *w = work_new(r, &path_model, true);
    if (!w)
        return;
    struct json *args = json_object();
    json_put_z(args, "path", w->path);
    work_act(w, "mkdir", args, on_made);
}

/* Returns the folders of a result as objects whose names are in the member `name`. */
static struct json *folders_as(const struct json *result, const char *name)
{
    struct json *list = json_array();
    for (struct json *x = json_first(json_get(result, "folders")); x; x = json_next(x)) {
        struct json *j = json_object();
        json_put_str(j, name, json_str(x, "name", ""));
        json_put_str(j, "path", json_str(x, "path", ""));
        json_push(list, j);
    }
    return list;
}

static void on_home(struct work *w, const struct json *result, const struct err *e)
{
    struct json *j = json_object(), *root = json_object(), *locations = json_array();
    (void)e; /* a home that cannot be read has no favorites */
    json_put_z(j, "home", work_home(w));
    json_put(j, "favorites", folders_as(result, "label"));
    json_put_z(root, "label", "/");
    json_put_z(root, "path", "/");
    json_push(locations, root);
    json_put(j, "locations", locations);
    work_answer(w, j);
}

static void get_home(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "include_hidden", .type = MODEL_BOOL}, {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_new(r, &m, true);
    if (!w)
        return;
    struct json *args = json_object();
    json_put_z(args, "path", work_home(w));
    json_put_bool(args, "hidden", json_bool(w->query, "include_hidden", false));
    json_put_int(args, "limit", FAVORITES_MAX);
    work_file(w, "folders", args, on_home);
}

static void on_subdirs(struct work *w, const struct json *result, const struct err *e)
{
    struct buf why = BUF_INIT(2 * V1_PATH_MAX);
    work_errno(&why, w->path, e);
    if (!e->code) {
        struct json *j = json_object(), *next = json_get(result, "next");
        json_put(j, "items", folders_as(result, "name"));
        json_put(j, "next_page_id", json_copy(next));
        work_answer(w, j);
    } else if (e->code == ERR_NOTFOUND) {
        work_detail(w, 404, "Directory not found");
    } else if (e->code == ERR_INVALID) {
        work_detail(w, 400, "Path is not a directory");
    } else if (e->code == ERR_DENIED) {
        work_detail(w, 403, "Permission denied: %s", buf_z(&why));
    } else {
        work_broken(w, "Failed to list directory", e);
    }
    buf_release(&why);
}

static void get_subdirs(struct req *r)
{
    static const struct model_field fields[] = {
        {.name = "path", .type = MODEL_STRING, .required = true},
        {.name = "page_id", .type = MODEL_STRING, .nullable = true},
        {.name = "limit",
         .type = MODEL_INT,
         .has_gt = true,
         .has_le = true,
         .gt = 0,
         .le = 100},
        {.name = "include_hidden", .type = MODEL_BOOL},
        {.name = NULL}};
    static const struct model m = {.fields = fields};
    struct work *w = work_new(r, &m, true);
    if (!w)
        return;
    struct json *args = json_object();
    json_put_z(args, "path", w->path);
    json_put_bool(args, "hidden", json_bool(w->query, "include_hidden", false));
    json_put_int(args, "limit", json_int(w->query, "limit", 100));
    json_put_str(args, "from", json_str(w->query, "page_id", ""));
    work_file(w, "folders", args, on_subdirs);
}

/* ---- routes ---- */

#define PATH(sentence) \
    { \
        .name = "path", .type = PARAM_STRING, .required = true, .about = sentence \
    }
#define HIDDEN \
    { \
        .name = "include_hidden", .type = PARAM_BOOL, .dflt = "false", \
        .about = "Whether names that begin with a dot are listed" \
    }

static const struct param file_query[] = {PATH("The absolute path of the file"), {0}};
static const struct param folder_query[] = {PATH("The absolute path of the folder"), {0}};
static const struct param home_query[] = {HIDDEN, {0}};
static const struct param subdirs_query[] = {
    PATH("The absolute path of the folder"),
    {.name = "page_id",
     .type = PARAM_STRING,
     .about = "The next_page_id of the previous page"},
    {.name = "limit",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .max = 100,
     .dflt = "100",
     .about = "The number of folders on a page"},
    HIDDEN,
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_POST,
     .path = "/api/file/upload",
     .body = post_upload,
     .takes = "multipart/form-data",
     .about = "Stores the part `file` as a file, completely or not at all",
     .query = file_query},
    {.methods = HTTP_POST, .path = "/api/file/upload/*", .body = post_upload},
    {.methods = HTTP_GET,
     .path = "/api/file/download",
     .run = get_download,
     .gives = "application/octet-stream",
     .about = "Sends a file, or a range of it",
     .query = file_query},
    {.methods = HTTP_GET, .path = "/api/file/download/*", .run = get_download},
    {.methods = HTTP_POST,
     .path = "/api/file/create_directory",
     .run = post_directory,
     .about = "Makes a folder and its parents",
     .query = folder_query},
    {.methods = HTTP_GET,
     .path = "/api/file/home",
     .run = get_home,
     .about = "The home folder, and folders in it",
     .query = home_query},
    {.methods = HTTP_GET,
     .path = "/api/file/search_subdirs",
     .run = get_subdirs,
     .about = "The folders in a folder",
     .query = subdirs_query},
};

const struct http_front v1_file_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
