/* SPDX-License-Identifier: MIT */
/* Jupyter's server as a front-end of od serve (front/front.h). */
#include "front/jupyter/own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "access/access.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "keeper/keeper_client.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The version of jupyter_server whose API this is. */
#define SERVER_VERSION "2.14.0"
#define JSON_TYPE      "application/json"

static const struct str state_key = STR("notebook/all");

/* ---- options ---- */

/* A path as /user/me/, which od serve stores without its last slash. */
static int check_base(struct str value, struct err *e)
{
    (void)e;
    bool ok = value.n > 0 && value.n < 250 && value.p[0] == '/' &&
              str_find(value, STR("//")) < 0;
    for (size_t i = 0; i < value.n; i++)
        ok = ok && value.p[i] > ' ' && value.p[i] < 0x7f &&
             !strchr("?#%\"\\", value.p[i]);
    return ok ? 0 : -1;
}

static int check_root(struct str value, struct err *e)
{
    (void)e;
    return value.n > 0 && value.n < 4000 && value.p[0] == '/' ? 0 : -1;
}

static int check_app(struct str value, struct err *e)
{
    char page[4200];
    snprintf(page, sizeof(page), "%.*s/static/index.html", STR_ARG(value));
    return check_root(value, e) < 0 ? -1 : access(page, F_OK);
}

static const struct option_row rows[] = {
    {.name = "jupyter-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "JUPYTER_TOKEN",
     .member = "token",
     .secret = true,
     .about = "require this token at the listeners jupyter@ADDRESS, as \"Authorization: "
              "token TOKEN\" or as ?token=TOKEN"},
    {.name = "jupyter-base-url",
     .type = OPTION_TEXT,
     .value = "/PATH/",
     .env = "OD_JUPYTER_BASE_URL",
     .member = "base",
     .takes = "a path that begins with a slash",
     .check = check_base,
     .about = "serve the listeners jupyter@ADDRESS below this path, too"},
    {.name = "jupyter-root",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_JUPYTER_ROOT",
     .member = "root",
     .takes = "an absolute path",
     .check = check_root,
     .about = "the folder of contents and terminals at the listeners jupyter@ADDRESS; "
              "without it the directory of new sessions"},
    {.name = "jupyter-app",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_JUPYTER_APP",
     .member = "app",
     .takes = "the path of a folder with static/index.html, as share/jupyter/lab",
     .check = check_app,
     .about = "serve this JupyterLab at /lab of the listeners jupyter@ADDRESS"},
    {.name = NULL},
};
static const struct option_table options_jupyter = {
    .heading = "Jupyter's server", .section = "jupyter", .rows = rows};

/* ---- proofs ---- */

static const struct proof proofs[] = {
    {.place = PROOF_BEARER, .name = "Authorization", .scheme = "token "},
    {.place = PROOF_BEARER, .name = "Authorization"},
    {.place = PROOF_QUERY, .name = "token", .empty_is_none = true},
    {.place = PROOF_COOKIE,
     .name = LOGIN_COOKIE_JUPYTER,
     .kind = PROOF_LOGIN,
     .reads = true},
    {.place = PROOF_FIELD,
     .name = "X-XSRFToken",
     .kind = PROOF_TOKEN,
     .cookie = LOGIN_COOKIE_JUPYTER},
    {.place = PROOF_QUERY,
     .name = "_xsrf",
     .kind = PROOF_TOKEN,
     .cookie = LOGIN_COOKIE_JUPYTER},
    {.place = PROOF_BODY, .name = "password", .on = ROUTE_LOGIN},
    {.place = PROOF_END}};
const struct door nb_door = {.proofs = proofs,
                             .missing_text = "Forbidden: send the token as "
                                             "\"Authorization: token TOKEN\" or as "
                                             "?token=TOKEN, or the cookie of a login "
                                             "with X-XSRFToken",
                             .wrong_text = "Forbidden: the token is wrong"};

/* ---- answers ---- */

void nb_json(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(16 << 20);
    json_print(&b, take);
    json_free(take);
    req_answer_take(r, status, JSON_TYPE, &b);
}

void nb_fail(struct req *r, int status, const char *text)
{
    struct json *j = json_object();
    json_put_z(j, "message", text);
    json_put_null(j, "reason");
    nb_json(r, status, j);
}

void nb_failf(struct req *r, int status, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    nb_fail(r, status, text);
}

struct json *nb_body(struct req *r)
{
    struct err e = ERR_INIT;
    struct str body = str_trim(req_body(r));
    struct json *j = body.n ? json_parse(body, &e) : json_object();
    if (json_is_object(j))
        return j;
    json_free(j);
    nb_failf(r, 400, "Invalid JSON in body of request%s%s", e.text[0] ? ": " : "",
             e.text);
    return NULL;
}

void nb_uuid(char out[NB_UUID + 1])
{
    char hex[33];
    random_hex(hex, 32); /* RFC 9562 5.4 */
    snprintf(out, NB_UUID + 1, "%.8s-%.4s-4%.3s-%c%.3s-%.12s", hex, hex + 8, hex + 13,
             "89ab"[hex[16] & 3], hex + 17, hex + 20);
}

void nb_location(struct req *r, const char *path, const char *id)
{
    const struct jupyter *f = req_arg(r);
    struct buf b = BUF_INIT(1024);
    buf_addf(&b, "%s%s", f->base, path);
    for (const char *c = id; *c; c++) /* of a peer: only what is plain in a path */
        buf_addc(&b, strchr(" \r\n%?#\"", *c) ? '_' : *c);
    req_header_add(r, "Location", buf_z(&b));
    buf_release(&b);
}

/* ---- small routes ---- */

static void get_api(struct req *r)
{
    req_answer(r, 200, JSON_TYPE, STR("{\"version\":\"" SERVER_VERSION "\"}"));
}

static void get_status(struct req *r)
{
    struct jupyter *f = req_arg(r);
    struct json *j = json_object();
    struct str key;
    void *value;
    int connections = 0, kernels = 0;
    int64_t active = f->started_ms;
    char date[25];
    for (void *it = NULL; (it = map_next(&f->en->kernels, it, &key, &value)); kernels++) {
        struct kernel_activity a = kernel_activity(value);
        connections += a.listeners;
        active = a.active_ms > active ? a.active_ms : active;
    }
    clock_iso(f->started_ms, date);
    json_put_z(j, "started", date);
    clock_iso(active, date);
    json_put_z(j, "last_activity", date);
    json_put_int(j, "connections", connections);
    json_put_int(j, "kernels", kernels);
    nb_json(r, 200, j);
}

static void get_me(struct req *r)
{
    struct json *j = json_object(), *id = json_object();
    const char *name = req_key(r)[0] ? req_key(r) : "od";
    json_put_z(id, "username", name);
    json_put_z(id, "name", name);
    json_put_z(id, "display_name", name);
    json_put_z(id, "initials", "");
    json_put_null(id, "avatar_url");
    json_put_null(id, "color");
    json_put(j, "identity", id);
    json_put(j, "permissions", json_object());
    nb_json(r, 200, j);
}

/* Exporters are nbconvert's, which is not here. */
static void get_exporters(struct req *r) { req_answer(r, 200, JSON_TYPE, STR("{}")); }

#define ID "/api/kernels/{id}"
static const struct route_answer made[] = {{.status = 201, .about = "It runs"}, {0}};
static const struct route_answer done[] = {{.status = 204, .type = ""}, {0}};
static const struct route_answer moved[] = {{.status = 302, .type = ""}, {0}};
#define LAB(where) \
    { \
        .methods = HTTP_GET, .path = where, .run = nb_get_lab, .gives = "text/html", \
        .about = "The app of --jupyter-app, its files and settings" \
    }
#define CHANGES (HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_PATCH | HTTP_DELETE)
/* A file in base64, in JSON. */
#define BODY_OF_FILE (NB_SAVE_MAX / 2 * 3)
static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/api",
     .run = get_api,
     .about = "Names the version of Jupyter's API"},
    {.methods = HTTP_GET,
     .path = "/api/status",
     .run = get_status,
     .about = "Reports when the server was started, and the number of kernels"},
    {.methods = HTTP_GET,
     .path = "/api/me",
     .run = get_me,
     .about = "Names the key of the request"},
    {.methods = HTTP_GET,
     .path = "/api/kernelspecs",
     .run = nb_get_specs,
     .about = "Lists the kernelspecs"},
    {.methods = HTTP_GET,
     .path = "/api/kernelspecs/{name}",
     .run = nb_get_spec,
     .about = "Describes a kernelspec"},
    {.methods = HTTP_GET,
     .path = "/kernelspecs/{name}/{file}",
     .run = nb_get_spec_file,
     .gives = "application/octet-stream",
     .about = "Sends a file of a kernelspec, such as its logo"},
    {.methods = HTTP_GET,
     .path = "/api/kernels",
     .run = nb_get_kernels,
     .about = "Lists the kernels"},
    {.methods = HTTP_POST,
     .path = "/api/kernels",
     .run = nb_post_kernels,
     .body_max = NB_BODY,
     .answers = made,
     .about = "Starts a kernel, and answers when it runs"},
    {.methods = HTTP_GET,
     .path = ID,
     .run = nb_get_kernel,
     .about = "Describes a kernel"},
    {.methods = HTTP_DELETE,
     .path = ID,
     .run = nb_delete_kernel,
     .answers = done,
     .about = "Ends a kernel"},
    {.methods = HTTP_POST,
     .path = ID "/interrupt",
     .run = nb_interrupt,
     .body_max = NB_BODY,
     .answers = done,
     .about = "Interrupts the cell that runs"},
    {.methods = HTTP_POST,
     .path = ID "/restart",
     .run = nb_restart,
     .body_max = NB_BODY,
     .about = "Restarts a kernel, and answers when it runs"},
    {.methods = HTTP_GET,
     .path = ID "/channels",
     .run = nb_get_channels,
     .about = "Opens the WebSocket of a kernel's messages"},
    {.methods = HTTP_GET,
     .path = "/api/sessions",
     .run = nb_get_sessions,
     .about = "Lists the sessions: paths, each with its kernel"},
    {.methods = HTTP_POST,
     .path = "/api/sessions",
     .run = nb_post_sessions,
     .body_max = NB_BODY,
     .answers = made,
     .about = "Makes a session, and starts its kernel unless it names one"},
    {.methods = HTTP_GET,
     .path = "/api/sessions/{id}",
     .run = nb_get_session,
     .about = "Describes a session"},
    {.methods = HTTP_PATCH,
     .path = "/api/sessions/{id}",
     .run = nb_patch_session,
     .body_max = NB_BODY,
     .about = "Changes the path, name, type or kernel of a session"},
    {.methods = HTTP_DELETE,
     .path = "/api/sessions/{id}",
     .run = nb_delete_session,
     .answers = done,
     .about = "Ends a session and its kernel"},
    {.methods = CHANGES,
     .path = "/api/contents",
     .run = nb_contents,
     .body_max = BODY_OF_FILE,
     .about = "Lists the root, or makes a file in it"},
    {.methods = CHANGES,
     .path = "/api/contents/*",
     .run = nb_contents,
     .body_max = BODY_OF_FILE,
     .about = "Describes, saves, makes, renames or removes a file, folder or notebook; "
              "below it /checkpoints"},
    {.methods = HTTP_GET,
     .path = "/files/*",
     .run = nb_files,
     .gives = "application/octet-stream",
     .about = "Sends a file, or a range of it"},
    {.methods = HTTP_GET,
     .path = "/api/terminals",
     .run = nb_get_terminals,
     .about = "Lists the terminals"},
    {.methods = HTTP_POST,
     .path = "/api/terminals",
     .run = nb_post_terminals,
     .body_max = NB_BODY,
     .about = "Starts a shell on a terminal"},
    {.methods = HTTP_GET,
     .path = "/api/terminals/{name}",
     .run = nb_get_terminal,
     .about = "Describes a terminal"},
    {.methods = HTTP_DELETE,
     .path = "/api/terminals/{name}",
     .run = nb_delete_terminal,
     .answers = done,
     .about = "Ends a terminal and its programs"},
    {.methods = HTTP_GET,
     .path = "/terminals/websocket/{name}",
     .run = nb_get_terminal_ws,
     .about = "Opens the WebSocket of a terminal"},
    {.methods = HTTP_GET,
     .path = "/api/config/{section}",
     .run = nb_get_config,
     .about = "Returns what front ends have stored in a section"},
    {.methods = HTTP_PATCH,
     .path = "/api/config/{section}",
     .run = nb_patch_config,
     .body_max = NB_BODY,
     .about = "Changes members of a section; null removes one"},
    {.methods = HTTP_PUT,
     .path = "/api/config/{section}",
     .run = nb_put_config,
     .body_max = NB_BODY,
     .answers = done,
     .about = "Replaces a section"},
    {.methods = HTTP_GET,
     .path = "/api/events/subscribe",
     .run = nb_get_events,
     .about = "Opens the WebSocket of events: what is done to contents and kernels"},
    {.methods = HTTP_POST,
     .path = "/api/events",
     .run = nb_post_event,
     .body_max = NB_BODY,
     .answers = done,
     .about = "Sends an event of one of these schemas to all who listen"},
    {.methods = HTTP_GET,
     .path = "/api/nbconvert",
     .run = get_exporters,
     .about = "Lists what exports notebooks: nothing"},
    {.methods = HTTP_GET,
     .path = "/login",
     .run = nb_get_login,
     .gives = "text/html",
     .about = "A form that turns the token into a cookie"},
    {.methods = HTTP_POST,
     .path = "/login",
     .run = nb_post_login,
     .body_max = 8 << 10,
     .marks = ROUTE_LOGIN,
     .answers = moved,
     .about = "Turns the token into a cookie"},
    {.methods = HTTP_GET,
     .path = "/logout",
     .run = nb_get_logout,
     .answers = moved,
     .about = "Ends a login"},
    {.methods = HTTP_GET,
     .path = "/",
     .run = nb_get_root,
     .answers = moved,
     .about = "Redirects to /lab"},
    LAB("/lab"),
    LAB("/lab/*"),
    {.methods = HTTP_PUT | HTTP_DELETE,
     .path = "/lab/*",
     .run = nb_change_lab,
     .body_max = NB_BODY,
     .answers = done,
     .about = "Changes a layout of the app, or the settings of a plugin"},
};

static const struct http_front bare = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = nb_fail};

/* ---- the state ---- */

static const struct state_field kept_session[] = {STATE_ROW(struct nb_session, id),
                                                  STATE_ROW(struct nb_session, kernel),
                                                  STATE_ROW(struct nb_session, about),
                                                  {.name = NULL}};
static const struct state_field kept_place[] = {STATE_ROW(struct nb_place, kernel),
                                                STATE_ROW(struct nb_place, process),
                                                STATE_ROW(struct nb_place, session),
                                                STATE_ROW(struct nb_place, at),
                                                {.name = NULL}};

static void on_save(struct task *t)
{
    struct jupyter *f = container_of(t, struct jupyter, save);
    struct json *all = json_object(), *sessions = json_array(), *places = json_array();
    struct buf b = BUF_INIT(LIMIT_BLOB_MAX);
    struct list *it, *tmp;
    nb_mark_places(f);
    list_each (it, tmp, &f->sessions) {
        const struct nb_session *s = list_entry(it, struct nb_session, node);
        json_push(sessions, state_json(kept_session, s));
    }
    list_each (it, tmp, &f->places) {
        const struct nb_place *x = list_entry(it, struct nb_place, node);
        json_push(places, state_json(kept_place, x));
    }
    json_put(all, "places", places);
    json_put(all, "sessions", sessions);
    json_put(all, "config", json_copy(f->config));
    if (json_print(&b, all) == 0)
        keeper_client_put(f->en->keeper, state_key, buf_str(&b));
    else
        log_error("the sessions of Jupyter's clients are too long to be kept");
    json_free(all);
    buf_release(&b);
}

void nb_save_later(struct jupyter *f) { task_defer(f->en->loop, &f->save); }

static void load(void *arg)
{
    struct jupyter *f = arg;
    struct err e = ERR_INIT;
    const struct buf *kept = map_get(&f->en->states, state_key);
    struct json *all = kept ? json_parse_kept(buf_str(kept), &e) : NULL;
    for (struct json *j = json_first(json_get(all, "sessions")); j; j = json_next(j)) {
        struct nb_session *s = xnew(struct nb_session);
        state_read(kept_session, s, j);
        list_add_tail(&f->sessions, &s->node);
    }
    for (struct json *j = json_first(json_get(all, "places")); j; j = json_next(j)) {
        struct nb_place *x = xnew(struct nb_place);
        state_read(kept_place, x, j);
        list_add_tail(&f->places, &x->node);
        f->nplaces++;
    }
    if (json_has(all, "config")) {
        json_free(f->config);
        f->config = json_take(all, "config");
    }
    json_free(all);
}

/* ---- life ---- */

static void *open_jupyter(struct fronts *all, const struct json *options)
{
    struct jupyter *f = xnew(struct jupyter);
    struct str base = json_str(json_get(options, "jupyter"), "base", "");
    f->en = fronts_engine(all);
    f->front = bare;
    f->front.arg = f;
    f->started_ms = clock_wall_ms();
    if (str_ends(base, STR("/")))
        base = str_sub(base, 0, base.n - 1);
    snprintf(f->base, sizeof(f->base), "%.*s", STR_ARG(base));
    list_init(&f->sessions);
    list_init(&f->peers);
    list_init(&f->places);
    list_init(&f->runs);
    list_init(&f->works);
    list_init(&f->waiters);
    f->config = json_object();
    struct str root = json_str(json_get(options, "jupyter"), "root", "");
    f->root = root.n ? xstrndup(root.p, root.n) : NULL;
    struct str app = json_str(json_get(options, "jupyter"), "app", "");
    f->app = app.n ? xstrndup(app.p, app.n) : NULL;
    f->access = fronts_access(all);
    task_init(&f->save, on_save);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct jupyter *j = f;
    return i > 0 ? NULL : j ? &j->front : &bare;
}

static const char *base(const void *f)
{
    const struct jupyter *j = f;
    return j->base[0] ? j->base : NULL;
}

static void close_jupyter(void *f, bool another)
{
    (void)another;
    nb_peers_close(f);
}

static void format(struct buf *out) { buf_addz(out, "notebook 1"); }

static const char *const claims[] = {"notebook/", NULL};

const struct front front_jupyter = {
    .name = "jupyter",
    .options = &options_jupyter,
    .claims = claims,
    .format = format,
    .key = "token",
    .programs = nb_programs,
    .available = "Jupyter Kernel Gateway (od)",
    .door = &nb_door,
    .refuse = nb_refuse,
    .base = base,
    .open = open_jupyter,
    .http = http,
    .load = load,
    .close = close_jupyter,
};
