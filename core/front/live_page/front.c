/* SPDX-License-Identifier: MIT */
/*
 * The live page (README.md): its files, its login, and the link that logs in once.
 *
 * Everybody who reaches the listener may get the page, which contains no data; without a
 * login, it is the form. All that the page shows comes from routes of other front-ends
 * with .page, which accept its cookie and page token (front/logins.h).
 */
#include "front/live_page/own.h"

#include "archive/zip_text.h"
#include "base/enc.h"
#include "base/param.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/answer.h"
#include "front/live_page/app.js.gz.h"
#include "front/live_page/form.html.h"
#include "front/live_page/form.js.gz.h"
#include "front/live_page/frame.html.h"
#include "front/live_page/page.css.gz.h"
#include "front/live_page/live_page.h"
#include "front/live_page/page.html.h"
#include "os/self.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <xterm_files.h>

enum {
    PAGE_MAX = 32 << 10, /* bytes of the page, or of the form */
    FILE_MAX = 1 << 20,  /* bytes of the longest file, unpacked */
    FORM_MAX = 8 << 10,  /* bytes that the form sends */
    LINK_MAX = 512,
    PREFIX_MAX = 128,
    LINKS_MAX = 8 /* listeners in --status */
};

/* ---- answers ---- */

/* Answers {"error":{"code","message"}}. */
static void page_fail(struct req *r, int status, const char *text)
{
    req_header_add(r, "Cache-Control", "no-store");
    answer_error(r, status,
                 status == 401 || status == 403 ? ERR_DENIED
                 : status == 404                ? ERR_NOTFOUND
                 : status == 429                ? ERR_LIMIT
                                                : ERR_INVALID,
                 text);
}

/* Adds the fields that limit what the page may do and who may frame it. */
static void add_policy(struct req *r, const char *referrer)
{
    const struct live_page *p = req_arg(r);
    struct buf policy = BUF_INIT(1 << 10);
    buf_addf(&policy,
             "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
             "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
             "frame-src 'self'; frame-ancestors %s; base-uri 'none'; form-action 'self'",
             p->embed[0] ? p->embed : "'none'");
    const char *const all[][2] = {
        {"Content-Security-Policy", buf_z(&policy)},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", referrer},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Permissions-Policy",
         "clipboard-read=(self), clipboard-write=(self), camera=(), microphone=(), "
         "geolocation=(), display-capture=(), usb=(), serial=(), payment=()"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        req_header_add(r, all[i][0], all[i][1]);
    buf_release(&policy);
}

static void show_form(struct req *r, int status, const char *why)
{
    const struct live_page *p = req_arg(r);
    struct buf b = BUF_INIT(PAGE_MAX);
    struct str rest = buf_str(&p->form), before = str_cut(&rest, '@');
    buf_adds(&b, before);
    buf_addz(&b, why);
    buf_adds(&b, rest);
    /* With no-referrer, browsers send a form with Origin: null. */
    add_policy(r, "same-origin");
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, status, "text/html; charset=utf-8", &b);
}

/* ---- the page ---- */

static void get_bare(struct req *r)
{
    req_header_add(r, "Location", "ui/");
    req_answer(r, 308, NULL, STR(""));
}

static void get_page(struct req *r)
{
    const struct live_page *p = req_arg(r);
    if (req_right(r) == RIGHT_NONE) {
        bool keyed = access_keyed(p->access, req_at(r));
        show_form(r, 401,
                  keyed ? "This page needs the key of the server, or the link that "
                          "<code>od serve --status</code> prints."
                        : "This server has no key. Open the link that <code>od serve "
                          "--status</code> prints.");
        return;
    }
    add_policy(r, "no-referrer");
    req_header_add(r, "Cache-Control", "no-cache");
    req_header_add(r, "ETag", p->tag);
    if (str_find(req_header(r, "If-None-Match"), str_of(p->tag)) >= 0)
        req_answer(r, 304, NULL, STR(""));
    else
        req_answer(r, 200, "text/html; charset=utf-8", buf_str(&p->html));
}

static void get_file(struct req *r)
{
    const struct live_page *p = req_arg(r);
    const struct page_file *f = p->files, *end = f + PAGE_FILES;
    char tag[sizeof(f->name) + 2];
    while (f < end && !str_eq(req_param(r, "file"), str_of(f->name)))
        f++;
    if (f == end) {
        page_fail(r, 404, "The page has no such file");
        return;
    }
    snprintf(tag, sizeof(tag), "\"%s\"", f->name);
    req_header_add(r, "ETag", tag);
    req_header_add(r, "Cache-Control", "public, max-age=31536000, immutable");
    req_header_add(r, "Vary", "Accept-Encoding");
    req_header_add(r, "X-Content-Type-Options", "nosniff");
    if (str_find(req_header(r, "If-None-Match"), str_of(tag)) >= 0) {
        req_answer(r, 304, NULL, STR(""));
    } else if (http_has_token(req_header(r, "Accept-Encoding"), "gzip")) {
        req_header_add(r, "Content-Encoding", "gzip");
        req_answer(r, 200, f->type, f->gz);
    } else {
        struct buf b = BUF_INIT(FILE_MAX);
        zip_text(&b, f->gz);
        req_answer_take(r, 200, f->type, &b);
    }
}

/*
 * Answers with the frame for HTML of the sandbox. It is a document of its own because
 * srcdoc would inherit the page's policy, which forbids inline scripts.
 */
static void get_frame(struct req *r)
{
    const struct live_page *p = req_arg(r);
    char policy[1024];
    snprintf(policy, sizeof(policy),
             "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
             "style-src 'unsafe-inline'; img-src data: blob:; frame-ancestors 'self' %s; "
             "base-uri 'none'; form-action 'none'",
             p->embed);
    req_header_add(r, "Content-Security-Policy", policy);
    req_header_add(r, "X-Content-Type-Options", "nosniff");
    req_header_add(r, "Referrer-Policy", "no-referrer");
    req_header_add(r, "Cache-Control", "no-cache");
    req_answer(r, 200, "text/html; charset=utf-8", str_of(frame_html));
}

/* ---- logins ---- */

/* What a command in a shell next to the server needs to reach it. */
static void put_reach(struct json *j, const struct json *about)
{
    char self[4096];
    json_put_z(j, "od", self_path(self, sizeof(self)) < 0 ? "od" : self);
    json_put_str(j, "socket", json_str(about, "socket", ""));
}

static void get_session(struct req *r)
{
    const struct live_page *p = req_arg(r);
    const struct json *about = fronts_about(p->fronts);
    char token[LOGIN_TOKEN_HEX + 1];
    if (access_page_token(p->access, r, token) < 0) {
        page_fail(r, 401, "You are not logged in");
        return;
    }
    struct json *j = json_object();
    struct buf b = BUF_INIT(4096);
    bool use = req_right(r) == RIGHT_USE;
    json_put_z(j, "page", token);
    json_put_z(j, "may", use ? "drive" : "view");
    json_put_str(j, "name", json_str(about, "name", ""));
    json_put_str(j, "version", json_str(about, "version", ""));
    put_reach(j, about);
    json_print(&b, j);
    json_free(j);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 200, "application/json", &b);
}

static void log_in(struct req *r)
{
    struct live_page *p = req_arg(r);
    engine_touch(fronts_engine(p->fronts));
    access_log_in(p->access, r, LOGIN_COOKIE_PAGE);
    req_header_add(r, "Cache-Control", "no-store");
}

static void try_once(struct req *r, struct str once)
{
    struct live_page *p = req_arg(r);
    enum late said = access_late(p->access, &door_native, r, "once", once);
    if (said == LATE_COUNTS) {
        log_in(r);
        req_answer(r, 204, NULL, STR(""));
    } else if (said == LATE_MANY) {
        page_fail(r, 429, "Too many wrong links. Try again in a second");
    } else {
        page_fail(r, 401, "This link was already used, or is older than ten minutes");
    }
}

static void try_key(struct req *r, struct str key)
{
    struct live_page *p = req_arg(r);
    enum late said = access_late(p->access, &door_native, r, "key", key);
    if (said == LATE_COUNTS) {
        log_in(r);
        req_header_add(r, "Location", "./");
        req_answer(r, 303, NULL, STR(""));
    } else if (said == LATE_MANY) {
        show_form(r, 429, "Too many wrong keys. Try again in a second.");
    } else {
        show_form(r, 401, "This key is wrong.");
    }
}

static void post_session(struct req *r)
{
    struct live_page *p = req_arg(r);
    struct buf key = BUF_INIT(LIMIT_API_KEY_MAX), once = BUF_INIT(LOGIN_TOKEN_HEX + 1);
    bool has_key = http_query(req_body(r), "key", &key) > 0;
    bool has_once = http_query(req_body(r), "once", &once) > 0;
    if (!access_from_here(p->access, r)) {
        show_form(r, 401, "Another page sent this form. Log in here.");
    } else if (has_once) {
        try_once(r, buf_str(&once));
    } else if (!access_keyed(p->access, req_at(r))) {
        page_fail(r, 403, "This server has no key: od serve --status prints a link");
    } else if (req_right(r) != RIGHT_NONE) { /* by the key in the head: a program */
        log_in(r);
        req_answer(r, 204, NULL, STR(""));
    } else if (has_key) {
        try_key(r, buf_str(&key));
    } else {
        page_fail(r, 400, "The body must be key=KEY or once=TOKEN, as a form has it");
    }
    buf_release(&key);
    buf_release(&once);
}

static void delete_session(struct req *r)
{
    struct live_page *p = req_arg(r);
    access_log_out(p->access, r, LOGIN_COOKIE_PAGE);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer(r, 204, NULL, STR(""));
}

static const struct route_answer end_answers[] = {
    {.status = 204, .type = "", .about = "The cookie was removed"}, {0}};
static const struct route_answer page_answers[] = {
    {.status = 200, .type = "text/html", .about = "The page"},
    {.status = 304, .type = "", .about = "The client's copy is current"},
    {0}};
static const struct route_answer file_answers[] = {
    {.status = 200, .type = "text/javascript", .about = "The file"},
    {.status = 304, .type = "", .about = "The client's copy is current"},
    {0}};
static const struct route_answer frame_answers[] = {
    {.status = 200, .type = "text/html", .about = "The frame, without content"}, {0}};
static const struct route_answer bare_answers[] = {
    {.status = 308, .type = "", .about = "To /ui/"}, {0}};
static const struct route_answer login_answers[] = {
    {.status = 303, .type = "", .about = "To the page, after a key, with Set-Cookie"},
    {.status = 204, .type = "", .about = "After a link, with Set-Cookie"},
    {0}};

static const struct param file_query[] = {
    {.name = "file", .type = PARAM_STRING, .required = true, .about = "Its name"}, {0}};

static const struct param ports_query[] = {
    {.name = "since",
     .type = PARAM_STRING,
     .about =
         "The tag of a list: the answer waits until the list is a different one, at most "
         "half a minute"},
    {0}};

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/ui",
     .run = get_bare,
     .marks = ROUTE_BROWSERS | ROUTE_COOKIE,
     .about = "Redirects to the page",
     .answers = bare_answers},
    {.methods = HTTP_GET,
     .path = "/ui/",
     .run = get_page,
     .right = RIGHT_VIEW,
     .marks = ROUTE_BROWSERS | ROUTE_COOKIE,
     .about = "The live page; without its cookie, 401 and a form",
     .answers = page_answers},
    {.methods = HTTP_POST,
     .path = "/ui/session",
     .run = post_session,
     .body_max = FORM_MAX,
     .right = RIGHT_VIEW,
     .marks = ROUTE_BROWSERS | ROUTE_LOGIN,
     .takes = "application/x-www-form-urlencoded",
     .about =
         "Makes a cookie of key=KEY, of the key in the head, or of once=TOKEN from a "
         "link",
     .answers = login_answers},
    {.methods = HTTP_GET,
     .path = "/ui/session",
     .run = get_session,
     .right = RIGHT_VIEW,
     .marks = ROUTE_BROWSERS | ROUTE_COOKIE,
     .about = "Returns the page token of the cookie's login, and what it may do"},
    {.methods = HTTP_DELETE,
     .path = "/ui/session",
     .run = delete_session,
     .right = RIGHT_VIEW,
     .marks = ROUTE_BROWSERS | ROUTE_PAGE,
     .about = "Ends the login of the cookie, with its page token in X-OD-Page",
     .answers = end_answers},
    {.methods = HTTP_GET,
     .path = "/ui/ports",
     .run = live_page_ports,
     .right = RIGHT_VIEW,
     .marks = ROUTE_PAGE,
     .query = ports_query,
     .about = "The ports that programs listen at"},
    {.methods = HTTP_GET,
     .path = "/ui/frame",
     .run = get_frame,
     .marks = ROUTE_BROWSERS | ROUTE_COOKIE,
     .about = "The sandboxed frame of the page for HTML that cells show",
     .answers = frame_answers},
    {.methods = HTTP_GET,
     .path = "/ui/file/{file}",
     .run = get_file,
     .marks = ROUTE_BROWSERS | ROUTE_COOKIE,
     .about = "A file of the page",
     .query = file_query,
     .answers = file_answers},
};

static const struct http_front bare = {.routes = routes,
                                       .nroutes = sizeof(routes) / sizeof(routes[0]),
                                       .fail = page_fail,
                                       .challenge = true};

/* ---- options ---- */

static int check_origin(struct str value, struct err *e)
{
    (void)e;
    return access_is_origin(value) ? 0 : -1;
}

static int check_prefix(struct str value, struct err *e)
{
    bool ok = value.n > 1 && value.n <= PREFIX_MAX && value.p[0] == '/' &&
              value.p[value.n - 1] != '/' && str_find(value, STR("//")) < 0 &&
              str_find(value, STR("/.")) < 0;
    (void)e;
    for (size_t i = 0; i < value.n; i++)
        ok &= isalnum((unsigned char)value.p[i]) || strchr("/-._~", value.p[i]);
    return ok ? 0 : -1;
}

static const struct option_row rows[] = {
    {.name = "ui",
     .type = OPTION_SWITCH,
     .env = "OD_UI",
     .about =
         "serve the live page at /ui/ of every HTTP listener: terminal and timeline, "
         "for people. Log in with the key, or with the link that --status prints"},
    {.name = "ui-origin",
     .type = OPTION_TEXT,
     .value = "ORIGIN",
     .env = "OD_UI_ORIGIN",
     .member = "origin",
     .takes =
         "one origin as browsers send it (https://HOST or http://HOST:PORT, in lower "
         "case, without a path)",
     .check = check_origin,
     .about = "accept this origin for the page, where a proxy in front gives it one "
              "of its own: https://box.example.com"},
    {.name = "ui-prefix",
     .type = OPTION_TEXT,
     .value = "PATH",
     .env = "OD_UI_PREFIX",
     .member = "prefix",
     .takes = "a path without a slash at its end, of letters, digits and -._~ between "
              "slashes, as /box/17",
     .check = check_prefix,
     .about = "put this path before those of the page, if a proxy in front does "
              "so, whether it keeps the prefix in requests or takes it away. The "
              "cookie is for that path alone, and printed links have it"},
    {.name = "ui-embed",
     .type = OPTION_TEXT,
     .value = "ORIGIN",
     .env = "OD_UI_EMBED",
     .member = "embed",
     .takes =
         "one origin as browsers send it (https://HOST or http://HOST:PORT, in lower "
         "case, without a path)",
     .check = check_origin,
     .about = "let pages of this origin show the page in a frame. A browser sends the "
              "cookie of a frame only within one site: https://app.example.com may "
              "show https://box.example.com"},
    {.name = NULL},
};

static const struct option_table options = {
    .heading = "Live page", .section = "page", .rows = rows};

/* ---- life ---- */

static void name_file(struct page_file *f, const char *stem, const char *end,
                      const char *type, struct str gz)
{
    uint8_t hash[HASH_SHA256_SIZE];
    struct buf hex = BUF_INIT(2 * HASH_SHA256_SIZE);
    hash_sha256(gz, hash);
    enc_hex(&hex, str_n((const char *)hash, sizeof(hash)));
    *f = (struct page_file){.stem = stem, .end = end, .type = type, .gz = gz};
    snprintf(f->name, sizeof(f->name), "%s.%.*s.%s", stem, PAGE_HASH_HEX, buf_z(&hex),
             end);
    buf_release(&hex);
}

/* Appends text, with each %STEM.END% replaced by the file's path. */
static void fill_in(const struct live_page *p, struct buf *out, const char *text)
{
    struct str rest = str_of(text);
    while (rest.n > 0) {
        buf_adds(out, str_cut(&rest, '%'));
        struct str word = str_cut(&rest, '%');
        for (size_t i = 0; i < PAGE_FILES && word.n > 0; i++) {
            const struct page_file *f = &p->files[i];
            size_t n = strlen(f->stem);
            if (str_starts(word, str_of(f->stem)) && word.n > n + 1 &&
                str_eq(str_sub(word, n + 1, word.n), str_of(f->end)))
                buf_addf(out, "file/%s", f->name);
        }
    }
}

static void *open_page(struct fronts *all, const struct json *given)
{
    const struct json *own = json_get(given, "page");
    if (!json_bool(own, "ui", false))
        return NULL;
    struct live_page *p = xnew(struct live_page);
    uint8_t hash[HASH_SHA256_SIZE];
    struct buf hex = BUF_INIT(2 * HASH_SHA256_SIZE);
    static const char js[] = "text/javascript; charset=utf-8";
    static const char css[] = "text/css; charset=utf-8";
    p->front = bare;
    p->front.arg = p;
    p->fronts = all;
    p->access = fronts_access(all);
    name_file(&p->files[0], "app", "js", js,
              str_n((const char *)app_js_gz, sizeof(app_js_gz)));
    name_file(&p->files[1], "page", "css", css,
              str_n((const char *)page_css_gz, sizeof(page_css_gz)));
    name_file(&p->files[2], "form", "js", js,
              str_n((const char *)form_js_gz, sizeof(form_js_gz)));
    name_file(&p->files[3], "xterm", "mjs", js,
              str_n((const char *)xterm_mjs, (size_t)(xterm_mjs_end - xterm_mjs)));
    name_file(&p->files[4], "xterm", "css", css,
              str_n((const char *)xterm_css, (size_t)(xterm_css_end - xterm_css)));
    buf_init(&p->html, PAGE_MAX);
    buf_init(&p->form, PAGE_MAX);
    fill_in(p, &p->html, page_html);
    fill_in(p, &p->form, form_html);
    hash_sha256(buf_str(&p->html), hash);
    enc_hex(&hex, str_n((const char *)hash, sizeof(hash)));
    snprintf(p->tag, sizeof(p->tag), "\"%.*s\"", PAGE_HASH_HEX, buf_z(&hex));
    buf_release(&hex);
    struct str origin = json_str(own, "origin", "");
    p->origin = xstrndup(origin.p, origin.n);
    struct str embed = json_str(own, "embed", "");
    p->embed = xstrndup(embed.p, embed.n);
    access_set_outside(p->access, origin, json_str(own, "prefix", ""), embed.n > 0);
    live_page_ports_init(p);
    buf_init(&p->once, 2 * HASH_SHA256_SIZE);
    dec_base64(&p->once, json_str(own, "once", ""));
    return p;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct live_page *p = f;
    return i > 0 ? NULL : p ? &p->front : &bare;
}

/* The link that od serve printed counts from the first worker on. */
static void start(void *f)
{
    struct live_page *p = f;
    if (fronts_engine(p->fronts)->first && p->once.n == HASH_SHA256_SIZE)
        grants_put_once(&p->access->grants, (const uint8_t *)p->once.p);
}

static struct json *status(const void *f)
{
    const struct live_page *p = f;
    struct json *j = json_object(), *links = json_array();
    const struct json *at = json_first(json_get(fronts_about(p->fronts), "addresses"));
    char token[LOGIN_TOKEN_HEX + 1];
    grants_once(&p->access->grants, token);
    for (unsigned n = 0; at && n < LINKS_MAX; at = json_next(at)) {
        struct buf link = BUF_INIT(LINK_MAX);
        struct str address = json_str_value(at, "");
        if (live_page_link(&link, p->origin[0] ? str_of(p->origin) : address,
                           str_of(access_prefix(p->access)), token) == 0) {
            json_push_str(links, buf_str(&link));
            n = p->origin[0] ? LINKS_MAX : n + 1;
        }
        buf_release(&link);
    }
    memset(token, 0, sizeof(token));
    json_put_int(j, "logins", grants_count(&p->access->grants, GRANT_LOGIN));
    json_put(j, "links", links);
    return j;
}

static void close_page(void *f, bool another)
{
    (void)another;
    live_page_ports_end(f);
}

const struct front front_live_page = {
    .name = "page",
    .options = &options,
    .open = open_page,
    .http = http,
    .native = true,
    .start = start,
    .close = close_page,
    .status = status,
};
