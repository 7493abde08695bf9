/* SPDX-License-Identifier: MIT */
/*
 * /files and /directories. Each change of a file is an action in the log, one for each
 * path. Helpers do uploads, downloads and lists (front/transfer). Modes are octal digits
 * written as a decimal number: 644 is 0644.
 */
#include "front/execd/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/transfer/transfer.h"
#include "text/glob.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { LIST_MAX = 32 << 20, PATTERNS_MAX = 256 << 10 };

/* ---- errors ---- */

static void refuse(struct req *r, const struct err *e, const char *what)
{
    if (e->code == ERR_NOTFOUND)
        execd_say(r, 404, "FILE_NOT_FOUND", "file not found. %s", e->text);
    else if (e->code == ERR_INVALID && !what)
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e->text);
    else
        execd_say(r, 500, "RUNTIME_ERROR", "%s%s", what ? what : "", e->text);
}

/* Writes the mode "0755" for the number 755; "" for 0 and invalid numbers. */
static void mode_text(const struct json *mode, char out[8])
{
    int64_t n = json_int_value(mode, 0);
    out[0] = 0;
    if (n > 0 && n <= 7777)
        snprintf(out, 8, "%04lld", (long long)n);
}

/* Adds the path to args. Returns -1 if the request was refused. */
static int put_path(struct req *r, struct json *args, const char *name, struct str path)
{
    struct buf b = BUF_INIT(8 << 10);
    struct err e = ERR_INIT;
    int rc = execd_path(req_arg(r), NULL, path, &b, &e);
    if (rc < 0)
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e.text);
    else
        transfer_path(args, name, buf_str(&b));
    buf_release(&b);
    return rc;
}

/* ---- FileInfo ---- */

static const char *type_of(struct str type)
{
    return str_eq(type, STR("file"))     ? "file"
           : str_eq(type, STR("folder")) ? "directory"
           : str_eq(type, STR("link"))   ? "symlink"
                                         : "other";
}

static void put_name(struct buf *b, const struct json *entry, const char *name,
                     const char *id)
{
    char number[24];
    struct str s = json_str(entry, name, "");
    snprintf(number, sizeof(number), "%lld", (long long)json_int(entry, id, 0));
    buf_addf(b, ",\"%s\":", name);
    execd_quote(b, s.n ? s : str_of(number));
}

static void put_info(struct buf *b, const struct json *entry, struct str path)
{
    struct str mode = json_str(entry, "mode", "0000");
    buf_addz(b, "{\"path\":");
    execd_quote(b, path);
    buf_addf(b, ",\"type\":\"%s\",\"size\":%lld,\"modified_at\":",
             type_of(json_str(entry, "type", "")), (long long)json_int(entry, "size", 0));
    execd_put_time(b, json_num(entry, "mtime", 0));
    buf_addz(b, ",\"created_at\":");
    execd_put_time(b, json_num(entry, "ctime", 0));
    put_name(b, entry, "owner", "uid");
    put_name(b, entry, "group", "gid");
    buf_addf(b, ",\"mode\":%ld}", strtol(mode.p, NULL, 10));
}

static void free_json(void *j) { json_free(j); }

static void on_info(struct req *r, const struct json *results, const struct err *e,
                    int failed, void *arg)
{
    struct buf b = BUF_INIT(LIST_MAX);
    const struct json *path = json_first(arg);
    (void)failed;
    if (e) {
        refuse(r, e, "");
        return;
    }
    buf_addc(&b, '{');
    for (struct json *v = json_first(results); v && path; v = json_next(v)) {
        buf_addz(&b, b.n > 1 ? "," : "");
        execd_quote(&b, json_str_value(path, ""));
        buf_addc(&b, ':');
        put_info(&b, v, json_str(v, "path", ""));
        path = json_next(path);
    }
    buf_addc(&b, '}');
    req_answer_take(r, 200, "application/json; charset=utf-8", &b);
}

void execd_get_info(struct req *r)
{
    struct json *paths = json_array(), *steps = json_array();
    struct str query = req_head(r)->query;
    struct buf path = BUF_INIT(HTTP_LINE_MAX);
    int rc = 0;
    while (rc == 0 && execd_query_next(&query, "path", &path)) {
        json_push_str(paths, buf_str(&path));
        rc = put_path(r, execd_step(steps, "stat"), "path", buf_str(&path));
    }
    buf_release(&path);
    if (rc == 0) {
        execd_act(r, steps, on_info, paths, free_json);
    } else {
        json_free(paths);
        json_free(steps);
    }
}

/* ---- changes ---- */

/*
 * Answers 200 without a body, or the error. arg: the text before an error of the system.
 */
static void on_changed(struct req *r, const struct json *results, const struct err *e,
                       int failed, void *arg)
{
    (void)results;
    (void)failed;
    if (e)
        refuse(r, e, arg);
    else
        execd_ok(r);
}

static char removing[] = "error removing file. ", renaming[] = "error renaming file. ",
            replacing[] = "error replacing content. ";

static void remove_all(struct req *r, bool recursive)
{
    struct json *steps = json_array();
    struct str query = req_head(r)->query;
    struct buf path = BUF_INIT(HTTP_LINE_MAX);
    int rc = 0;
    while (rc == 0 && execd_query_next(&query, "path", &path)) {
        struct json *args = execd_step(steps, "remove");
        json_put_bool(args, "recursive", recursive);
        json_put_bool(args, "file", !recursive);
        rc = put_path(r, args, "path", buf_str(&path));
    }
    for (struct json *v = json_first(steps); v; v = json_next(v))
        json_put_bool(v, "missing", true);
    buf_release(&path);
    if (rc == 0)
        execd_act(r, steps, on_changed, removing, NULL);
    else
        json_free(steps);
}

void execd_delete_files(struct req *r) { remove_all(r, false); }
void execd_delete_directories(struct req *r) { remove_all(r, true); }

void execd_post_mv(struct req *r)
{
    struct json *body = execd_body(r, true, false), *steps = json_array();
    int rc = body ? 0 : -1;
    for (struct json *v = json_first(body); v && rc == 0; v = json_next(v)) {
        struct json *args = execd_step(steps, "move");
        json_put_bool(args, "parents", true);
        rc = put_path(r, args, "from", json_str(v, "src", ""));
        if (rc == 0)
            rc = put_path(r, args, "to", json_str(v, "dest", ""));
    }
    json_free(body);
    if (rc == 0)
        execd_act(r, steps, on_changed, renaming, NULL);
    else
        json_free(steps);
}

/* Adds owner, group and mode of a request. Returns whether there are any. */
static bool put_rights(struct json *args, const struct json *v)
{
    struct str owner = json_str(v, "owner", ""), group = json_str(v, "group", "");
    char mode[8];
    mode_text(json_get(v, "mode"), mode);
    if (owner.n)
        json_put_str(args, "owner", owner);
    if (group.n)
        json_put_str(args, "group", group);
    if (mode[0])
        json_put_z(args, "mode", mode);
    return owner.n || group.n || mode[0];
}

/* Does one action for each member of the body, a map of paths. */
static void change_all(struct req *r, const char *action, const char *what)
{
    struct json *body = execd_body(r, false, false), *steps = json_array();
    bool mkdir = strcmp(action, "mkdir") == 0;
    int rc = body ? 0 : -1;
    for (struct json *v = json_first(body); v && rc == 0; v = json_next(v)) {
        struct json *trial = json_object();
        const char *verb = mkdir || put_rights(trial, v) ? action : "stat";
        struct json *args = execd_step(steps, verb);
        if (strcmp(verb, "stat") != 0)
            put_rights(args, v);
        json_free(trial);
        rc = put_path(r, args, "path", str_of(json_name(v)));
    }
    json_free(body);
    if (rc == 0)
        execd_act(r, steps, on_changed, (void *)what, NULL);
    else
        json_free(steps);
}

void execd_post_permissions(struct req *r)
{
    change_all(r, "chmod", "error changing permissions. ");
}
void execd_post_directories(struct req *r)
{
    change_all(r, "mkdir", "error creating directory. ");
}

void execd_say_session(struct req *r, const char *id, int status)
{
    struct json *j = json_object();
    json_put_z(j, "session_id", id);
    execd_json(r, status, j);
}

struct execd_made {
    char id[EXECD_UUID + 1];
    int status;
};

static void on_made(struct req *r, const struct json *results, const struct err *e,
                    int failed, void *arg)
{
    const struct execd_made *m = arg;
    (void)results;
    (void)failed;
    if (e)
        execd_say(r, 500, "RUNTIME_ERROR", "%s", e->text);
    else
        execd_say_session(r, m->id, m->status);
}

void execd_make_folder(struct req *r, struct str dir, const char *id, int status)
{
    struct json *steps = json_array();
    struct execd_made *m = xnew(struct execd_made);
    snprintf(m->id, sizeof(m->id), "%s", id);
    m->status = status;
    json_put_str(execd_step(steps, "mkdir"), "path", dir);
    execd_act(r, steps, on_made, m, free);
}

/* ---- replace ---- */

static void on_replaced(struct req *r, const struct json *results, const struct err *e,
                        int failed, void *arg)
{
    struct buf verbose = BUF_INIT(16);
    const struct json *path = json_first(arg);
    int got = req_query(r, "verbose", &verbose);
    bool wanted = got > 0 && str_eq(buf_str(&verbose), STR("true"));
    buf_release(&verbose);
    if (e || !wanted) {
        on_changed(r, results, e, failed, replacing);
        return;
    }
    struct json *j = json_object();
    for (struct json *v = json_first(results); v && path; v = json_next(v)) {
        struct json *one = json_object();
        json_put_int(one, "replacedCount", json_int(v, "replaced", 0));
        json_put(j, json_str_value(path, "").p, one);
        path = json_next(path);
    }
    execd_json(r, 200, j);
}

void execd_post_replace(struct req *r)
{
    struct json *body = execd_body(r, false, false), *steps = json_array(),
                *paths = json_array();
    int rc = body ? 0 : -1;
    for (struct json *v = json_first(body); v && rc == 0; v = json_next(v)) {
        struct json *args = execd_step(steps, "replace");
        json_push_str(paths, str_of(json_name(v)));
        json_put_str(args, "old", json_str(v, "old", ""));
        json_put_str(args, "new", json_str(v, "new", ""));
        if (json_str(v, "old", "").n == 0) {
            execd_say(r, 400, "INVALID_REQUEST_BODY", "old content must not be empty");
            rc = -1;
        } else {
            rc = put_path(r, args, "path", str_of(json_name(v)));
        }
    }
    json_free(body);
    if (rc == 0) {
        execd_act(r, steps, on_replaced, paths, free_json);
    } else {
        json_free(steps);
        json_free(paths);
    }
}

/* ---- lists ---- */

struct execd_listing {
    char *root;          /* owned */
    struct buf patterns; /* owned: patterns of file names, each with a zero byte */
    bool search;
};

static struct execd_listing *listing_new(bool search)
{
    struct execd_listing *l = xnew(struct execd_listing);
    l->search = search;
    buf_init(&l->patterns, PATTERNS_MAX);
    return l;
}

static void listing_free(void *arg)
{
    struct execd_listing *l = arg;
    free(l->root);
    buf_release(&l->patterns);
    free(l);
}

static bool fits(const struct execd_listing *l, struct str name)
{
    struct str rest = buf_str(&l->patterns);
    while (rest.n > 0) {
        if (glob_match(str_cut(&rest, 0), name))
            return true;
    }
    return false;
}

static bool put_entry(struct buf *out, const struct json *entry, void *arg)
{
    const struct execd_listing *l = arg;
    struct str path = json_str(entry, "path", "");
    const char *slash = strrchr(path.p, '/');
    struct buf whole = BUF_INIT(16 << 10);
    if (l->search && (str_eq(json_str(entry, "type", ""), STR("folder")) ||
                      !fits(l, slash ? str_of(slash + 1) : path)))
        return false;
    buf_addz(&whole, l->root);
    if (whole.n == 0 || whole.p[whole.n - 1] != '/')
        buf_addc(&whole, '/');
    buf_adds(&whole, path);
    put_info(out, entry, buf_str(&whole));
    buf_release(&whole);
    return true;
}

static void on_list_failed(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    if (e->code == ERR_INVALID)
        execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e->text);
    else
        refuse(r, e, "error listing directory. ");
}

static void list(struct req *r, struct str path, struct json *args,
                 struct execd_listing *take)
{
    struct execd *f = req_arg(r);
    struct sandbox_place place;
    struct err e = ERR_INIT;
    struct stat st;
    if (put_path(r, args, "path", path) < 0) {
        listing_free(take);
        json_free(args);
        return;
    }
    struct str root = json_str(args, "path", "");
    take->root = xstrndup(root.p, root.n);
    for (size_t n = root.n; n > 1 && take->root[n - 1] == '/'; n--)
        take->root[n - 1] = 0;
    if (!take->search && lstat(take->root, &st) == 0 && S_ISLNK(st.st_mode)) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "path is a symbolic link, refusing to traverse: %s", take->root);
        listing_free(take);
        json_free(args);
        return;
    }
    json_put_bool(args, "full", true);
    struct transfer_list q = {.en = f->en,
                              .place = &place,
                              .type = "application/json; charset=utf-8",
                              .head = STR("["),
                              .tail = STR("]"),
                              .put = put_entry,
                              .fail = on_list_failed,
                              .arg = take,
                              .free = listing_free};
    if (sandbox_place_of(f->en->sandbox, STR(""), &place, &e) < 0) {
        refuse(r, &e, "");
        listing_free(take);
        json_free(args);
        return;
    }
    transfer_list(r, args, &q);
}

void execd_get_search(struct req *r)
{
    struct buf path = BUF_INIT(8 << 10), pattern = BUF_INIT(1024);
    int got = req_query(r, "path", &path);
    if (got <= 0 || path.n == 0) {
        execd_say(r, 400, "MISSING_QUERY", "missing query parameter 'path'");
    } else {
        struct execd_listing *l = listing_new(true);
        struct json *args = json_object();
        struct err e = ERR_INIT;
        req_query(r, "pattern", &pattern);
        json_put_bool(args, "recursive", true);
        if (glob_expand(pattern.n ? buf_str(&pattern) : STR("**"), &l->patterns, &e) <
            0) {
            execd_say(r, 400, "INVALID_REQUEST_BODY", "%s", e.text);
            listing_free(l);
            json_free(args);
        } else {
            list(r, buf_str(&path), args, l);
        }
    }
    buf_release(&path);
    buf_release(&pattern);
}

void execd_get_directories(struct req *r)
{
    struct buf path = BUF_INIT(8 << 10), depth = BUF_INIT(16);
    uint64_t n = 1;
    int got = req_query(r, "path", &path), deep = req_query(r, "depth", &depth);
    if (got <= 0 || path.n == 0) {
        execd_say(r, 400, "MISSING_QUERY", "missing query parameter 'path'");
    } else if (deep < 0 || (deep > 0 && str_to_u64(buf_str(&depth), &n) < 0)) {
        execd_say(r, 400, "INVALID_REQUEST_BODY", "depth must be a number of 0 or more");
    } else if (n == 0) {
        req_answer(r, 200, "application/json; charset=utf-8", STR("[]"));
    } else {
        struct json *args = json_object();
        json_put_int(args, "depth", n < 200 ? (int64_t)n : 200);
        list(r, buf_str(&path), args, listing_new(false));
    }
    buf_release(&path);
    buf_release(&depth);
}

/* ---- upload and download ---- */

struct execd_upload {
    struct execd *f;
    struct json *files; /* owned: metadata whose file has not come yet, as arguments */
    unsigned metadata, had;
    const char *code; /* of the error; NULL: an error of the system */
};

static void upload_free(void *arg)
{
    struct execd_upload *u = arg;
    json_free(u->files);
    free(u);
}

static int wrong(struct execd_upload *u, struct err *e, const char *code,
                 const char *text)
{
    u->code = code;
    return err_set(e, ERR_INVALID, "%s", text);
}

static int on_part(void *arg, const struct multipart_part *p, struct json **args,
                   struct err *e)
{
    struct execd_upload *u = arg;
    if (str_eq(p->name, STR("metadata")) && p->filename.p)
        return PART_TEXT;
    if (!str_eq(p->name, STR("file")) || !p->filename.p)
        return PART_SKIP;
    struct json *first = json_first(u->files);
    if (!first)
        return wrong(u, e, "INVALID_FILE_METADATA", "metadata file is missing");
    u->had++;
    *args = json_copy(first);
    json_drop(u->files, first);
    return PART_FILE;
}

static int on_metadata(void *arg, struct str text, struct err *e)
{
    struct execd_upload *u = arg;
    struct err bad = ERR_INIT;
    struct json *j = json_parse(text, &bad), *args = json_object();
    struct buf path = BUF_INIT(8 << 10);
    char mode[8];
    int rc = 0;
    u->metadata++;
    if (!json_is_object(j))
        rc = wrong(u, e, "INVALID_FILE_METADATA", "metadata is not a JSON object");
    else if (json_str(j, "path", "").n == 0)
        rc = wrong(u, e, "INVALID_FILE_METADATA", "metadata path is empty");
    else if (execd_path(u->f, NULL, json_str(j, "path", ""), &path, &bad) < 0)
        rc = wrong(u, e, "INVALID_FILE_METADATA", bad.text);
    if (rc == 0) {
        mode_text(json_get(j, "mode"), mode);
        json_put_str(args, "path", buf_str(&path));
        json_put_int(args, "mode", mode[0] ? strtol(mode, NULL, 8) : 0777);
        json_put_bool(args, "keep", !mode[0]);
        json_put_bool(args, "parents", true);
        json_put_bool(args, "sync", true);
        if (json_str(j, "owner", "").n)
            json_put_str(args, "owner", json_str(j, "owner", ""));
        if (json_str(j, "group", "").n)
            json_put_str(args, "group", json_str(j, "group", ""));
        json_push(u->files, args);
    } else {
        json_free(args);
    }
    json_free(j);
    buf_release(&path);
    return rc;
}

static int on_form_end(void *arg, struct err *e)
{
    struct execd_upload *u = arg;
    if (u->metadata == 0 && u->had == 0)
        return wrong(u, e, "INVALID_FILE", "multipart form is empty");
    if (u->metadata != u->had)
        return wrong(u, e, u->had ? "INVALID_FILE" : "INVALID_FILE_CONTENT",
                     u->had ? "metadata and file count mismatch" : "file is missing");
    return 0;
}

static void on_uploaded(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    execd_ok(r);
}

static void on_upload_failed(struct req *r, void *arg, const struct err *e)
{
    const struct execd_upload *u = arg;
    if (u->code || (e->code == ERR_INVALID && u->metadata == 0))
        execd_say(r, 400, u->code ? u->code : "INVALID_FILE", "%s", e->text);
    else
        execd_say(r, 500, "RUNTIME_ERROR", "error writing file. %s", e->text);
}

static int ask(struct req *r, struct transfer_ask *q, struct sandbox_place *place)
{
    struct execd *f = req_arg(r);
    struct err e = ERR_INIT;
    q->en = f->en;
    q->place = place;
    q->type = "application/octet-stream";
    q->source = EXECD_SOURCE;
    if (sandbox_place_of(f->en->sandbox, STR(""), place, &e) == 0)
        return 0;
    refuse(r, &e, "");
    return -1;
}

void execd_post_upload(struct req *r)
{
    static const struct transfer_words words = {.done = on_uploaded,
                                                .fail = on_upload_failed};
    static const struct transfer_form form = {
        .part = on_part, .text = on_metadata, .end = on_form_end};
    struct execd_upload *u = xnew(struct execd_upload);
    struct sandbox_place place;
    struct transfer_ask q = {.words = &words, .arg = u, .free = upload_free};
    u->f = req_arg(r);
    u->files = json_array();
    if (ask(r, &q, &place) == 0)
        transfer_form(r, &q, &form);
    else
        upload_free(u);
}

static void on_sent(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    execd_ok(r);
}

static void on_not_sent(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    refuse(r, e, "error reading file. ");
}

static void on_head(struct req *r, void *arg, const struct json *about)
{
    const char *path = arg, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct buf field = BUF_INIT(2048), coded = BUF_INIT(1024);
    char date[32];
    bool plain = true;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
        bool word = (*p | 32) >= 'a' && (*p | 32) <= 'z';
        plain = plain && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\';
        if (word || (*p >= '0' && *p <= '9') || strchr("-._~", *p))
            buf_addc(&coded, (char)*p);
        else
            buf_addf(&coded, "%%%02X", *p);
    }
    if (plain)
        buf_addf(&field, "attachment; filename=\"%s\"", name);
    else
        buf_addf(&field, "attachment; filename=\"%s\"; filename*=UTF-8''%s",
                 buf_z(&coded), buf_z(&coded));
    req_header_add(r, "Content-Disposition", buf_z(&field));
    http_date(date, (time_t)json_int(about, "mtime", 0));
    req_header_add(r, "Last-Modified", date);
    buf_release(&field);
    buf_release(&coded);
}

static void on_unsatisfied(struct req *r, void *arg, uint64_t size)
{
    (void)arg;
    (void)size;
    req_answer(r, 416, "text/plain", STR("invalid range: failed to overlap"));
}

static void on_no_lines(struct req *r, void *arg, struct str result)
{
    (void)arg;
    (void)result;
    req_answer(r, 200, "text/plain; charset=utf-8", STR(""));
}

/* Adds ?NAME=, a number from 1 on, to args. Returns 1; 0 if it is absent, -1 if it is not
 * such a number. */
static int put_number(const struct req *r, const char *name, struct json *args)
{
    struct buf b = BUF_INIT(24);
    uint64_t n = 0;
    int got = req_query(r, name, &b);
    bool given = got < 0 || b.n > 0;
    if (given && got > 0 && str_to_u64(buf_str(&b), &n) < 0)
        n = 0;
    buf_release(&b);
    if (!given)
        return 0;
    if (n == 0 || n >= (uint64_t)1 << 53)
        return -1;
    json_put_int(args, name, (int64_t)n);
    return 1;
}

/* Adds the requested part of the file to args: lines, or a range of bytes. Returns -1 if
 * the request was answered. */
static int read_part(struct req *r, struct json *args, bool *lines)
{
    int first = put_number(r, "offset", args), most = put_number(r, "limit", args);
    *lines = first > 0 || most > 0;
    if (first < 0 || most < 0) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "offset and limit must be numbers of 1 or more");
        return -1;
    }
    if (*lines && req_header(r, "Range").p) {
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "offset and limit cannot be combined with a Range");
        return -1;
    }
    if (!*lines && transfer_range(r, args) < 0) {
        struct json *j = json_object();
        json_put_z(j, "code", "UNKNOWN");
        json_put_z(j, "message", "invalid range");
        execd_json(r, 416, j);
        return -1;
    }
    return 0;
}

void execd_get_download(struct req *r)
{
    static const struct transfer_words words = {.done = on_sent,
                                                .fail = on_not_sent,
                                                .head = on_head,
                                                .unsatisfied = on_unsatisfied};
    static const struct transfer_words words_of_lines = {.done = on_no_lines,
                                                         .fail = on_not_sent};
    struct json *args = json_object();
    struct buf path = BUF_INIT(8 << 10);
    struct sandbox_place place;
    bool lines;
    int got = req_query(r, "path", &path);
    if (got <= 0 || path.n == 0) {
        execd_say(r, 400, "MISSING_QUERY", "missing query parameter 'path'");
    } else if (read_part(r, args, &lines) == 0 &&
               put_path(r, args, "path", buf_str(&path)) == 0) {
        struct str whole = json_str(args, "path", "");
        struct transfer_ask q = {.verb = lines ? "send_lines" : "send",
                                 .args = args,
                                 .words = lines ? &words_of_lines : &words,
                                 .arg = xstrndup(whole.p, whole.n),
                                 .free = free};
        if (ask(r, &q, &place) < 0) {
            free(q.arg);
        } else {
            if (lines)
                q.type = "text/plain; charset=utf-8";
            transfer_send(r, &q);
        }
    }
    buf_release(&path);
    json_free(args);
}
