/* SPDX-License-Identifier: MIT */
/*
 * Files for browsers, if a folder for them was given; the cookie of workspace files. A
 * helper reads the files, so that no pipe and no slow disk delays other requests.
 */
#include "front/v1/own.h"

#include "base/mime.h"
#include "front/transfer/transfer.h"
#include "http/http.h"

#include <string.h>

/* ---- the helper ---- */

/* All paths are below the folder, whatever links are in it (file/root.h). */
static struct transfer_ask ask_of(struct req *r, const char *verb,
                                  const struct transfer_words *words,
                                  const struct json *args)
{
    static const struct sandbox_place server = {.cwd = "/"};
    const struct v1 *v = v1_of(r);
    return (struct transfer_ask){.en = v->en,
                                 .verb = verb,
                                 .args = args,
                                 .place = &server,
                                 .root = v->static_dir,
                                 .words = words};
}

static void look(struct req *r, const char *path, const struct transfer_words *words)
{
    struct json *args = json_object();
    json_put_z(args, "path", path);
    json_put_bool(args, "follow", true);
    struct transfer_ask q = ask_of(r, "stat", words, args);
    transfer_look(r, &q);
    json_free(args);
}

static bool is_of(struct str result, const char *type)
{
    struct json *j = json_parse(result, NULL);
    bool is = str_eq(json_str(j, "type", ""), str_of(type));
    json_free(j);
    return is;
}

/* ---- GET / ---- */

static void redirect(struct req *r, const char *to)
{
    req_header_add(r, "Location", to);
    req_answer(r, 302, NULL, STR(""));
}

static void on_folder(struct req *r, void *arg, struct str result)
{
    (void)arg;
    if (is_of(result, "folder"))
        redirect(r, "/static/");
    else
        v1_server_info(r);
}

static void on_no_folder(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    (void)e;
    v1_server_info(r);
}

static void look_at_folder(struct req *r)
{
    static const struct transfer_words words = {.done = on_folder, .fail = on_no_folder};
    look(r, ".", &words);
}

static void on_index(struct req *r, void *arg, struct str result)
{
    (void)arg;
    if (is_of(result, "file"))
        redirect(r, "/static/index.html");
    else
        look_at_folder(r);
}

static void on_no_index(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    (void)e;
    look_at_folder(r);
}

/* Redirects to the static files, or answers the server info. */
static void root(struct req *r)
{
    static const struct transfer_words words = {.done = on_index, .fail = on_no_index};
    if (v1_of(r)->static_dir[0])
        look(r, "index.html", &words);
    else
        v1_server_info(r);
}

/* ---- GET /static/ ---- */

static const char *type_of(struct str name)
{
    const char *type = mime_of_name(name);
    if (!type)
        return "text/plain; charset=utf-8";
    if (strcmp(type, "text/plain") == 0)
        return "text/plain; charset=utf-8";
    if (strcmp(type, "text/html") == 0)
        return "text/html; charset=utf-8";
    if (strcmp(type, "text/css") == 0)
        return "text/css; charset=utf-8";
    return type;
}

static void on_file(struct req *r, void *arg, const struct json *about)
{
    char date[32];
    (void)arg;
    http_date(date, (time_t)json_int(about, "mtime", 0));
    req_header_add(r, "Last-Modified", date);
}

static void on_no_file(struct req *r, void *arg, const struct err *e)
{
    (void)arg;
    if (e->code == ERR_BUSY)
        v1_broken(r, 503, e->text);
    else
        v1_detail(r, 404, "Not Found");
}

static void on_no_range(struct req *r, void *arg, uint64_t size)
{
    (void)arg;
    (void)size;
    v1_detail(r, 416, "Range Not Satisfiable");
}

/* Is a part of the path ".."? Clients remove such parts before they send a path. */
static bool has_up(struct str path)
{
    while (path.n > 0) {
        if (str_eq(str_cut(&path, '/'), STR("..")))
            return true;
    }
    return false;
}

static void get_static(struct req *r)
{
    static const struct transfer_words words = {
        .fail = on_no_file, .head = on_file, .unsatisfied = on_no_range};
    struct str rest = req_param(r, "*");
    if (!v1_of(r)->static_dir[0] || has_up(rest) || memchr(rest.p, 0, rest.n)) {
        v1_detail(r, 404, "Not Found");
        return;
    }
    struct json *args = json_object();
    json_put_str(args, "path", rest.n ? rest : STR("."));
    json_put_bool(args, "head", str_eq(req_method(r), STR("HEAD")));
    transfer_range(r, args);
    struct transfer_ask q = ask_of(r, "send", &words, args);
    q.type = type_of(rest);
    transfer_send(r, &q);
    json_free(args);
}

/* ---- the cookie ---- */

/* Is host this machine, by a name that browsers treat as secure? */
static bool is_local(struct str host)
{
    static const struct str names[] = {STR("localhost"), STR("127.0.0.1"), STR("[::1]")};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (str_eq(host, names[i]) ||
            (str_starts(host, names[i]) && host.p[names[i].n] == ':'))
            return true;
    }
    return false;
}

static void set_cookie(struct req *r, struct str value, const char *age)
{
    struct buf b = BUF_INIT(2 * LIMIT_API_KEY_MAX);
    bool secure = req_is_secure(r) || is_local(req_header(r, "Host")) ||
                  str_eq(req_header(r, "X-Forwarded-Proto"), STR("https"));
    buf_addf(&b, "oh_workspace_session_key=");
    /* RFC 6265 4.1.1: bytes that a cookie cannot have are percent-encoded. */
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        bool plain = c > ' ' && c < 0x7f && !strchr("\",;\\%", c);
        buf_addf(&b, plain ? "%c" : "%%%02X", c);
    }
    buf_addf(&b, "; HttpOnly; Max-Age=%s; Path=/api/conversations; SameSite=none%s", age,
             secure ? "; Secure; Partitioned" : "");
    req_header_add(r, "Set-Cookie", buf_z(&b));
    buf_release(&b);
    req_answer(r, 204, NULL, STR(""));
}

static void post_session(struct req *r)
{
    set_cookie(r, req_header(r, "X-Session-API-Key"), "315360000");
}

static void delete_session(struct req *r) { set_cookie(r, STR(""), "0"); }

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/",
     .run = root,
     .about = "The server info, or a redirect to the static files"},
    {.methods = HTTP_GET,
     .path = "/static/*",
     .run = get_static,
     .gives = "application/octet-stream",
     .about = "A static file"},
    {.methods = HTTP_POST,
     .path = "/api/auth/workspace-session",
     .run = post_session,
     .about = "Sets the cookie of workspace files"},
    {.methods = HTTP_DELETE,
     .path = "/api/auth/workspace-session",
     .run = delete_session,
     .about = "Removes the cookie of workspace files"},
};

const struct http_front v1_static_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
