/* SPDX-License-Identifier: MIT */
/*
 * V0's browse and browse_interactive: calls to the browser that has the name of the
 * action's session. The browser's host writes pictures and downloads, as the sandbox's
 * user.
 */
#include "front/v0/own.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STEP_MS = 120000,    /* of one call, as OpenHands' browser_env.py */
    SHOT_MAX = 24 << 20, /* characters of pictures that fit an answer */
};

static const char downloads[] = "/.downloads", shots[] = "/.browser_screenshots";

static struct str too_long = {"Browser environment took too long to respond.", 45};

/* ---- calls to the browser ---- */

/* Appends goto("URL"), in these quotes, as the observation has it. */
static void put_goto(struct buf *out, struct str address)
{
    buf_addz(out, "goto(\"");
    for (size_t i = 0; i < address.n; i++) {
        if (strchr("\"\\", address.p[i]) && address.p[i])
            buf_addc(out, '\\');
        if (address.p[i] != '\n' && address.p[i] != '\r')
            buf_addc(out, address.p[i]);
    }
    buf_addz(out, "\")");
}

static struct json *what_of(const struct v0_call *a, bool visit)
{
    struct json *what = json_object(), *look = json_object();
    struct buf path = BUF_INIT(8192);
    json_put_str(what, "actions", buf_str(&a->did));
    json_put_bool(look, "tree", true);
    json_put_bool(look, "shot", true);
    json_put_bool(look, "text", visit);
    json_put_bool(look, "html", visit);
    json_put_bool(look, "raw", json_bool(a->a.args, "return_axtree", false));
    json_put_bool(look, "both", true);
    json_put(what, "look", look);
    buf_addf(&path, "%s%s", a->v->cwd, shots);
    json_put_str(what, "shots", buf_str(&path));
    if (!visit)
        json_put_z(what, "offer", a->v->cwd);
    buf_release(&path);
    return what;
}

/* ---- answers ---- */

static void answer(struct v0_call *a, struct v0_page *p)
{
    struct buf out = BUF_INIT(ANSWER_MAX);
    p->trigger = a->a.name;
    p->action = buf_str(&a->did);
    if (v0_put_page(&out, p) < 0) {
        buf_release(&out);
        v0_answer_internal(a, "the page is longer than an answer can be");
        return;
    }
    v0_answer(a, 200, &out);
}

/* Answers for a step that did not end: there is no picture or text of the page. */
static void answer_failure(struct v0_call *a, const struct err *e)
{
    struct v0_page p = {.error = e->code == ERR_TIMEOUT ? too_long : str_of(e->text),
                        .url = a->a.kind == V0_BROWSE ? json_str(a->a.args, "url", "")
                                                      : STR(""),
                        .focused = STR(""),
                        .body = e->code == ERR_TIMEOUT ? too_long : str_of(e->text),
                        .active = -1};
    answer(a, &p);
}

static void on_done(void *owner, const struct json *seen, const struct err *e)
{
    struct v0_call *a = owner;
    bool visit = a->a.kind == V0_BROWSE;
    struct str offered = json_str(seen, "offered", "");
    a->browse = NULL;
    if (!seen) {
        answer_failure(a, e);
        return;
    }
    if (offered.n) {
        struct buf out = BUF_INIT(ANSWER_MAX);
        v0_put_download(&out, buf_str(&a->did), offered);
        v0_answer(a, 200, &out);
        return;
    }
    struct v0_page p = {.url = json_str(seen, "url", ""),
                        .focused = json_str(seen, "focused", ""),
                        .error = json_str(seen, "error", ""),
                        .body = json_str(seen, visit ? "text" : "tree", ""),
                        .shot = json_str(seen, "shot", ""),
                        .marks = json_str(seen, "marked", ""),
                        .saved = json_str(seen, "saved", ""),
                        .tabs = json_get(seen, "tabs"),
                        .active = (int)json_int(seen, "active", -1),
                        .notes = json_get(seen, "notes"),
                        .axtree = json_get(seen, "axtree"),
                        .extras = json_get(seen, "extras")};
    /* After a failed visit, the observation has the requested address. */
    if (visit && p.error.n)
        p.url = json_str(a->a.args, "url", "");
    if (p.shot.n + p.marks.n > SHOT_MAX)
        p.marks = STR("");
    if (p.shot.n > SHOT_MAX)
        p.shot = STR("");
    answer(a, &p);
}

static struct browsing *browser_of(struct v0_shell *sh, struct err *e)
{
    struct v0 *v = sh->v;
    struct buf name = BUF_INIT(64), folder = BUF_INIT(8192);
    buf_addf(&name, "%.40s", sh->name);
    buf_addf(&folder, "%s%s", v->cwd, downloads);
    struct browsing_opts o = {.downloads = buf_str(&folder),
                              .task = str_of(v->task),
                              .cwd = str_of(v->cwd),
                              .user = sandbox_user(v->en->sandbox)};
    struct browsing *b = browsing_open(v->en, buf_str(&name), &o, e);
    buf_release(&name);
    buf_release(&folder);
    return b;
}

static void on_waits(void *owner, const char *driver)
{
    struct v0_call *a = owner;
    if (a->act)
        action_waits(a->act, driver);
}

int v0_browse_ask(struct v0_call *a, const struct json *what, browsing_done_fn *done,
                  struct err *e)
{
    char id[LIMIT_ID + 1];
    int64_t ms = a->a.has_timeout ? (int64_t)(a->a.timeout * 1000) : STEP_MS;
    struct browsing_ask q = {
        .id = id,
        .what = what,
        .timeout_ms = ms > 0 && ms < STEP_MS ? ms : STEP_MS,
        .waits = on_waits};
    v0_id(a, id);
    struct browsing *b = browser_of(a->sh, e);
    a->browse = b ? browsing_ask(b, &q, done, a, e) : NULL;
    return a->browse ? 0 : -1;
}

void v0_browse(struct v0_call *a)
{
    bool visit = a->a.kind == V0_BROWSE;
    struct err e = ERR_INIT;
    if (!a->v->browser) {
        v0_answer_error(a, v0_no_browser);
        return;
    }
    if (!visit && v0_eval(a))
        return;
    buf_init(&a->did, BODY_MAX);
    if (visit) {
        struct buf address = BUF_INIT(BODY_MAX);
        browsing_address(&address, str_of(a->v->cwd), json_str(a->a.args, "url", ""));
        put_goto(&a->did, buf_str(&address));
        buf_release(&address);
    } else {
        buf_adds(&a->did, json_str(a->a.args, "browser_actions", ""));
    }
    struct json *what = what_of(a, visit);
    if (v0_browse_ask(a, what, on_done, &e) < 0)
        answer_failure(a, &e);
    json_free(what);
}

void v0_browse_cancel(struct v0_call *a)
{
    if (browsing_runs(a->browse)) {
        browsing_cancel(a->browse);
        return;
    }
    browsing_drop(a->browse);
    a->browse = NULL;
    v0_answer_error(a, STR("The action was cancelled before it began"));
}

/* ---- before ---- */

void v0_browse_warm(struct v0 *v)
{
    struct buf path = BUF_INIT(8192), login = BUF_INIT(LIMIT_SPAWN_MAX);
    struct err e = ERR_INIT;
    uid_t uid = v->en->uid;
    gid_t gid = v->en->gid;
    struct str user = sandbox_user(v->en->sandbox);
    if (!v->browser || !sandbox_warm(v->en->sandbox) || !v->downloads || !v->cwd[0])
        return;
    if (user.n)
        engine_user(v->en, user, &uid, &gid, &login, &e);
    buf_addf(&path, "%s%s", v->cwd, downloads);
    if (mkdir(buf_z(&path), 0755) == 0 && uid != v->en->uid) {
        int fd = open(buf_z(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fchown(fd, uid, gid) < 0)
            log_warn("cannot give %s to its user: %s", buf_z(&path), strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    buf_release(&path);
    buf_release(&login);
}
