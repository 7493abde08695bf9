/* SPDX-License-Identifier: MIT */
/*
 * The process beside a browser. It waits in three places: for a line, within a call (the
 * browser has deadlines for all it is asked), and for its reader to get on. A signal
 * ends each of them.
 */
#include "engine/browser_host.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/xalloc.h"
#include "engine/browser_own.h"
#include "engine/browser_page.h"
#include "engine/browser_task.h"
#include "engine/files.h"
#include "engine/op.h"
#include "engine/webpage.h"
#include "engine/webreader.h"
#include "os/remove.h"
#include "os/sig.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_IN = 16 << 20,
    ANSWER_MAX = 96 << 20,
    SHOT_MAX = 32 << 20,
    TEXT_MAX = 16 << 20,
    OFFER_MAX = 64 << 20, /* bytes of a download that is copied */
    WINDOW = 256 << 10,   /* where the engine gives none */
    ALIVE_MS = 5000,      /* for a browser to show that it is */
    DOWNLOAD_MS = 10000   /* for a download to be complete */
};

struct host {
    int stop; /* readable: a signal came */
    bool ended;
    struct buf in;
    uint64_t sent, seen, window;
    struct buf answer; /* the last one, to be sent again */
    char id[OP_ID_MAX + 1];
    bool again;
    bool text; /* no Chromium is wanted */
    struct str downloads, cdp;
    char dir[PATH_MAX];
    struct browser *b; /* NULL: none */
    struct webreader reader;
    bool reading; /* there is one */
    bool told;    /* the browser's elements have bids */
    struct browser_task task;
    struct buf news; /* for the next answer */
    unsigned offered;
};

static const char stem[] = "/od-browsing.";

/* ---- lines ---- */

static void take_line(struct host *h, struct str line);

/* Reads once, waiting for it. */
static void read_some(struct host *h)
{
    struct pollfd fds[4] = {{STDIN_FILENO, POLLIN, 0},
                            {h->stop, POLLIN, 0},
                            {h->b ? h->b->cdp.from : -1, POLLIN, 0},
                            {h->b ? h->b->deny.fd : -1, POLLIN, 0}};
    if (poll(fds, 4, -1) < 0)
        return;
    if (fds[1].revents) {
        h->ended = true;
        return;
    }
    if (fds[2].revents)
        cdp_turn(&h->b->cdp, clock_ms());
    if (fds[3].revents)
        browser_deny_hear(h->b);
    if (h->b && h->b->cdp.ended)
        browser_end(h->b); /* nothing of it is left until somebody asks for it again */
    if (fds[0].revents) {
        char *p = buf_reserve(&h->in, 64 << 10);
        ssize_t n = p ? read(STDIN_FILENO, p, 64 << 10) : 0;
        if (n > 0)
            buf_commit(&h->in, (size_t)n);
        else if (n == 0 || errno != EINTR)
            h->ended = true;
    }
}

/* {"read": N} and {"again": ID} are for now; the rest waits in the buffer. */
static void take_news(struct host *h)
{
    static const struct str now[] = {{"{\"read\":", 8}, {"{\"again\":", 9}};
    for (size_t at = 0; at < h->in.n;) {
        struct str rest = str_n(h->in.p + at, h->in.n - at);
        long nl = str_chr(rest, '\n');
        if (nl < 0)
            return;
        struct str line = str_sub(rest, 0, (size_t)nl);
        if (!str_starts(line, now[0]) && !str_starts(line, now[1])) {
            at += (size_t)nl + 1;
            continue;
        }
        struct err e = ERR_INIT;
        struct json *j = json_parse(line, &e);
        uint64_t to = (uint64_t)json_int(j, "read", 0);
        h->seen = to > h->seen && to <= h->sent ? to : h->seen;
        if (str_eq(json_str(j, "again", ""), str_of(h->id)) && h->id[0])
            h->again = true;
        json_free(j);
        size_t n = (size_t)nl + 1;
        memmove(h->in.p + at, h->in.p + at + n, h->in.n - at - n);
        buf_truncate(&h->in, h->in.n - n);
    }
}

static void put_out(struct host *h, struct str bytes)
{
    while (bytes.n > 0 && !h->ended) {
        uint64_t room = h->seen + h->window - h->sent;
        if (room == 0) {
            read_some(h);
            take_news(h);
            continue;
        }
        ssize_t n = write(STDOUT_FILENO, bytes.p,
                          bytes.n < room ? bytes.n : (size_t)room);
        if (n < 0 && errno != EINTR)
            h->ended = true; /* nobody takes it */
        if (n <= 0)
            continue;
        h->sent += (uint64_t)n;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
}

static void send_answer(struct host *h, struct json *take)
{
    buf_reset(&h->answer);
    if (json_print(&h->answer, take) < 0)
        buf_addf(&h->answer,
                 "{\"id\":\"%s\",\"failed\":\"what was seen is longer than %d MiB\","
                 "\"code\":%d}",
                 h->id, ANSWER_MAX >> 20, ERR_LIMIT);
    buf_addc(&h->answer, '\n');
    json_free(take);
    put_out(h, buf_str(&h->answer));
}

/* ---- folders ---- */

/* Only what one of us can have made. */
static void sweep(const char *dir)
{
    struct stat st;
    const char *at = strstr(dir, stem);
    if (at && !strchr(at + 1, '/') && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid())
        remove_tree(dir);
}

/* All that the browser keeps on disk; it goes by TMPDIR. */
static void make_dir(struct host *h)
{
    const char *folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
        if (!folders[i] || folders[i][0] != '/')
            continue;
        snprintf(h->dir, sizeof(h->dir), "%.4000s%sXXXXXX", folders[i], stem);
        if (mkdtemp(h->dir)) {
            setenv("TMPDIR", h->dir, 1);
            return;
        }
    }
    h->dir[0] = 0;
}

static void tell_dir(struct host *h)
{
    struct json *j = json_object();
    struct buf line = BUF_INIT(2 * PATH_MAX);
    json_put_z(j, "dir", h->dir);
    if (json_print(&line, j) == 0 && buf_addc(&line, '\n') == 0)
        put_out(h, buf_str(&line));
    json_free(j);
    buf_release(&line);
}

/* ---- the browser ---- */

/* What Chromium leaves behind when it is killed becomes ours. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void drop_browser(struct host *h)
{
    browser_close(h->b);
    reap();
    h->b = NULL;
    h->told = false;
}

/* Is it there, and does it answer? News often come behind what they are about. */
static bool is_alive(struct host *h)
{
    struct err e = ERR_INIT;
    browser_deny_hear(h->b);
    struct json *j = cdp_call(&h->b->cdp, STR(""), "Browser.getVersion", NULL,
                              browser_in(ALIVE_MS), &e);
    json_free(j);
    return j != NULL;
}

/* Something to act with: a Chromium, else a reader. */
static int ensure(struct host *h, struct err *e)
{
    const char *which = getenv("OD_BROWSER");
    struct browser_opts o = {.stop = h->stop,
                             .downloads = h->downloads.n ? h->downloads.p : NULL,
                             .address = h->cdp.n ? h->cdp.p : NULL,
                             .width = h->task.url.n ? TASK_WIDTH : 0,
                             .height = h->task.url.n ? TASK_HEIGHT : 0,
                             .console = true};
    if (h->b && !is_alive(h)) {
        buf_addf(&h->news, "the browser %s, and was started anew",
                 h->b->deny.lost   ? "had lost what keeps it from denied addresses"
                 : h->b->cdp.ended ? "had ended"
                                   : "did not answer");
        drop_browser(h);
    }
    if (h->b || h->reading)
        return 0;
    reap();
    if (!h->text && (!which || strcmp(which, "text") != 0)) {
        h->b = browser_open(&o, e);
        bool given = h->cdp.n || (which && strstr(which, "://"));
        if (h->b || given || e->code != ERR_NOTFOUND)
            return h->b ? 0 : -1;
    }
    if (h->task.url.n)
        return err_set(
            e, ERR_NOTFOUND,
            "cannot begin the task at %.*s: there is no Chromium, and its page "
            "is nothing without one; install it in the image",
            (int)(h->task.url.n > 300 ? 300 : h->task.url.n), h->task.url.p);
    struct webtext_spec spec = {0};
    *e = (struct err)ERR_INIT;
    h->reading = webreader_open(&h->reader, &spec, h->stop, e) == 0;
    return h->reading ? 0 : -1;
}

/* A page that does not answer keeps its tab from doing so: it goes, if others can live.
 */
static void after_failure(struct host *h)
{
    struct err e = ERR_INIT;
    struct browser *b = h->b;
    if (!b->cdp.ended && b->active) {
        struct json *p = json_object();
        json_put_z(p, "targetId", b->active->id);
        cdp_tell(&b->cdp, STR(""), "Target.closeTarget", p);
    }
    bool lives = !b->cdp.ended && is_alive(h) && browser_new_tab(b, &e) == 0;
    buf_reset(&h->news);
    if (lives) {
        buf_addz(&h->news, "the page before did not answer, and its tab was closed");
        return;
    }
    drop_browser(h);
    buf_addz(&h->news, "the browser was started anew");
}

/* Does a text name an element? Then bids must have been given. */
static bool names_element(struct str actions)
{
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    bool any = false;
    browse_parse(&t, actions, &e, &why);
    for (size_t i = 0; i < t.n; i++)
        any |= t.calls[i].what >= BROWSE_CLICK && t.calls[i].what <= BROWSE_UPLOAD;
    browse_text_release(&t);
    return any;
}

/* ---- downloads ---- */

static int count_notes(const struct browser *b, struct str begin, struct str *last)
{
    int n = 0;
    for (const struct json *j = json_first(b->notes); j; j = json_next(j)) {
        struct str s = json_str_value(j, "");
        if (!str_starts(s, begin))
            continue;
        *last = str_sub(s, begin.n, s.n);
        n++;
    }
    return n;
}

/* By what it begins with, else as its name has it. */
static const char *ending(struct str path, struct str head)
{
    static const struct {
        struct str head;
        const char *ending;
    } known[] = {{STR("%PDF-"), ".pdf"},        {STR("\x89PNG"), ".png"},
                 {STR("\xff\xd8\xff"), ".jpg"}, {STR("GIF8"), ".gif"},
                 {STR("PK\x03\x04"), ".zip"},   {STR("\x1f\x8b"), ".gz"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (str_starts(head, known[i].head))
            return known[i].ending;
    }
    const char *dot = strrchr(path.p, '.');
    return dot && !strchr(dot, '/') && strlen(dot) <= 12 ? dot : "";
}

/* What the action has downloaded, when it failed for that: a copy, its path to out. */
static void offer(struct host *h, struct str folder, struct json *out)
{
    struct str began, done = {0};
    int64_t end = browser_in(DOWNLOAD_MS);
    struct buf bytes = BUF_INIT(OFFER_MAX), to = BUF_INIT(PATH_MAX);
    struct err e = ERR_INIT;
    while (count_notes(h->b, STR("a download began: "), &began) >
               count_notes(h->b, STR("a download is complete: "), &done) &&
           cdp_turn(&h->b->cdp, end) > 0)
        ;
    if (!done.n || files_read(done.p, OFFER_MAX, &bytes, &e) < 0)
        goto out;
    do {
        buf_reset(&to);
        buf_addf(&to, "%.*s/file_%u%s", STR_ARG(folder), ++h->offered,
                 ending(done, buf_str(&bytes)));
    } while (access(buf_z(&to), F_OK) == 0);
    if (files_replace(buf_z(&to), buf_str(&bytes), &(struct files_put){.mode = 0644},
                      &e) == 0)
        json_put_str(out, "offered", buf_str(&to));
    else
        buf_addf(&h->news, "%s", e.text);
out:
    buf_release(&bytes);
    buf_release(&to);
}

/* ---- looking ---- */

/* `[text][3]` as `[text](address)`, `[4: button 'Send']` as `[button 'Send']`. */
static void put_plain(struct buf *out, struct str text, const struct json *items)
{
    const struct json *at = json_first(items);
    for (size_t i = 0; i < text.n; i++) {
        size_t n = i + 1;
        while (text.p[i] == '[' && n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
            n++;
        struct str bid = str_sub(text, i + 1, n - i - 1);
        bool link = bid.n && n < text.n && text.p[n] == ']' && i && text.p[i - 1] == ']';
        bool field = bid.n && n + 1 < text.n && text.p[n] == ':' && text.p[n + 1] == ' ';
        const struct json *begin = at, *it = at;
        while ((link || field) && it && !str_eq(json_str(it, "bid", ""), bid)) {
            it = json_next(it) ? json_next(it) : json_first(items);
            if (it == begin)
                it = NULL;
        }
        if (link && it) {
            buf_addf(out, "(%.*s)", STR_ARG(json_str(it, "url", "")));
            i = n;
        } else if (field && it) {
            buf_addc(out, '[');
            i = n + 1;
        } else {
            buf_addc(out, text.p[i]);
        }
        at = it ? it : at;
    }
}

/* The document as it is now, as Markdown. */
static int see_markdown(struct host *h, struct json *out, struct err *e)
{
    struct json *j = browser_run(h->b, "(document.documentElement||{}).outerHTML||''", e);
    struct json *url = browser_run(h->b, "document.baseURI", e);
    struct str html = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    struct webpage page;
    struct buf text = BUF_INIT(TEXT_MAX);
    webpage_init(&page);
    int rc = j && url ? 0 : -1;
    if (rc == 0)
        rc = webpage_html(
            &page, html,
            json_str(json_get(json_get(url, "result"), "result"), "value", ""), e);
    if (rc == 0) {
        put_plain(&text, buf_str(&page.text), page.items);
        json_put_str(out, "text", buf_str(&text));
    }
    webpage_release(&page);
    buf_release(&text);
    json_free(j);
    json_free(url);
    return rc;
}

/* screenshot_20240131_235959_000001.png, as the reference has it. */
static void save_shot(struct host *h, struct str folder, struct str shot,
                      struct json *out)
{
    struct timespec now;
    struct tm tm;
    char name[64];
    struct buf path = BUF_INIT(PATH_MAX);
    struct files_put put = {.mode = 0644, .parents = true};
    struct err e = ERR_INIT;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(name, sizeof(name), "%Y%m%d_%H%M%S", &tm);
    buf_addf(&path, "%.*s/screenshot_%s_%06ld.png", STR_ARG(folder), name,
             now.tv_nsec / 1000);
    if (files_replace(buf_z(&path), shot, &put, &e) == 0)
        json_put_str(out, "saved", buf_str(&path));
    else
        buf_addf(&h->news, "%sthe picture was not saved: %s", h->news.n ? "; " : "",
                 e.text);
    buf_release(&path);
}

static void put_shot(struct host *h, struct str folder, struct str shot, struct json *out)
{
    struct buf text = BUF_INIT(SHOT_MAX / 3 * 4 + 16);
    if (shot.n > SHOT_MAX || enc_base64(&text, shot) < 0)
        buf_addz(&h->news, "the picture is too large");
    else
        json_put_str(out, "shot", buf_str(&text));
    if (folder.n && shot.n)
        save_shot(h, folder, shot, out);
    buf_release(&text);
}

static void put_json(struct json *out, const char *name, const struct buf *text)
{
    struct err e = ERR_INIT;
    struct json *j = text->n ? json_parse(buf_str(text), &e) : NULL;
    if (j)
        json_put(out, name, j);
}

/*
 * A picture with the marks of the last look, beside the one without. They are drawn in a
 * page of their own, which costs more than all the rest: not where there are none.
 */
static void put_marked(struct host *h, struct str shot, struct json *out)
{
    if (str_eq(buf_str(&h->b->marks), STR("[]"))) {
        json_put_str(out, "marked", json_str(out, "shot", ""));
        return;
    }
    struct buf marked = BUF_INIT(SHOT_MAX), text = BUF_INIT(SHOT_MAX / 3 * 4 + 16);
    struct err e = ERR_INIT;
    if (shot.n && buf_adds(&marked, shot) == 0 &&
        browser_draw_marks(h->b, "png", &marked, &e) == 0 &&
        enc_base64(&text, buf_str(&marked)) == 0)
        json_put_str(out, "marked", buf_str(&text));
    buf_release(&marked);
    buf_release(&text);
}

static void put_notes(struct host *h, struct json *out, struct json *take)
{
    if (h->news.n)
        json_push_str(take, buf_str(&h->news));
    buf_reset(&h->news);
    json_put(out, "notes", take);
}

static size_t page_size(const struct json *want)
{
    int64_t n = json_int(want, "page_size", 0);
    return n > 0 ? (size_t)n : 0;
}

static int see_browser(struct host *h, const struct json *q, struct json *out,
                       struct err *e)
{
    const struct json *want = json_get(q, "look");
    bool html = json_bool(want, "html", false), both = json_bool(want, "both", false);
    struct browser_look look = {.tree = json_bool(want, "tree", false),
                                .shot = json_bool(want, "shot", false),
                                .text = json_bool(want, "text", false) && !html,
                                .compact = json_bool(want, "compact", false),
                                .whole = json_bool(want, "whole", false),
                                .marks = json_bool(want, "marks", false) && !both,
                                .properties = json_bool(want, "raw", false) || both,
                                .raw = json_bool(want, "raw", false),
                                .format = json_str(want, "format", "png").p,
                                .page_size = page_size(want),
                                .page = (int)json_int(want, "page", 1)};
    struct browser_seen seen;
    int rc = browser_see(h->b, &look, &seen, e);
    if (rc == 0) {
        h->told = look.tree;
        json_put_z(out, "mode", "chromium");
        json_put_str(out, "url", buf_str(&seen.url));
        json_put_str(out, "title", buf_str(&seen.title));
        json_put_str(out, "error", buf_str(&seen.error));
        json_put_str(out, "focused", buf_str(&seen.focused));
        json_put_str(out, "said", buf_str(&seen.said));
        json_put_int(out, "active", seen.active);
        json_put(out, "tabs", seen.tabs);
        if (look.tree)
            json_put_str(out, "tree", buf_str(&seen.tree));
        if (look.text)
            json_put_str(out, "text", buf_str(&seen.text));
        if (html)
            rc = see_markdown(h, out, e);
        if (look.shot)
            put_shot(h, json_str(q, "shots", ""), buf_str(&seen.shot), out);
        if (look.shot && both)
            put_marked(h, buf_str(&seen.shot), out);
        if (look.raw) {
            put_json(out, "axtree", &seen.raw);
            put_json(out, "extras", &seen.properties);
        }
        if (look.marks)
            put_json(out, "marks", &seen.marks);
        json_put_int(out, "pages", seen.pages);
        put_notes(h, out, seen.notes);
        if (json_bool(want, "console", false))
            json_put(out, "console", seen.console);
        else
            json_free(seen.console);
        seen.tabs = seen.notes = seen.console = NULL;
    }
    browser_seen_release(&seen);
    return rc;
}

static void see_reader(struct host *h, const struct json *q, struct json *out)
{
    const struct json *want = json_get(q, "look");
    struct buf text = BUF_INIT(TEXT_MAX + (1 << 20));
    struct json *tabs = json_array(), *tab = json_object();
    int pages = 1, page = (int)json_int(want, "page", 1);
    const char *url = webtext_url(h->reader.web);
    json_put_z(tab, "url", url && *url ? url : "about:blank");
    json_put_z(tab, "title", webtext_title(h->reader.web));
    json_push(tabs, tab);
    json_put_z(out, "mode", "text");
    json_put_z(out, "url", url && *url ? url : "about:blank");
    json_put_z(out, "title", webtext_title(h->reader.web));
    json_put_z(out, "error", h->reader.why.code ? h->reader.why.text : "");
    json_put_z(out, "focused", "");
    json_put_str(out, "said", buf_str(&h->reader.said));
    json_put_int(out, "active", 0);
    json_put(out, "tabs", tabs);
    if (json_bool(want, "tree", false)) {
        webreader_outline(&h->reader, &text);
        pages = browser_page_cut(&text, page_size(want), page);
        json_put_str(out, "tree", buf_str(&text));
    }
    if (json_bool(want, "text", false)) {
        buf_reset(&text);
        webtext_observe(h->reader.web, &text);
        pages = browser_page_cut(&text, page_size(want), page);
        json_put_str(out, "text", buf_str(&text));
    }
    json_put_int(out, "pages", pages);
    put_notes(h, out, json_array());
    buf_release(&text);
}

/* ---- calls ---- */

static int act_and_see(struct host *h, const struct json *q, struct json *out,
                       struct err *e)
{
    struct str actions = json_str(q, "actions", ""), folder = json_str(q, "offer", "");
    struct browser_seen seen;
    int rc = 0;
    if (ensure(h, e) < 0)
        return -1;
    if (h->task.url.n && !h->task.begun && browser_task_begin(&h->task, h->b, e) < 0)
        return -1;
    if (json_bool(q, "task", false)) {
        json_put_str(out, "goal", buf_str(&h->task.goal));
        json_put_str(out, "rewards", buf_str(&h->task.rewards));
        return 0;
    }
    if (h->reading) {
        h->reader.why = (struct err)ERR_INIT;
        if (actions.n)
            webreader_act(&h->reader, actions);
        see_reader(h, q, out);
        return 0;
    }
    if (actions.n && !h->told && names_element(actions)) {
        rc = browser_see(h->b, &(struct browser_look){.tree = true}, &seen, e);
        browser_seen_release(&seen);
    }
    if (rc == 0 && actions.n && browser_act(h->b, actions) < 0 && folder.n)
        offer(h, folder, out);
    if (rc == 0 && actions.n && h->task.begun)
        browser_task_judge(&h->task, h->b);
    if (rc == 0 && !actions.n) { /* those of the call before were told */
        buf_reset(&h->b->error);
        buf_reset(&h->b->said);
    }
    if (rc == 0)
        rc = see_browser(h, q, out, e);
    return rc;
}

static void call(struct host *h, const struct json *q, struct str id)
{
    struct json *out = json_object();
    struct err e = ERR_INIT;
    memcpy(h->id, id.p, id.n);
    h->id[id.n] = 0;
    json_put_str(out, "id", id);
    if (act_and_see(h, q, out, &e) < 0) {
        json_free(out);
        out = json_object();
        json_put_str(out, "id", id);
        json_put_z(out, "failed", e.text);
        json_put_int(out, "code", e.code);
        if (h->b && (h->task.begun || !h->task.url.n))
            after_failure(h);
    }
    h->again = false;
    send_answer(h, out);
}

static void take_line(struct host *h, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str id = json_str(j, "id", "");
    if (id.n > 0 && id.n <= OP_ID_MAX)
        call(h, j, id);
    json_free(j);
}

static void work(struct host *h)
{
    while (!h->ended) {
        take_news(h);
        if (h->again) {
            h->again = false;
            put_out(h, buf_str(&h->answer));
            continue;
        }
        long nl = str_chr(buf_str(&h->in), '\n');
        if (nl < 0) {
            read_some(h);
            continue;
        }
        struct buf line = BUF_INIT(LINE_IN);
        buf_add(&line, h->in.p, (size_t)nl);
        buf_consume(&h->in, (size_t)nl + 1);
        take_line(h, buf_str(&line));
        buf_release(&line);
    }
}

int browser_host_run(const char *options)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct err e = ERR_INIT;
    struct host *h = xnew(struct host);
    struct json *o = json_parse(str_of(options), &e);
    signal(SIGPIPE, SIG_IGN);
    h->stop = sig_open(signals, 3);
    buf_init(&h->in, LINE_IN);
    buf_init(&h->answer, ANSWER_MAX);
    buf_init(&h->news, 4096);
    h->text = str_eq(json_str(o, "mode", ""), STR("text"));
    h->downloads = json_str(o, "downloads", "");
    h->cdp = json_str(o, "cdp", "");
    browser_task_init(&h->task, json_str(o, "task", ""));
    int64_t window = json_int(o, "window", WINDOW);
    h->window = window >= 4096 ? (uint64_t)window : WINDOW;
    sweep(json_str(o, "sweep", "").p);
    make_dir(h);
    tell_dir(h);
    work(h);
    drop_browser(h);
    if (h->reading)
        webreader_close(&h->reader);
    if (h->dir[0])
        sweep(h->dir);
    buf_release(&h->in);
    buf_release(&h->answer);
    buf_release(&h->news);
    browser_task_release(&h->task);
    json_free(o);
    free(h);
    return 0;
}
