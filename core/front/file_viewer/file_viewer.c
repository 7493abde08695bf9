/* SPDX-License-Identifier: MIT */
/*
 * The file viewer: pages that show a PDF file or a picture to a browser in the sandbox,
 * on a listener of its own (OpenHands' runtime/file_viewer_server.py).
 *
 *   GET /                  {"status": "File viewer server is running"}
 *   GET /view?path=/a.png  "File Viewer - a.png"; an error is a page too
 *
 * Its socket is bound to 127.0.0.1. Requests from pages of the web are refused, and so is
 * a Host that is neither this machine nor an address, as in access/access.h. There is no
 * key: a file is shown to programs of the user that reads it, and of root, as the
 * kernel's socket table proves (os/tcpowner.h). The first bytes of a file determine its
 * type, and a link must lead below the folder of the path or the working directory. Files
 * are read in helpers as the sandbox's user, VIEWER_MAX at the same time.
 *
 * Each page of a PDF file is a <canvas> that holds the page's text, which a script of
 * ours draws: fonts, pictures and positions are not those of the document, as a note
 * says.
 *
 * Its options are those that od serve stored: http.tmp, the folder of oh-server-url;
 * v0.username, the owner of the files shown; v0.working_dir, where links may lead.
 */
#include "front/front.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "document/document.h"
#include "access/access.h"
#include "front/file_viewer/js/file_viewer.js.h"
#include "front/file_viewer/own.h"
#include "http/httpd.h"
#include "net/addr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CONNS_MAX = 32 };

static const char html_type[] = "text/html; charset=utf-8";

struct file_viewer {
    struct engine *en;
    struct httpd *httpd;
    struct http_front front;
    char user[64]; /* "": the server's own */
    char tmp[PATH_MAX], cwd[PATH_MAX];
    unsigned views;
};

struct view {
    struct file_viewer *v;
    struct req *req; /* NULL: gone */
    struct job *job; /* borrowed */
    bool begun;
    struct viewer_ask ask;
};

/* ---- errors ---- */

/* Answers with a page: a heading, and the path and the reason if they are given. */
static void answer_error(struct req *r, int status, const char *what, const char *path,
                         const char *why)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_addf(&b, "<!doctype html><meta charset=utf-8><h1>%s</h1>", what);
    if (path) {
        buf_addz(&b, "<p>");
        file_viewer_add_path(&b, path);
        buf_addz(&b, "</p>");
    }
    if (why) {
        buf_addz(&b, "<p>");
        file_viewer_add_path(&b, why);
        buf_addz(&b, "</p>");
    }
    req_answer_take(r, status, html_type, &b);
}

/* ---- a view ---- */

static void on_page_data(struct job *j, struct buf *in)
{
    struct view *w = job_owner(j);
    if (!w->begun) {
        req_header_add(w->req, "Cache-Control", "no-store");
        req_header_add(w->req, "X-Frame-Options", "DENY");
        req_header_add(w->req, "Content-Security-Policy",
                       "default-src 'none'; img-src data:; script-src 'self'; "
                       "style-src 'unsafe-inline'");
        req_begin(w->req, 200, html_type, -1);
        w->begun = true;
    }
    buf_consume(in, req_send(w->req, buf_str(in)));
}

static void on_page_done(struct job *j, const struct err *e)
{
    struct view *w = job_owner(j);
    struct req *r = w->req;
    w->job = NULL;
    w->req = NULL;
    if (w->begun && e->code)
        req_abort(r);
    else if (w->begun)
        req_end(r);
    else if (e->code == ERR_DENIED)
        answer_error(r, 403, "Access Denied", w->ask.path, e->text);
    else if (e->code == ERR_NOTFOUND)
        answer_error(r, 404, "Error: File not found", w->ask.path, NULL);
    else if (e->code == ERR_INVALID)
        answer_error(r, 400, "Error: Path is a directory", w->ask.path, NULL);
    else
        answer_error(r, 500, "Error viewing file", w->ask.path, e->text);
}

static void on_page_gone(void *owner)
{
    struct view *w = owner;
    w->v->views--;
    free(w);
}

static void on_view_room(struct req *r, void *owner)
{
    struct view *w = owner;
    (void)r;
    if (w->job)
        job_resume(w->job);
}

static void on_view_gone(struct req *r, void *owner)
{
    struct view *w = owner;
    (void)r;
    w->req = NULL;
    if (w->job)
        job_cancel(w->job);
}

static void start_view(struct file_viewer *v, struct req *r, const char *path)
{
    static const struct job_events events = {on_page_data, NULL, NULL, on_page_done,
                                             on_page_gone};
    struct err e = ERR_INIT;
    struct view *w = xnew(struct view);
    struct buf unused = BUF_INIT(8192);
    struct addr peer, own;
    w->v = v;
    w->req = r;
    snprintf(w->ask.path, sizeof(w->ask.path), "%s", path);
    memcpy(w->ask.cwd, v->cwd, sizeof(w->ask.cwd));
    if (req_ends(r, &peer, &own) == 0 && peer.ss.ss_family == AF_INET) {
        memcpy(&w->ask.peer, &peer.ss, sizeof(w->ask.peer));
        memcpy(&w->ask.own, &own.ss, sizeof(w->ask.own));
    }
    struct job_spec spec = {.what = "showing a file",
                            .fn = file_viewer_make_page,
                            .arg = &w->ask,
                            .memory = (size_t)DOCREAD_FILE_MAX + DOCREAD_MEMORY +
                                      DOCREAD_TEXT_MAX + VIEWER_PAGE_MAX,
                            .cpu_s = DOCREAD_CPU_S,
                            .as_user = v->en->uid == 0 && v->user[0],
                            .ev = &events,
                            .owner = w};
    if (!spec.as_user ||
        engine_user(v->en, str_of(v->user), &spec.uid, &spec.gid, &unused, &e) == 0)
        w->job = job_start(v->en->loop, &spec, &e);
    buf_release(&unused);
    if (!w->job) {
        answer_error(r, 500, "Error viewing file", path, e.text);
        free(w);
        return;
    }
    v->views++;
    req_own(r, w, on_view_gone);
    req_on_room(r, on_view_room);
}

static void view(struct req *r)
{
    struct file_viewer *v = req_arg(r);
    struct buf path = BUF_INIT(PATH_MAX - 1);
    int got = req_query(r, "path", &path);
    engine_touch(v->en);
    if (got == 0)
        answer_error(r, 422, "Error: path is missing", NULL,
                     "Ask for /view?path= and the absolute path of a file.");
    else if (got < 0 || strlen(buf_z(&path)) != path.n)
        answer_error(r, 400, "Error: Path is malformed, or longer than one can be", NULL,
                     NULL);
    else if (buf_z(&path)[0] != '/')
        answer_error(r, 400, "Error: Path must be absolute", buf_z(&path), NULL);
    else if (v->views >= VIEWER_MAX)
        answer_error(r, 503, "Error: too many files are being shown; try again",
                     buf_z(&path), NULL);
    else
        start_view(v, r, buf_z(&path));
    buf_release(&path);
}

/* ---- the rest of the server ---- */

static void status(struct req *r)
{
    req_answer(r, 200, "application/json",
               STR("{\"status\":\"File viewer server is running\"}"));
}

static void script(struct req *r)
{
    req_answer(r, 200, "text/javascript; charset=utf-8", STR(file_viewer_js));
}

static const struct route routes[] = {
    {.methods = HTTP_GET, .path = "/", .run = status},
    {.methods = HTTP_GET, .path = "/view", .run = view},
    {.methods = HTTP_GET, .path = "/viewer.js", .run = script},
};

static void fail(struct req *r, int status_code, const char *text)
{
    answer_error(r, status_code, "Error", NULL, text);
}

static const struct http_front bare_front = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = fail};

/* The helper decides who may see a file; all other routes are public. */
static bool allow(struct req *r, void *arg)
{
    (void)arg;
    if (!access_from_a_page(r) && host_is_plain(req_header(r, "Host")))
        return true;
    answer_error(r, 403, "Access Denied", NULL,
                 "Files are shown to browsers of this machine, by its address, and not "
                 "to pages of the web.");
    return false;
}

static void on_count(void *arg, int change)
{
    struct file_viewer *v = arg;
    v->en->clients += (unsigned)change;
    engine_touch(v->en);
}

/* ---- life ---- */

/* Writes the file completely or not at all, and never through a link, as all users share
 * the folder. */
static void write_url(const char *tmp, unsigned port)
{
    char path[PATH_MAX], part[PATH_MAX], url[64];
    int n = snprintf(url, sizeof(url), "http://localhost:%u", port);
    if (snprintf(path, sizeof(path), "%s/oh-server-url", tmp) >= PATH_MAX ||
        snprintf(part, sizeof(part), "%s/.oh-server-url.%ld", tmp, (long)getpid()) >=
            PATH_MAX)
        return;
    unlink(part);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write(fd, url, (size_t)n) == n;
    if (fd >= 0 && close(fd) < 0)
        ok = false;
    if (!ok || rename(part, path) < 0) {
        log_info("cannot write the address of the file viewer to %s: %m", path);
        unlink(part);
    }
}

static void keep(char *to, size_t size, struct str s)
{
    if (s.n < size)
        memcpy(to, s.p, s.n);
}

static void *open_viewer(struct fronts *all, const struct json *options)
{
    struct file_viewer *v = xnew(struct file_viewer);
    struct engine *en = fronts_engine(all);
    v->en = en;
    const struct json *sandbox = json_get(options, "sandbox");
    keep(v->user, sizeof(v->user), json_str(sandbox, "username", ""));
    keep(v->tmp, sizeof(v->tmp), json_str(json_get(options, "viewer"), "tmp", "/tmp"));
    keep(v->cwd, sizeof(v->cwd), str_of(en->home));
    v->front = bare_front;
    v->front.arg = v;
    const struct http_front *fronts[] = {&v->front};
    struct httpd_config c = {.fronts = fronts,
                             .nfronts = 1,
                             .allow = allow,
                             .count = on_count,
                             .arg = v,
                             .conns_max = CONNS_MAX};
    v->httpd = httpd_open(en->loop, &c);
    return v;
}

/* Serves a listening socket, and writes its address to oh-server-url. */
static bool take(void *f, struct str name, int fd)
{
    struct file_viewer *v = f;
    struct addr at;
    if (!str_starts(name, STR("viewer ")))
        return false;
    if (addr_of(fd, &at) < 0 || httpd_listen(v->httpd, fd) < 0)
        log_error("cannot serve the file viewer: %m");
    else
        write_url(v->tmp, ntohs(((const struct sockaddr_in *)&at.ss)->sin_port));
    return true;
}

static void drain(void *f, void (*fn)(void *arg), void *arg)
{
    struct file_viewer *v = f;
    httpd_drain(v->httpd, fn, arg);
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct file_viewer *v = f;
    return i > 0 ? NULL : v ? &v->front : &bare_front;
}

/* The worker has no TMPDIR of its own. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *tmp = getenv("TMPDIR");
    (void)given;
    (void)e;
    json_put_z(*own, "tmp", tmp && tmp[0] == '/' ? tmp : "/tmp");
    return 0;
}

static const struct option_table options_viewer = {.section = "viewer",
                                                   .prepare = prepare};

const struct front front_file_viewer = {
    .name = "viewer",
    .options = &options_viewer,
    .open = open_viewer,
    .http = http,
    .guards = true,
    .take = take,
    .drain = drain,
};
