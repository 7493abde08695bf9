/* SPDX-License-Identifier: MIT */
#include "front/viewer.h"

#include "base/enc.h"
#include "base/log.h"
#include "base/mime.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "engine/docread.h"
#include "engine/files.h"
#include "front/http.h"
#include "io/job.h"
#include "net/addr.h"
#include "proto/httpd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE_MAX = 40 << 20, /* bytes of HTML in the helper at once */
    CONNS_MAX = 32,
    PIECE = 48 << 10 /* bytes of a picture at once; a multiple of three */
};

static const char html_type[] = "text/html; charset=utf-8";

struct viewer {
    struct engine *en;
    struct httpd *httpd;
    struct http_front front;
    char user[64]; /* "": the server's own */
    char tmp[PATH_MAX];
    unsigned views;
};

struct view {
    struct viewer *v;
    struct req *req; /* NULL: gone */
    struct job *job; /* borrowed */
    bool begun;
    char path[PATH_MAX];
};

/* ---- HTML ---- */

static int add_text(struct buf *out, struct str s)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        char c = s.p[i];
        rc = c == '&'   ? buf_addz(out, "&amp;")
             : c == '<' ? buf_addz(out, "&lt;")
             : c == '>' ? buf_addz(out, "&gt;")
             : c == '"' ? buf_addz(out, "&quot;")
                        : buf_addc(out, c);
    }
    return rc;
}

/* A path may be any bytes. */
static int add_path(struct buf *out, const char *path)
{
    struct buf text = BUF_INIT(4 * PATH_MAX);
    int rc = utf8_repair(&text, str_of(path), true);
    rc = rc < 0 ? rc : add_text(out, buf_str(&text));
    buf_release(&text);
    return rc;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A heading, the path, and why, as far as they are given. */
static void answer_error(struct req *r, int status, const char *what, const char *path,
                         const char *why)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_addf(&b, "<!doctype html><meta charset=utf-8><h1>%s</h1>", what);
    if (path) {
        buf_addz(&b, "<p>");
        add_path(&b, path);
        buf_addz(&b, "</p>");
    }
    if (why) {
        buf_addz(&b, "<p>");
        add_path(&b, why);
        buf_addz(&b, "</p>");
    }
    req_answer_take(r, status, html_type, &b);
}

/* ---- the helper: the page of one file ---- */

static int put(const struct job_child *c, struct buf *b, struct err *e)
{
    int rc = job_put(c, buf_str(b)) < 0 ? err_set(e, ERR_IO, "cannot hand over the page")
                                        : 0;
    buf_reset(b);
    return rc;
}

static int put_head(const struct job_child *c, const char *path, struct err *e)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_addz(&b, "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">"
                 "<title>File Viewer - ");
    add_path(&b, base_of(path));
    buf_addz(&b, "</title><style>html,body{margin:0;background:#eee;font:14px "
                 "sans-serif}#viewer-container{display:flex;flex-direction:column;"
                 "align-items:center}img{max-width:100%}canvas{width:816px;height:1056px;"
                 "margin:8px;background:#fff}</style></head>\n"
                 "<body><div id=\"viewer-container\">\n");
    int rc = put(c, &b, e);
    buf_release(&b);
    return rc;
}

static int put_image(const struct job_child *c, const char *path, const char *type,
                     struct err *e)
{
    struct buf bytes = BUF_INIT(VIEWER_IMAGE_MAX), out = BUF_INIT(2 * PIECE + 4096);
    int rc = files_read(path, VIEWER_IMAGE_MAX, &bytes, e);
    rc = rc < 0 ? rc : put_head(c, path, e);
    if (rc == 0) {
        buf_addz(&out, "<img alt=\"");
        add_path(&out, base_of(path));
        buf_addf(&out, "\" src=\"data:%s;base64,", type);
        rc = put(c, &out, e);
    }
    struct str all = buf_str(&bytes);
    for (size_t at = 0; rc == 0 && at < all.n; at += PIECE) {
        enc_base64(&out, str_sub(all, at, PIECE));
        rc = put(c, &out, e);
    }
    if (rc == 0) {
        buf_addz(&out, "\">\n</div></body></html>\n");
        rc = put(c, &out, e);
    }
    buf_release(&bytes);
    buf_release(&out);
    return rc;
}

/* "@@ Page 3 @@", as engine/docread.h's text has it before each page. */
static bool is_mark(struct str line)
{
    return str_starts(line, STR("@@ Page ")) && str_ends(line, STR(" @@"));
}

/* The text's first line tells of the file, and is not of a page. */
static int put_pages(const struct job_child *c, struct str text, struct err *e)
{
    struct buf out = BUF_INIT(PAGE_MAX);
    bool page = false;
    int rc = buf_addz(&out, "<p>Drawn from the text of the document: its fonts and "
                            "pictures are not shown.</p>\n");
    str_cut(&text, '\n');
    while (text.n && rc == 0) {
        struct str line = str_cut(&text, '\n');
        if (is_mark(line)) {
            buf_addz(&out, page ? "</pre></canvas>\n" : "");
            rc = put(c, &out, e);
            line = str_sub(line, 3, line.n - 6);
            buf_addf(&out, "<canvas title=\"%.*s\"><pre>", STR_ARG(line));
            page = true;
        } else if (page) {
            rc = add_text(&out, line) < 0 || buf_addc(&out, '\n') < 0;
        }
    }
    buf_addz(&out, page ? "</pre></canvas>\n" : "<p>It has no pages.</p>");
    buf_addz(&out, "</div><script src=\"/viewer.js\"></script></body></html>\n");
    rc = rc ? rc : put(c, &out, e);
    buf_release(&out);
    return rc ? -1 : 0;
}

static int put_pdf(const struct job_child *c, const char *path, struct err *e)
{
    struct buf text = BUF_INIT(DOCREAD_TEXT_MAX);
    struct docread_file f = {.kind = DOCREAD_PDF, .path = path};
    int rc = docread_text(&f, &text, e);
    rc = rc < 0 ? rc : put_head(c, path, e);
    rc = rc < 0 ? rc : put_pages(c, buf_str(&text), e);
    buf_release(&text);
    return rc;
}

/* What is shown; NULL: nothing of that name is. */
static const char *type_of(const char *path)
{
    static const char *const types[] = {"application/pdf", "image/png", "image/jpeg",
                                        "image/gif", "image/webp"};
    const char *type = mime_of_name(str_of(base_of(path)));
    for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(type, types[i]) == 0)
            return types[i];
    }
    return NULL;
}

/* INVALID is a folder and nothing else. */
static int make_page(void *arg, const struct job_child *c, struct err *e)
{
    const char *path = arg, *type = type_of(path);
    struct stat st;
    if (stat(path, &st) < 0)
        return err_sys(e, errno, "cannot view %s", path);
    if (S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "it is a folder");
    if (!type)
        return err_set(e, ERR_UNSUPPORTED,
                       "Unsupported file extension: what is shown ends in .pdf, .png, "
                       ".jpg, .jpeg, .gif or .webp");
    int rc = strcmp(type, "application/pdf") == 0 ? put_pdf(c, path, e)
                                                  : put_image(c, path, type, e);
    if (rc < 0 && e->code == ERR_INVALID)
        e->code = ERR_UNSUPPORTED;
    return rc;
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
    else if (e->code == ERR_NOTFOUND)
        answer_error(r, 404, "Error: File not found", w->path, NULL);
    else if (e->code == ERR_INVALID)
        answer_error(r, 400, "Error: Path is a directory", w->path, NULL);
    else
        answer_error(r, 500, "Error viewing file", w->path, e->text);
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

static void start_view(struct viewer *v, struct req *r, const char *path)
{
    static const struct job_events events = {on_page_data, NULL, NULL, on_page_done,
                                             on_page_gone};
    struct err e = ERR_INIT;
    struct view *w = xnew(struct view);
    struct buf unused = BUF_INIT(8192);
    w->v = v;
    w->req = r;
    snprintf(w->path, sizeof(w->path), "%s", path);
    struct job_spec spec = {.what = "showing a file",
                            .fn = make_page,
                            .arg = w->path,
                            .memory = (size_t)DOCREAD_FILE_MAX + DOCREAD_MEMORY +
                                      DOCREAD_TEXT_MAX + PAGE_MAX,
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
    struct viewer *v = req_arg(r);
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

/* Only pages that are in sight take the memory of a picture. */
static void script(struct req *r)
{
    req_answer(
        r, 200, "text/javascript; charset=utf-8",
        STR("const draw = c => {\n"
            "    c.width = 816; c.height = 1056;\n"
            "    const g = c.getContext('2d'), lines = c.textContent.split('\\n');\n"
            "    let size = Math.min(16, 960 / lines.length / 1.3), wide = 0;\n"
            "    const font = () => { g.font = size + 'px sans-serif'; };\n"
            "    font();\n"
            "    for (const l of lines) wide = Math.max(wide, g.measureText(l).width);\n"
            "    if (wide > 720) size *= 720 / wide;\n"
            "    font();\n"
            "    lines.forEach((l, i) => g.fillText(l, 48, 48 + size * 1.3 * i));\n"
            "};\n"
            "const seen = new IntersectionObserver(all => all.forEach(e => {\n"
            "    if (e.isIntersecting) draw(e.target); else e.target.width = 0;\n"
            "}), {rootMargin: '1200px'});\n"
            "document.querySelectorAll('canvas').forEach(c => seen.observe(c));\n"));
}

static const struct route routes[] = {
    {HTTP_GET, "/", status, 0, NULL, true},
    {HTTP_GET, "/view", view, 0, NULL, true},
    {HTTP_GET, "/viewer.js", script, 0, NULL, true},
};

static void fail(struct req *r, int status_code, const char *text)
{
    answer_error(r, status_code, "Error", NULL, text);
}

static bool allow(struct req *r, void *arg)
{
    (void)arg;
    if (!http_from_a_page(r) && http_host_is_plain(r))
        return true;
    answer_error(r, 403, "Access Denied", NULL,
                 "Files are shown to browsers of this machine, by its address, and not "
                 "to pages of the web.");
    return false;
}

static void on_count(void *arg, int change)
{
    struct viewer *v = arg;
    v->en->clients += (unsigned)change;
    engine_touch(v->en);
}

/* ---- life ---- */

/* Whole or not at all, and never through a link: the folder is everybody's. */
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
        log_info("cannot say in %s where the file viewer is: %m", path);
        unlink(part);
    }
}

static void keep(char *to, size_t size, struct str s)
{
    if (s.n < size)
        memcpy(to, s.p, s.n);
}

struct viewer *viewer_open(struct engine *en, const struct json *options)
{
    struct viewer *v = xnew(struct viewer);
    v->en = en;
    keep(v->user, sizeof(v->user), json_str(json_get(options, "v0"), "username", ""));
    keep(v->tmp, sizeof(v->tmp), json_str(json_get(options, "http"), "tmp", "/tmp"));
    v->front = (struct http_front){.prefix = "",
                                   .routes = routes,
                                   .nroutes = sizeof(routes) / sizeof(routes[0]),
                                   .fail = fail,
                                   .arg = v};
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

void viewer_listen(struct viewer *v, int fd)
{
    struct addr at;
    if (addr_of(fd, &at) < 0 || httpd_listen(v->httpd, fd) < 0)
        log_error("cannot serve the file viewer: %m");
    else
        write_url(v->tmp, ntohs(((const struct sockaddr_in *)&at.ss)->sin_port));
}

void viewer_drain(struct viewer *v, void (*fn)(void *arg), void *arg)
{
    httpd_drain(v->httpd, fn, arg);
}
