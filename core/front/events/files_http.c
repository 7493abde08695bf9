/* SPDX-License-Identifier: MIT */
/*
 * The routes to files and skills (FILES.md).
 *
 *   POST /files/{verb}     the arguments as body; an action, in the log. watch answers
 *                          with the action's id
 *   GET  /files/stat, …/list   the arguments in the query; not in the log
 *   GET  /files/archive    a folder as an archive, while it is made
 *   PUT  /files/extract    an archive as the body, unpacked as it comes
 *   GET  /files/watch      changes, a line each, while the connection is open; not in
 *                          the log
 *   GET  /files/content    a file, or a range of it
 *   PUT  /files/content    the body becomes the file, as a whole or not at all; an action
 *                          `receive` in the log, without the bytes
 *   GET  /files/upload     how much of such a body has arrived, if it was cut
 *   GET  /skills           all of them, as JSON Schema
 *   POST /skills/{name}    the arguments as body; an action, in the log
 *
 * ?session=NAME names the session whose directory and user are used.
 */
#include "action/files.h"

#include "front/events/own.h"
#include "base/clock.h"
#include "base/member.h"
#include "base/limits.h"
#include "base/param.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "skill/skill.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    BODY_MAX = 1 << 20,
    QUERY_MAX = 16 << 10,
    TOKEN = 32,
    PERSON_MAX = 64, /* bytes of a name */
    WATCHES_MAX = 32 /* watches by GET, at the same time: each has a helper */
};

/* ---- arguments ---- */

static int refuse_query(struct req *r, const char *name)
{
    struct err e;
    err_set(&e, ERR_INVALID, "%s in the query is malformed, or too long", name);
    events_http_refuse(r, &e);
    return -1;
}

/* Adds an argument of the query. Returns -1 if the request was refused. */
static int put_query(struct req *r, struct json *args, const char *name)
{
    struct buf b = BUF_INIT(QUERY_MAX);
    uint64_t n;
    int got = req_query(r, name, &b);
    if (got > 0) {
        struct str s = buf_str(&b);
        bool number = strcmp(name, "limit") == 0 || strncmp(name, "max_", 4) == 0 ||
                      strcmp(name, "size") == 0 || strcmp(name, "offset") == 0;
        if (str_eq(s, STR("true")) || str_eq(s, STR("false")))
            json_put_bool(args, name, s.n == 4);
        else if (number && str_to_u64(s, &n) == 0 && n < (uint64_t)1 << 53)
            json_put_int(args, name, (int64_t)n);
        else
            json_put_str(args, name, s);
    }
    buf_release(&b);
    return got < 0 ? refuse_query(r, name) : 0;
}

struct json *events_http_query(struct req *r, const char *const names[], size_t n)
{
    struct json *args = json_object();
    for (size_t i = 0; i < n; i++) {
        if (put_query(r, args, names[i]) < 0) {
            json_free(args);
            return NULL;
        }
    }
    return args;
}

/* Returns the arguments in the query; NULL if the request was refused. */
static struct json *query_args(struct req *r)
{
    static const char *const names[] = {"path",      "path_base64", "to",
                                        "to_base64", "format",      "recursive",
                                        "follow",    "limit",       "cursor",
                                        "overwrite", "max_bytes",   "max_files"};
    return events_http_query(r, names, sizeof(names) / sizeof(names[0]));
}

/* Writes the session that the query names. Returns -1 if the request was refused. */
static int session_of(struct req *r, char out[ACTION_SESSION_MAX + 1])
{
    struct buf b = BUF_INIT(ACTION_SESSION_MAX);
    int got = req_query(r, "session", &b);
    memset(out, 0, ACTION_SESSION_MAX + 1);
    if (got >= 0)
        memcpy(out, got ? buf_z(&b) : "main", got ? b.n : 4);
    buf_release(&b);
    return got < 0 ? refuse_query(r, "session") : 0;
}

struct json *events_http_body(struct req *r)
{
    struct err e = ERR_INIT;
    struct json *j = req_body(r).n ? json_parse(req_body(r), &e) : json_object();
    if (j && json_is_object(j))
        return j;
    if (j)
        err_set(&e, ERR_INVALID, "the body must be an object: the arguments");
    json_free(j);
    events_http_refuse(r, &e);
    return NULL;
}

/* ---- actions ---- */

void events_http_verb(struct req *r, const char *action, struct json *take_args,
                      bool wait)
{
    char session[ACTION_SESSION_MAX + 1];
    if (session_of(r, session) < 0) {
        json_free(take_args);
        return;
    }
    struct json *m = json_object();
    json_put_z(m, "action", action);
    json_put_z(m, "session", session);
    json_put(m, "args", take_args);
    events_http_act(req_arg(r), r, m, wait);
}

static void post_file(struct req *r)
{
    struct events *ev = req_arg(r);
    struct str verb = req_param(r, "verb");
    struct json *args;
    engine_touch(ev->en);
    if (!fileact_known(verb)) {
        events_http_fail(r, 404, "there is no such action; see FILES.md");
    } else if ((args = events_http_body(r))) {
        char name[16] = "";
        memcpy(name, verb.p, verb.n);
        events_http_verb(r, name, args, strcmp(name, "watch") != 0);
    }
}

static void post_skill(struct req *r)
{
    struct events *ev = req_arg(r);
    struct json *args = events_http_body(r), *own;
    engine_touch(ev->en);
    if (!args)
        return;
    own = json_object();
    json_put_str(own, "name", req_param(r, "name"));
    json_put(own, "args", args);
    events_http_verb(r, "skill", own, true);
}

static void get_skills(struct req *r)
{
    struct buf b = BUF_INIT(256 << 10);
    skill_schema(&b);
    req_answer_take(r, 200, "application/json", &b);
}

/* ---- requests that only read, or whose body is too large for the log ---- */

struct transfer {
    struct events *ev;
    struct req *req;   /* NULL: the client has disconnected */
    struct fileact *f; /* NULL: it has ended */
    bool begun;
    bool content;     /* the helper's first line is about the file */
    bool over;        /* the request was answered; only the helper's end is missing */
    bool watch;       /* it is counted in ev->watching */
    const char *type; /* media type of the answer; NULL: it is the result */
    char *person;     /* owned; the person who uploads by the page; NULL: none */
    char session[ACTION_SESSION_MAX + 1];
    struct files_log log;
};

static void transfer_free(void *arg)
{
    struct transfer *t = arg;
    free(t->person);
    free(t);
}

static void transfer_bury(struct transfer *t)
{
    t->ev->watching -= t->watch;
    loop_bury(t->ev->en->loop, t, transfer_free);
}

/* Logs which person uploaded which file. The upload succeeds even if the log is full. */
static void tell_person(const struct transfer *t, struct str result)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX);
    buf_addz(&b, "{\"observation\":\"human_input\",\"session\":");
    json_quote(&b, str_of(t->session));
    buf_addz(&b, ",\"content\":\"\",\"extras\":{\"of\":\"files\",\"viewer\":");
    json_quote(&b, str_of(t->person));
    buf_addc(&b, ',');
    buf_adds(&b, str_sub(result, 1, result.n));
    buf_addc(&b, '}');
    actions_tell(t->ev->actions, &b, &e);
    buf_release(&b);
}

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct transfer *t = arg;
    t->f = NULL;
    files_log_end(&t->log, str_trim(result), e);
    if (t->person && !e->code)
        tell_person(t, str_trim(result));
    if (t->over)
        transfer_bury(t);
    else if (t->begun && e->code)
        req_abort(t->req);
    else if (e->code)
        events_http_refuse(t->req, e);
    else if (t->begun)
        req_end(t->req);
    else
        req_answer(t->req, 200, "application/json", str_trim(result));
    if (!t->over)
        transfer_bury(t);
}

/*
 * Sends the head of the answer, made from the helper's line about the file. Returns the
 * length of the line.
 */
static size_t begin_content(struct transfer *t, struct str bytes)
{
    char range[96], etag[80];
    struct str rest = bytes, line = str_cut(&rest, '\n');
    struct json *about = line.n < bytes.n ? json_parse(line, NULL) : NULL;
    int64_t size = json_int(about, "size", -1), from = json_int(about, "from", 0);
    bool part = size >= 0 && from > 0;
    snprintf(etag, sizeof(etag), "\"%.60s\"", json_str(about, "etag", "").p);
    snprintf(range, sizeof(range), "bytes %lld-%lld/%lld", (long long)from,
             (long long)size - 1, (long long)size);
    req_header_add(t->req, "Accept-Ranges", "bytes");
    req_header_add(t->req, "ETag", etag);
    req_header_add(t->req, "Od-Mode", json_str(about, "mode", "").p);
    if (size < 0) {
        t->over = true;
        events_http_fail(t->req, 500, "The helper did not say what it sends");
    } else if (part && from >= size) {
        snprintf(range, sizeof(range), "bytes */%lld", (long long)size);
        req_header_add(t->req, "Content-Range", range);
        t->over = true;
        events_http_fail(t->req, 416, "The file has no such range");
    } else {
        t->begun = true;
        if (part)
            req_header_add(t->req, "Content-Range", range);
        req_begin(t->req, part ? 206 : 200, t->type, size - from);
    }
    json_free(about);
    return size >= 0 ? line.n + 1 : bytes.n;
}

static size_t on_content(void *arg, struct str bytes)
{
    struct transfer *t = arg;
    size_t head = 0;
    if (!t->begun && !t->over)
        head = begin_content(t, bytes);
    if (t->over)
        return bytes.n;
    return head + req_send(t->req, str_sub(bytes, head, bytes.n));
}

static size_t on_data(void *arg, struct str bytes)
{
    struct transfer *t = arg;
    if (!t->begun) {
        req_begin(t->req, 200, t->type, -1);
        t->begun = true;
    }
    return req_send(t->req, bytes);
}

static void on_input_room(void *arg)
{
    struct transfer *t = arg;
    req_body_more(t->req);
}

static void on_room(struct req *r, void *owner)
{
    struct transfer *t = owner;
    (void)r;
    if (t->f)
        fileact_resume(t->f);
}

static void on_gone(struct req *r, void *owner)
{
    struct transfer *t = owner;
    struct err e;
    (void)r;
    if (t->f)
        fileact_cancel(t->f);
    err_set(&e, ERR_CANCELLED, "the client closed the connection before the end");
    files_log_end(&t->log, STR(""), &e);
    transfer_bury(t);
}

/*
 * The action was cancelled: ends the helper. The received part does not become the file.
 */
static void on_cancel(void *owner)
{
    struct transfer *t = owner;
    struct err e;
    if (t->f)
        fileact_cancel(t->f);
    t->f = NULL;
    err_set(&e, ERR_CANCELLED, "the action was cancelled");
    files_log_end(&t->log, STR(""), &e);
    req_close_after(t->req); /* the rest of the body is not read */
    events_http_refuse(t->req, &e);
    transfer_bury(t);
}

/*
 * Starts a helper for the request. Takes args; NULL: the request was already refused.
 * Returns NULL if the request was answered or refused.
 */
static struct transfer *transfer(struct req *r, const char *verb, struct json *args,
                                 bool input, const char *type)
{
    static const struct fileact_events looks = {.done = on_done};
    static const struct fileact_events sends = {.data = on_data, .done = on_done};
    static const struct fileact_events takes = {.room = on_input_room, .done = on_done};
    static const struct fileact_events content = {.data = on_content, .done = on_done};
    struct events *ev = req_arg(r);
    struct err e = ERR_INIT;
    struct sandbox_place place;
    char session[ACTION_SESSION_MAX + 1], token[TOKEN + 1];
    engine_touch(ev->en);
    if (!args || session_of(r, session) < 0) {
        json_free(args);
        return NULL;
    }
    struct transfer *t = xnew(struct transfer);
    *t = (struct transfer){
        .ev = ev, .req = r, .type = type, .content = strcmp(verb, "send") == 0};
    memcpy(t->session, session, sizeof(session));
    random_hex(token, TOKEN);
    struct files_ask q = {.verb = verb,
                          .args = args,
                          .place = &place,
                          .token = token,
                          .input = input,
                          .output = type};
    int rc = fileact_check(verb, args, input, type, &e);
    if (rc == 0 && !sandbox_ready(ev->en->sandbox))
        rc = err_set(&e, ERR_CANCELLED,
                     "the sandbox is not ready yet; GET /ready reports its progress");
    if (rc == 0)
        rc = sandbox_place(ev->en->sandbox, str_of(session), &place, &e);
    if (rc == 0 && strcmp(verb, "receive") == 0)
        files_log_begin(&t->log, ev->actions, ACTION_SOURCE_FILES, str_of(t->session),
                        verb, args, on_cancel, t);
    if (rc == 0)
        rc = files_start(ev->actions, &q,
                         input        ? &takes
                         : t->content ? &content
                         : type       ? &sends
                                      : &looks,
                         t, &t->f, &e);
    json_free(args);
    if (rc < 0) {
        files_log_end(&t->log, STR(""), &e);
        free(t);
        events_http_refuse(r, &e);
        return NULL;
    }
    req_own(r, t, on_gone);
    return t;
}

static void get_stat(struct req *r) { transfer(r, "stat", query_args(r), false, NULL); }
static void get_list(struct req *r) { transfer(r, "list", query_args(r), false, NULL); }

static void get_archive(struct req *r)
{
    struct json *args = query_args(r);
    if (!args)
        return;
    const char *type = fileact_media_type(json_str(args, "format", "zip"));
    if (!json_has(args, "format"))
        json_put_z(args, "format", "zip");
    if (!type) {
        json_free(args);
        events_http_fail(r, 400, "format must be zip, tar or tar.gz");
    } else if (transfer(r, "archive", args, false, type)) {
        req_on_room(r, on_room);
    }
}

/* Writes as much as there is room for; on_input_room follows when there is more room. */
static size_t on_body(struct req *r, struct str bytes, void *owner)
{
    struct transfer *t = owner;
    struct str rest = bytes;
    (void)r;
    while (t->f && rest.n > 0) {
        struct str part = str_sub(rest, 0, fileact_room(t->f));
        if (fileact_write(t->f, part.n ? part : rest) < 0)
            return bytes.n - rest.n;
        rest = str_sub(rest, part.n ? part.n : rest.n, rest.n);
    }
    return bytes.n;
}

static void on_body_end(struct req *r, void *owner)
{
    struct transfer *t = owner;
    (void)r;
    if (t->f)
        fileact_end_input(t->f);
}

static void put_extract(struct req *r)
{
    if (transfer(r, "extract", query_args(r), true, NULL))
        req_on_body(r, on_body, on_body_end);
}

/* ---- changes ---- */

/*
 * A client that ends its side has left. Otherwise this would show only at the next
 * change.
 */
static void on_left(struct req *r, void *owner)
{
    struct transfer *t = owner;
    if (t->f)
        fileact_cancel(t->f);
    t->f = NULL;
    if (t->begun)
        req_abort(r);
    else
        events_http_fail(r, 400, "A watch ends with its connection");
    transfer_bury(t);
}

/*
 * The live page watches folders while it is open. The helper ends with the connection, so
 * a closed page leaves nothing behind.
 */
static void get_watch(struct req *r)
{
    static const char *const names[] = {"path", "path_base64", "recursive"};
    struct events *ev = req_arg(r);
    struct json *args = events_http_query(r, names, 3), *folders = NULL;
    struct buf b = BUF_INIT(QUERY_MAX);
    struct err e = {.code = ERR_LIMIT};
    int got = args ? req_query(r, "folders", &b) : 0;
    if (got > 0 && !(folders = json_parse(buf_str(&b), NULL)))
        got = -1;
    if (folders)
        json_put(args, "folders", folders);
    buf_release(&b);
    if (got < 0) {
        refuse_query(r, "folders");
    } else if (args && !access_has_place(ev->watching, WATCHES_MAX, req_right(r))) {
        snprintf(e.text, sizeof(e.text), "there are %u watches already", ev->watching);
        events_http_refuse(r, &e);
    } else {
        struct transfer *t = transfer(r, "watch", args, false, "application/x-ndjson");
        args = NULL;
        if (t) {
            t->watch = true;
            ev->watching++;
            req_on_room(r, on_room);
            req_on_half_closed(r, on_left);
        }
    }
    json_free(args);
}

/* ---- the content of a file ---- */

/* Adds a range that goes to the end of the file, and the ETag of If-Range. Other ranges
 * are ignored. */
static void put_range(struct req *r, struct json *args)
{
    struct str range = req_header(r, "Range"), same = req_header(r, "If-Range");
    uint64_t from;
    if (str_eq(req_method(r), STR("HEAD")))
        json_put_bool(args, "head", true);
    if (!str_starts(range, STR("bytes=")) || !str_ends(range, STR("-")) ||
        str_to_u64(str_sub(range, 6, range.n - 7), &from) < 0 ||
        from >= (uint64_t)1 << 53)
        return;
    json_put_int(args, "offset", (int64_t)from);
    if (same.n >= 2 && same.p[0] == '"')
        json_put_str(args, "etag", str_sub(same, 1, same.n - 2));
    else if (same.n > 0)
        json_put_z(args, "etag", "-"); /* a date, which does not identify the file */
}

static void get_content(struct req *r)
{
    static const char *const names[] = {"path", "path_base64"};
    struct json *args = events_http_query(r, names, 2);
    if (!args)
        return;
    put_range(r, args);
    if (transfer(r, "send", args, false, "application/octet-stream"))
        req_on_room(r, on_room);
}

static void get_upload(struct req *r)
{
    static const char *const names[] = {"path", "path_base64", "name", "token"};
    transfer(r, "received", events_http_query(r, names, 4), false, NULL);
}

/* Adds the mode, octal as in ls and chmod. Returns -1 if the request was refused. */
static int put_mode(struct req *r, struct json *args)
{
    struct buf b = BUF_INIT(16);
    int64_t mode = 0;
    int got = req_query(r, "mode", &b);
    for (size_t i = 0; got > 0 && i < b.n; i++) {
        if (b.p[i] < '0' || b.p[i] > '7' || b.n > 5)
            got = -1;
        else
            mode = mode * 8 + b.p[i] - '0';
    }
    buf_release(&b);
    if (got > 0)
        json_put_int(args, "mode", mode);
    return got < 0 ? refuse_query(r, "mode") : 0;
}

/*
 * Returns the person who uploads, by the page or with ?viewer=; NULL if there is none.
 * The caller owns it.
 */
static char *person_of(struct req *r)
{
    struct buf b = BUF_INIT(QUERY_MAX);
    char *name = NULL;
    if (req_query(r, "viewer", &b) > 0)
        name = xstrndup(b.p, utf8_cut(buf_str(&b), b.n < PERSON_MAX ? b.n : PERSON_MAX));
    else if (req_header(r, "X-OD-Page").p)
        name = xstrdup("a person");
    buf_release(&b);
    return name;
}

static void put_content(struct req *r)
{
    static const char *const names[] = {"path", "path_base64", "name",
                                        "size", "token",       "offset"};
    struct json *args = events_http_query(r, names, sizeof(names) / sizeof(names[0]));
    if (args && put_mode(r, args) < 0) {
        json_free(args);
        return;
    }
    struct transfer *t = transfer(r, "receive", args, true, NULL);
    if (!t)
        return;
    t->person = person_of(r);
    req_on_body(r, on_body, on_body_end);
}

#define SESSION \
    { \
        .name = "session", .type = PARAM_STRING, .dflt = "\"main\"", \
        .about = "The session whose directory and user are used" \
    }
#define FLAG(param_name, sentence) \
    { \
        .name = param_name, .type = PARAM_BOOL, .dflt = "false", .about = sentence \
    }

static const struct param stat_query[] = {
    {.name = "path", .type = PARAM_PATH, .required = true, .about = "The file or folder"},
    FLAG("follow", "Whether a link at the end of the path is followed"),
    SESSION,
    {0}};

static const struct param list_query[] = {
    {.name = "path",
     .type = PARAM_PATH,
     .about = "The folder; without it the session's directory"},
    FLAG("recursive", "Whether the contents of its folders are listed, too"),
    {.name = "limit",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .dflt = "1000",
     .about = "How many entries a page has; at most 10000 are returned"},
    {.name = "cursor",
     .type = PARAM_STRING,
     .about = "The cursor of the previous page, to list the next one"},
    SESSION,
    {0}};

static const struct param archive_query[] = {
    {.name = "path", .type = PARAM_PATH, .required = true, .about = "The file or folder"},
    {.name = "format",
     .type = PARAM_STRING,
     .choices = "zip tar tar.gz",
     .dflt = "\"zip\"",
     .about = "The format of the archive"},
    SESSION,
    {0}};

static const struct param extract_query[] = {
    {.name = "to",
     .type = PARAM_PATH,
     .required = true,
     .about = "The folder to unpack into"},
    {.name = "format",
     .type = PARAM_STRING,
     .choices = "zip tar tar.gz",
     .about = "The format of the archive; without it its first bytes decide"},
    FLAG("overwrite", "Whether existing files are replaced"),
    {.name = "max_bytes",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "How many bytes may be unpacked"},
    {.name = "max_files",
     .type = PARAM_INT,
     .ranged = true,
     .min = 1,
     .about = "How many files may be unpacked"},
    SESSION,
    {0}};

static const struct param watch_query[] = {
    {.name = "path", .type = PARAM_PATH, .required = true, .about = "The file or folder"},
    FLAG("recursive", "Whether the folders below it are watched, too"),
    {.name = "folders",
     .type = PARAM_STRING,
     .about = "Folders below it that are watched, too: a JSON array of strings"},
    SESSION,
    {0}};

static const struct param content_query[] = {
    {.name = "path", .type = PARAM_PATH, .required = true, .about = "The file"},
    SESSION,
    {0}};

static const struct param put_content_query[] = {
    {.name = "path",
     .type = PARAM_PATH,
     .required = true,
     .about = "The file, which is replaced if it exists, or an existing folder"},
    {.name = "name", .type = PARAM_STRING, .about = "Its name if path is a folder"},
    {.name = "mode",
     .type = PARAM_STRING,
     .dflt = "\"0644\"",
     .pattern = "^[0-7]{1,5}$",
     .about = "Its mode in octal digits"},
    {.name = "token",
     .type = PARAM_STRING,
     .about = "Digits and letters a to f, at most 40, which name this upload. If the "
              "connection is cut, the received part stays next to the file as .od-TOKEN, "
              "and the next PUT with the same token continues at its offset"},
    {.name = "size",
     .type = PARAM_INT,
     .ranged = true,
     .about = "With token, the size of the whole file in bytes"},
    {.name = "offset",
     .type = PARAM_INT,
     .ranged = true,
     .dflt = "0",
     .about = "With token, the offset in the file at which the body begins"},
    {.name = "viewer",
     .type = PARAM_STRING,
     .about = "The person who sends it, for an event human_input"},
    SESSION,
    {0}};

static const struct param upload_query[] = {
    {.name = "path",
     .type = PARAM_PATH,
     .required = true,
     .about = "The file, or an existing folder"},
    {.name = "name", .type = PARAM_STRING, .about = "Its name if path is a folder"},
    {.name = "token",
     .type = PARAM_STRING,
     .required = true,
     .about = "The token of the PUT that was cut"},
    SESSION,
    {0}};

static const struct param verb_query[] = {
    {.name = "verb",
     .type = PARAM_STRING,
     .choices = "stat list mkdir move copy remove replace join chmod archive extract "
                "watch",
     .about = "The action"},
    SESSION,
    {0}};

static const struct param skill_query[] = {
    {.name = "name", .type = PARAM_STRING, .about = "The skill"}, SESSION, {0}};

static const struct route_answer stat_answers[] = {
    {.status = 200, .about = "What the file or folder is", .schema = "stat_result"}, {0}};
static const struct route_answer list_answers[] = {
    {.status = 200, .about = "A page of the folder", .schema = "list_result"}, {0}};
static const struct route_answer archive_answers[] = {
    {.status = 200, .type = "application/zip", .about = "The archive"},
    {.status = 200, .type = "application/x-tar"},
    {.status = 200, .type = "application/gzip"},
    {0}};
static const struct route_answer extract_answers[] = {
    {.status = 200, .about = "It is in its place", .schema = "extract_result"}, {0}};
static const struct route_answer watch_answers[] = {
    {.status = 200, .type = "application/x-ndjson", .about = "The changes"}, {0}};
static const struct route_answer content_answers[] = {
    {.status = 200, .type = "application/octet-stream", .about = "The file"},
    {.status = 206, .type = "application/octet-stream", .about = "The rest of the file"},
    {0}};
static const struct route_answer put_content_answers[] = {
    {.status = 200,
     .about = "It is in its place",
     .value = &(const struct member){.type = MEMBER_OBJECT,
                                     .members = fileact_gives_receive}},
    {0}};
static const struct route_answer upload_answers[] = {
    {.status = 200,
     .about = "How many bytes have arrived",
     .value = &(const struct member){.type = MEMBER_OBJECT,
                                     .members = fileact_gives_received}},
    {0}};
static const struct route_answer verb_answers[] = {
    {.status = 200, .about = "The result", .schema = "FileResult"},
    {.status = 202, .about = "For watch: the action's id", .schema = "Accepted"},
    {0}};

/*
 * The form of functions for models that call tools: {"type":"function","function":{…}}.
 */
static const struct member skill_function[] = {
    {.name = "type", .type = MEMBER_STRING, .choices = "function", .about = "function"},
    {.name = "function",
     .type = MEMBER_OBJECT,
     .members =
         (const struct member[]){
             {.name = "name", .type = MEMBER_STRING, .about = "The skill"},
             {.name = "description", .type = MEMBER_STRING, .about = "What it does"},
             {.name = "parameters",
              .type = MEMBER_OBJECT,
              .about = "The JSON Schema of its arguments"},
             {0}},
     .about = "The function"},
    {0}};

static const struct route_answer skills_answers[] = {
    {.status = 200,
     .about = "The skills",
     .value = &(const struct member){.type = MEMBER_OBJECTS, .members = skill_function}},
    {0}};
static const struct route_answer skill_answers[] = {
    {.status = 200, .about = "The result", .schema = "SkillResult"}, {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/files/stat",
     .run = get_stat,
     .marks = ROUTE_PAGE,
     .right = RIGHT_VIEW,
     .about = "Reports what a file or folder is",
     .query = stat_query,
     .answers = stat_answers},
    {.methods = HTTP_GET,
     .path = "/files/list",
     .run = get_list,
     .marks = ROUTE_PAGE,
     .right = RIGHT_VIEW,
     .about = "Lists a folder",
     .query = list_query,
     .answers = list_answers},
    {.methods = HTTP_GET,
     .path = "/files/archive",
     .run = get_archive,
     .marks = ROUTE_PAGE,
     .about = "Sends a file or folder as an archive, while the archive is made",
     .query = archive_query,
     .answers = archive_answers},
    {.methods = HTTP_PUT,
     .path = "/files/extract",
     .body = put_extract,
     .about = "Unpacks the archive in the body",
     .query = extract_query,
     .takes = "application/octet-stream",
     .answers = extract_answers},
    {.methods = HTTP_GET,
     .path = "/files/watch",
     .run = get_watch,
     .marks = ROUTE_PAGE,
     .right = RIGHT_VIEW,
     .about = "Reports changes of a folder, a line of JSON each, until the connection "
              "ends",
     .query = watch_query,
     .answers = watch_answers},
    {.methods = HTTP_GET,
     .path = "/files/content",
     .run = get_content,
     .marks = ROUTE_PAGE,
     .about = "Sends a file, or with Range: bytes=N- the part after its first N bytes",
     .query = content_query,
     .answers = content_answers},
    {.methods = HTTP_PUT,
     .path = "/files/content",
     .body = put_content,
     .marks = ROUTE_PAGE,
     .about = "Makes the body a file, as a whole or not at all",
     .query = put_content_query,
     .takes = "application/octet-stream",
     .answers = put_content_answers},
    {.methods = HTTP_GET,
     .path = "/files/upload",
     .run = get_upload,
     .about = "Reports how many bytes of a file have arrived in a PUT that was cut",
     .query = upload_query,
     .answers = upload_answers},
    {.methods = HTTP_POST,
     .path = "/files/{verb}",
     .run = post_file,
     .body_max = BODY_MAX,
     .about = "Does an action on files; the body is its arguments",
     .query = verb_query,
     .schema = "FileArguments",
     .answers = verb_answers},
    {.methods = HTTP_GET,
     .path = "/skills",
     .run = get_skills,
     .about = "Lists the skills as functions for models that call tools",
     .answers = skills_answers},
    {.methods = HTTP_POST,
     .path = "/skills/{name}",
     .run = post_skill,
     .body_max = BODY_MAX,
     .about = "Calls a skill; the body is its arguments",
     .query = skill_query,
     .answers = skill_answers},
};
const struct http_front events_bare_files = {.routes = routes,
                                             .nroutes = sizeof(routes) /
                                                        sizeof(routes[0]),
                                             .fail = events_http_fail};
