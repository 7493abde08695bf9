/* SPDX-License-Identifier: MIT */
/*
 * The host of a browser. It waits in three places: for a line, within a call (all calls
 * of the browser have deadlines), and for its reader to read. A signal, or the end of
 * its input, ends each wait (struct halt); the call's time limit, or a line that cancels
 * it, ends the call.
 */
#include "browser/host/host_own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "file/files.h"
#include "os/file.h"
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
#include <unistd.h>

enum {
    LINE_IN = 16 << 20,
    ANSWER_MAX = 96 << 20,
    OFFER_MAX = 64 << 20, /* bytes of a download that is copied */
    WINDOW = 256 << 10,   /* if the engine sets none */
    TURN_MS = 10,         /* for the rest of an incomplete message */
    ALIVE_MS = 5000,      /* for a browser to answer at all */
    CALM_MS = 2000,       /* for a page, after a failed call */
    SAVED_MS = 1000,      /* for the end of a download that the call began */
};

static const char stem[] = "/od-browsing.";

/* ---- lines ---- */

static void take_line(struct host *h, struct str line);

/* Reads the input, which is readable. */
static void read_lines(struct host *h)
{
    if (h->in.n == 0)
        h->came_ms = clock_ms();
    char *p = buf_reserve(&h->in, 64 << 10);
    ssize_t n = p ? read(STDIN_FILENO, p, 64 << 10) : 0;
    if (n > 0)
        buf_commit(&h->in, (size_t)n);
    else if (n == 0 || errno != EINTR)
        h->halt.ended = true;
}

/* Of people and of DevTools clients. quiet: nothing of theirs can be read. */
static void people_turn(struct host *h, bool quiet)
{
    h->screen.quiet = quiet;
    host_screen_turn(h);
    host_devtools_turn(h);
    h->screen.quiet = false;
}

/* Waits for input and reads once. */
static void read_some(struct host *h)
{
    struct pollfd fds[5] = {{STDIN_FILENO, POLLIN, 0},
                            {h->halt.fds[0], POLLIN, 0},
                            {h->b ? h->b->cdp.from : -1, POLLIN, 0},
                            {h->b ? h->b->deny.fd : -1, POLLIN, 0},
                            {h->screen.watch, POLLIN, 0}};
    if (poll(fds, 5, -1) < 0)
        return;
    if (fds[1].revents) {
        h->halt.ended = true;
        return;
    }
    if (fds[0].revents)
        read_lines(h); /* first: handlers of the browser's messages read it, too */
    if (fds[2].revents)
        cdp_turn(&h->b->cdp, browser_in(TURN_MS));
    if (fds[3].revents)
        browser_deny_hear(h->b);
    if (h->b && h->b->cdp.ended)
        browser_end(h->b); /* ends it until the next call */
    people_turn(h, !fds[4].revents);
}

/* Handles a line that cannot wait. */
static void take_word(struct host *h, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    uint64_t to = (uint64_t)json_int(j, "read", 0);
    struct str cancel = json_str(j, "cancel", "");
    h->seen = to > h->seen && to <= h->sent ? to : h->seen;
    if (str_eq(json_str(j, "again", ""), str_of(h->id)) && h->id[0])
        h->again = true;
    if (cancel.n > 0 && cancel.n <= LIMIT_ID)
        snprintf(h->cancel, sizeof(h->cancel), "%.*s", STR_ARG(cancel));
    json_free(j);
}

/* Handles {"read": N}, {"again": ID} and {"cancel": ID} at once; other lines wait in the
 * buffer.
 */
static void take_news(struct host *h)
{
    static const struct str now[] = {
        {"{\"read\":", 8}, {"{\"again\":", 9}, {"{\"cancel\":", 10}};
    for (size_t at = 0; at < h->in.n;) {
        struct str rest = str_n(h->in.p + at, h->in.n - at);
        long nl = str_chr(rest, '\n');
        if (nl < 0)
            return;
        struct str line = str_sub(rest, 0, (size_t)nl);
        if (!str_starts(line, now[0]) && !str_starts(line, now[1]) &&
            !str_starts(line, now[2])) {
            at += (size_t)nl + 1;
            continue;
        }
        take_word(h, line);
        size_t n = (size_t)nl + 1;
        memmove(h->in.p + at, h->in.p + at + n, h->in.n - at - n);
        buf_truncate(&h->in, h->in.n - n);
    }
}

/* Called within a call. */
static void on_halt(struct halt *halt)
{
    struct host *h = container_of(halt, struct host, halt);
    struct pollfd fds[3] = {{halt->fds[0], POLLIN, 0},
                            {STDIN_FILENO, POLLIN, 0},
                            {h->screen.watch, POLLIN, 0}};
    int n = poll(fds, 3, 0);
    people_turn(h, n >= 0 && !fds[2].revents);
    if (n <= 0)
        return;
    halt->ended |= fds[0].revents != 0;
    if (fds[1].revents && !halt->ended)
        read_lines(h);
    take_news(h);
    halt->cut |= h->calling && strcmp(h->cancel, h->id) == 0;
}

static void put_out(struct host *h, struct str bytes)
{
    while (bytes.n > 0 && !h->halt.ended) {
        uint64_t room = h->seen + h->window - h->sent;
        if (room == 0) {
            read_some(h);
            take_news(h);
            continue;
        }
        ssize_t n = write(STDOUT_FILENO, bytes.p,
                          bytes.n < room ? bytes.n : (size_t)room);
        if (n < 0 && errno != EINTR)
            h->halt.ended = true; /* nobody reads the answer */
        if (n <= 0)
            continue;
        h->sent += (uint64_t)n;
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
}

static void send_answer(struct host *h, struct json *take)
{
    buf_reset(&h->answer);
    if (json_print(&h->answer, take) < 0) {
        buf_reset(&h->answer);
        buf_addf(&h->answer,
                 "{\"id\":\"%s\",\"failed\":\"what was seen is longer than %d MiB\","
                 "\"code\":%d}",
                 h->id, ANSWER_MAX >> 20, ERR_LIMIT);
    }
    buf_addc(&h->answer, '\n');
    json_free(take);
    put_out(h, buf_str(&h->answer));
}

/* ---- folders ---- */

/* Removes the folder of a killed host, and nothing else. */
static void sweep(const char *dir)
{
    struct stat st;
    const char *at = strstr(dir, stem);
    if (at && !strchr(at + 1, '/') && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid())
        remove_tree(dir);
}

/* The folder of all files of the browser, below TMPDIR. */
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

/* The folder of a profile of that name, if profiles are kept. */
static void find_profile(struct host *h, struct str name)
{
    const char *dir = getenv("OD_BROWSE_PROFILES");
    bool dot = str_starts(name, STR(".")); /* neither the folder itself nor one above */
    if (dir && *dir && name.n > 0)
        buf_fill(h->profile, sizeof(h->profile), "%s/%s%s", dir, dot ? "%2E" : "",
                 name.p + dot);
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

/* Processes that a killed Chromium leaves behind become our children. */
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

/* Does the browser run and answer? Its end is often noticed late. */
static bool is_alive(struct host *h)
{
    struct err e = ERR_INIT;
    browser_deny_hear(h->b);
    struct json *j = cdp_call(&h->b->cdp, STR(""), "Browser.getVersion", NULL,
                              browser_in(ALIVE_MS), &e);
    bool alive = j != NULL;
    json_free(j);
    return alive;
}

/* Opens a Chromium to act with, else a reader. */
static int ensure(struct host *h, struct err *e)
{
    const char *which = getenv("OD_BROWSER");
    struct browser_opts o = {.stop = &h->halt,
                             .downloads = h->downloads.n ? h->downloads.p : NULL,
                             .profile = h->profile[0] ? h->profile : NULL,
                             .address = h->cdp.n ? h->cdp.p : NULL,
                             .width = h->task.url.n ? TASK_WIDTH : 0,
                             .height = h->task.url.n ? TASK_HEIGHT : 0,
                             .console = true};
    bool alive = h->b && is_alive(h);
    if (h->b && !alive && halt_over(&h->halt)) /* it may be */
        return err_set(e, ERR_TIMEOUT, "the browser did not answer in time");
    if (h->b && !alive) {
        buf_addf(&h->news, "the browser %s, and was started again",
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
        host_screen_turn(h);
        bool given = h->cdp.n || (which && strstr(which, "://"));
        if (h->b || given || e->code != ERR_NOTFOUND)
            return h->b ? 0 : -1;
    }
    if (h->task.url.n)
        return err_set(
            e, ERR_NOTFOUND,
            "cannot begin the task at %.*s: there is no Chromium, and its page needs "
            "one; install it in the image",
            (int)(h->task.url.n > 300 ? 300 : h->task.url.n), h->task.url.p);
    struct webtext_spec spec = {.downloads = o.downloads};
    *e = (struct err)ERR_INIT;
    h->reading = webreader_open(&h->reader, &spec, &h->halt, e) == 0;
    return h->reading ? 0 : -1;
}

/* After a failed call: closes a page that does not answer, if others do. */
static void after_failure(struct host *h)
{
    struct err e = ERR_INIT;
    struct browser *b = h->b;
    if (!b->cdp.ended && browser_calm(b, CALM_MS))
        return;
    if (!b->cdp.ended && b->active) {
        struct json *p = json_object();
        json_put_z(p, "targetId", b->active->id);
        cdp_tell(&b->cdp, STR(""), "Target.closeTarget", p);
    }
    bool lives = !b->cdp.ended && is_alive(h) && browser_new_tab(b, &e) == 0;
    if (h->halt.ended)
        return;
    buf_reset(&h->news);
    if (lives) {
        buf_addz(&h->news, "the previous page did not answer, and its tab was closed");
        return;
    }
    drop_browser(h);
    buf_addz(&h->news, "the browser was started again");
}

/* Does a text name an element? Then the elements need bids first. */
static bool names_element(struct str actions)
{
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    bool any = false;
    browse_parse(&t, actions, &e, &why);
    for (size_t i = 0; i < t.n; i++)
        any |= (t.calls[i].what >= BROWSE_CLICK && t.calls[i].what <= BROWSE_UPLOAD) ||
               t.calls[i].what == BROWSE_WAIT_FOR;
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

/* Returns the ending for a file by its first bytes, else by its name. */
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

/* Copies a download, and puts the path into out. */
static void offer_file(struct host *h, const char *path, struct str folder,
                       struct json *out)
{
    struct buf bytes = BUF_INIT(OFFER_MAX), to = BUF_INIT(PATH_MAX);
    struct err e = ERR_INIT;
    if (file_read(path, OFFER_MAX, &bytes, &e) < 0)
        goto out;
    do {
        buf_reset(&to);
        buf_addf(&to, "%.*s/file_%u%s", STR_ARG(folder), ++h->offered,
                 ending(str_of(path), buf_str(&bytes)));
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

/* Offers the download of an action that failed because of it. */
static void offer(struct host *h, struct str folder, struct json *out)
{
    struct str done = {0};
    browser_finish_downloads(h->b, BROWSER_STALLED_MS);
    count_notes(h->b, STR("a download is complete: "), &done);
    if (done.n)
        offer_file(h, done.p, folder, out);
}

/* ---- calls ---- */

/*
 * The error of a call that timed out or was cancelled: names the action of did that was
 * not done, if there is one, else `where`.
 */
static int cut(const struct host *h, const char *where, const struct browse_progress *did,
               struct err *e)
{
    bool cancelled = h->halt.cut || h->halt.ended;
    char what[64] = "the call was cancelled", at[160];
    if (!cancelled)
        snprintf(what, sizeof(what), "the call was not done within %g s",
                 (double)h->within_ms / 1000);
    snprintf(at, sizeof(at), "%s", where);
    if (did && did->done < did->all)
        snprintf(at, sizeof(at), "in action %zu of %zu, %.*s; %zu done before it",
                 did->done + 1, did->all, STR_ARG(did->name), did->done);
    else if (did && did->all)
        snprintf(at, sizeof(at), "%s; %zu of %zu actions done", where, did->done,
                 did->all);
    return err_set(e, cancelled ? ERR_CANCELLED : ERR_TIMEOUT, "%s: %s; %s", what, at,
                   h->b || h->reading ? "its pages stay open as far as they answer"
                                      : "the next call starts the browser");
}

static const char looking[] = "while the page was looked at";

static int act_and_read(struct host *h, const struct json *q, struct json *out,
                        struct err *e)
{
    struct str first = json_str(q, "first", ""), actions = json_str(q, "actions", "");
    h->reader.why = (struct err)ERR_INIT;
    int rc = first.n ? webreader_act(&h->reader, first) : 0;
    if (rc == 0 && actions.n)
        rc = webreader_act(&h->reader, actions);
    if (rc < 0 && halt_over(&h->halt))
        return cut(h, looking, &h->reader.did, e);
    struct str folder = json_str(q, "offer", "");
    if (rc < 0 && folder.n && webtext_saved(h->reader.web))
        offer_file(h, webtext_saved(h->reader.web), folder, out);
    host_see_reader(h, q, out);
    return 0;
}

/*
 * Carries out actions; elements that they name get bids first. Returns 1 if an action
 * failed; -1 and sets *e.
 */
static int act(struct host *h, struct str actions, struct err *e)
{
    struct browser_seen seen;
    if (!h->told && names_element(actions)) {
        int rc = browser_see(h->b, &(struct browser_want){.tree = true}, &seen, e);
        browser_seen_release(&seen);
        if (rc < 0)
            return -1;
    }
    return browser_act(h->b, actions) < 0;
}

static int act_and_see(struct host *h, const struct json *q, struct json *out,
                       struct err *e)
{
    struct str first = json_str(q, "first", ""), actions = json_str(q, "actions", "");
    struct str folder = json_str(q, "offer", "");
    struct browse_progress *did = NULL;
    int rc = 0;
    if (ensure(h, e) < 0)
        return !halt_over(&h->halt) ? -1
               : h->b               ? cut(h, "the browser did not answer", NULL, e)
                                    : cut(h, "while it was started", NULL, e);
    if (json_bool(q, "open", false)) {
        json_put_str(out, "url",
                     h->b && h->b->active ? buf_str(&h->b->active->url) : STR(""));
        json_put_str(out, "title",
                     h->b && h->b->active ? buf_str(&h->b->active->title) : STR(""));
        json_put_z(out, "mode", h->b ? "chromium" : "text");
        return 0;
    }
    if (h->task.url.n && !h->task.begun && browser_task_begin(&h->task, h->b, e) < 0)
        return halt_over(&h->halt) ? cut(h, "while the task was begun", NULL, e) : -1;
    if (json_bool(q, "task", false)) {
        json_put_str(out, "goal", buf_str(&h->task.goal));
        json_put_str(out, "rewards", buf_str(&h->task.rewards));
        return 0;
    }
    if (json_has(q, "page")) {
        rc = host_page(h, json_get(q, "page"), out, e);
        return rc < 0 && halt_over(&h->halt)
                   ? cut(h, looking, h->b ? &h->b->did : &h->reader.did, e)
                   : rc;
    }
    if (h->reading)
        return act_and_read(h, q, out, e);
    h->b->asks = false;
    browser_dismiss_dialog(h->b);
    browser_read_documents(h->b, json_bool(json_get(q, "look"), "documents", false));
    if (json_has(q, "downloads"))
        browser_keep_downloads(h->b, json_str(q, "downloads", "").p);
    if (json_bool(json_get(q, "look"), "har", false))
        browser_har_begin(h->b);
    if (first.n) {
        rc = act(h, first, e);
        h->told = false;
    }
    if (rc == 0 && actions.n)
        rc = act(h, actions, e);
    if (rc >= 0 && (first.n || actions.n)) {
        /* A small file is complete in this answer, not in the next one. */
        int64_t end = browser_in(SAVED_MS);
        while (h->b->downloads > 0 && cdp_turn(&h->b->cdp, end) > 0)
            ;
        if (h->task.begun)
            browser_task_judge(&h->task, h->b);
        did = &h->b->did;
        if (did->done < did->all && halt_over(&h->halt))
            return cut(h, looking, did, e);
        if (rc > 0 && folder.n)
            offer(h, folder, out);
        rc = 0;
    } else if (rc == 0) { /* the previous call's were reported */
        buf_reset(&h->b->error);
        buf_reset(&h->b->said);
    }
    if (rc == 0)
        rc = host_see_browser(h, q, out, e);
    return rc < 0 && halt_over(&h->halt) ? cut(h, looking, did, e) : rc;
}

static void put_task(const struct host *h, struct json *out)
{
    struct buf kept = BUF_INIT(TASK_KEPT_MAX + 1);
    browser_task_keep(&h->task, &kept);
    if (kept.n)
        json_put_str(out, "task", buf_str(&kept));
    buf_release(&kept);
}

static void call(struct host *h, const struct json *q, struct str id)
{
    struct json *out = json_object();
    struct err e = ERR_INIT;
    int64_t within = json_int(q, "within", 0);
    memcpy(h->id, id.p, id.n);
    h->id[id.n] = 0;
    json_put_str(out, "id", id);
    h->within_ms = within;
    h->halt.end_ms = within > 0 ? h->came_ms + within : 0; /* it may have waited here */
    h->halt.cut = strcmp(h->cancel, h->id) == 0;
    h->calling = true;
    bool failed = act_and_see(h, q, out, &e) < 0;
    if (h->b)
        browser_har_drop(h->b);
    if (failed) {
        json_free(out);
        out = json_object();
        json_put_str(out, "id", id);
        json_put_z(out, "failed", e.text);
        json_put_int(out, "code", e.code);
    }
    put_task(h, out);
    h->halt.end_ms = 0;
    h->halt.cut = h->again = h->calling = false;
    h->cancel[0] = 0;
    people_turn(h, false);
    send_answer(h, out);
    if (failed && h->b && !h->halt.ended && (h->task.begun || !h->task.url.n))
        after_failure(h);
}

static void take_line(struct host *h, struct str line)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str id = json_str(j, "id", "");
    if (id.n > 0 && id.n <= LIMIT_ID)
        call(h, j, id);
    json_free(j);
}

static void work(struct host *h)
{
    while (!h->halt.ended) {
        take_news(h);
        if (h->again) {
            h->again = false;
            put_out(h, STR("\n")); /* the reader may be within a lost line */
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
    h->halt = (struct halt){.fds = {sig_open(signals, 3), STDIN_FILENO},
                            .check = on_halt};
    buf_init(&h->in, LINE_IN);
    buf_init(&h->answer, ANSWER_MAX);
    buf_init(&h->news, 4096);
    outline_init(&h->page.known);
    h->text = str_eq(json_str(o, "mode", ""), STR("text"));
    h->downloads = json_str(o, "downloads", "");
    h->cdp = json_str(o, "cdp", "");
    find_profile(h, json_str(o, "name", ""));
    browser_task_init(&h->task, json_str(o, "task", ""));
    browser_task_take(&h->task, json_str(o, "kept", ""));
    int64_t window = json_int(o, "window", WINDOW);
    h->window = window >= 4096 ? (uint64_t)window : WINDOW;
    sweep(json_str(o, "sweep", "").p);
    make_dir(h);
    host_screen_open(h);
    host_devtools_open(h);
    tell_dir(h);
    work(h);
    host_devtools_close(h);
    host_screen_close(h);
    drop_browser(h);
    if (h->reading)
        webreader_close(&h->reader);
    if (h->dir[0])
        sweep(h->dir);
    buf_release(&h->in);
    buf_release(&h->answer);
    buf_release(&h->news);
    outline_release(&h->page.known);
    browser_task_release(&h->task);
    json_free(o);
    free(h);
    return 0;
}
