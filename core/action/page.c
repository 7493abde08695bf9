/* SPDX-License-Identifier: MIT */
/*
 * Opens or observes a web page, or acts on it:
 *
 *   {"action":"page","args":{"url":"http://127.0.0.1:8000"}}
 *        its outline, in which each element that can be acted on has a ref such as e12
 *   {"action":"page","args":{"act":"click","ref":"e12"}}
 *        what the act changed on the page
 *
 * It uses the browser with the session's name, which other callers use, too. Calls to one
 * browser run one after the other, even if the session is busy. The call has the action's
 * key as its id, so that a worker that takes over gets its answer.
 */
#include "action/own.h"

#include "base/limits.h"
#include "browser/browsing.h"
#include "os/listening.h"

#include <stdio.h>
#include <stdlib.h>

enum { TIME_MS = 120000, PORTS_SHOWN = 6 };

static const char acts[] = "click hover fill select press scroll upload back forward "
                           "reload wait new_tab switch_tab close_tab";

static const struct param_list takes = {
    .about = "Opens a page in the browser of the session, observes it, or acts on it",
    .params =
        (const struct param[]){
            {.name = "url",
             .type = PARAM_STRING,
             .about = "The address, file or host to open; without it the page that is "
                      "open"},
            {.name = "view",
             .type = PARAM_STRING,
             .choices = "outline text image tabs",
             .dflt = "\"outline\"",
             .about = "What to observe: the outline with refs, the text, a picture "
                      "with the refs marked, or the list of tabs"},
            {.name = "find",
             .type = PARAM_STRING,
             .about = "A text: observe only what is around it"},
            {.name = "part",
             .type = PARAM_INT,
             .ranged = true,
             .min = 1,
             .dflt = "1",
             .about = "The part of a long page"},
            {.name = "size",
             .type = PARAM_INT,
             .ranged = true,
             .min = 1000,
             .max = 100000,
             .dflt = "16000",
             .about = "The length of a part in bytes"},
            {.name = "act",
             .type = PARAM_STRING,
             .choices = acts,
             .about = "What to do on the open page; the observation has what "
                      "it changed"},
            {.name = "ref",
             .type = PARAM_STRING,
             .about = "The element, such as e12, or its visible text"},
            {.name = "text",
             .type = PARAM_STRING,
             .about = "The text to fill, the option, the keys, up or down, the file, the "
                      "text to wait for, the address to open in a new tab, or the "
                      "number of a tab"},
            {.name = "submit",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Whether to press Enter after fill"},
            {.name = "wait",
             .type = PARAM_NUMBER,
             .ranged = true,
             .max = 100,
             .dflt = "10",
             .about = "The maximum time of wait in seconds"},
            {.name = "timeout",
             .type = PARAM_NUMBER,
             .ranged = true,
             .max = 120,
             .dflt = "120",
             .about = "The time limit of the whole action in seconds"},
            {0}},
    .example = "{\"url\":\"http://127.0.0.1:8000\"}"};

/* Members that browser/host/host_page.c makes; some are missing without a browser. */
#define OPTIONAL(member_type, member_name, sentence) \
    { \
        .name = member_name, .type = member_type, .optional = true, .about = sentence \
    }

static const struct member dialog[] = {
    {.name = "type", .type = MEMBER_STRING, .about = "alert, confirm, prompt …"},
    {.name = "text", .type = MEMBER_STRING, .about = "Its text"},
    {0}};

static const struct member page_members[] = {
    {.name = "mode",
     .type = MEMBER_STRING,
     .choices = "chromium text",
     .about = "Whether a browser opened the page, or it was read as text"},
    {.name = "url", .type = MEMBER_STRING, .about = "The address of the page"},
    {.name = "title", .type = MEMBER_STRING, .about = "Its title"},
    {.name = "status", .type = MEMBER_INT, .about = "Its HTTP status; 0: none"},
    {.name = "refs", .type = MEMBER_INT, .about = "Elements that have a ref"},
    {.name = "notes", .type = MEMBER_STRINGS, .about = "What happened meanwhile"},
    OPTIONAL(MEMBER_INT, "tabs", "How many tabs are open"),
    OPTIONAL(MEMBER_INT, "tab", "The number of the one that is shown, from 1"),
    OPTIONAL(MEMBER_INT, "opened_from",
             "The act opened the tab that is shown: the number of the previous one"),
    OPTIONAL(MEMBER_BOOL, "tab_closed", "The act closed the tab; another one is shown"),
    OPTIONAL(MEMBER_STRING, "console", "The first error in the page's console"),
    OPTIONAL(MEMBER_INT, "console_errors", "How many errors it has"),
    {.name = "dialog",
     .type = MEMBER_OBJECT,
     .optional = true,
     .members = dialog,
     .about = "A dialog that is open"},
    {.name = "view",
     .type = MEMBER_STRING,
     .optional = true,
     .choices = "outline text tabs",
     .about = "What content is"},
    OPTIONAL(MEMBER_INT, "part", "Which part of a long page content is"),
    OPTIONAL(MEMBER_INT, "parts", "How many parts there are"),
    OPTIONAL(MEMBER_INT, "places", "With find: how many places have the text"),
    OPTIONAL(MEMBER_INT, "shown", "How many places, or changes, content has"),
    OPTIONAL(MEMBER_STRING, "near", "If no place has it: the most similar element"),
    OPTIONAL(MEMBER_STRING, "picture", "The file of the picture"),
    OPTIONAL(MEMBER_STRING, "shot", "The picture, as base64"),
    OPTIONAL(MEMBER_STRING, "shot_type", "Its media type"),
    OPTIONAL(MEMBER_INT, "width", "Its width"),
    OPTIONAL(MEMBER_INT, "height", "Its height"),
    OPTIONAL(MEMBER_BOOL, "downloaded", "The address was a file, which was saved"),
    OPTIONAL(MEMBER_INT, "added", "How many elements were added"),
    OPTIONAL(MEMBER_INT, "removed", "How many elements were removed"),
    OPTIONAL(MEMBER_INT, "changed", "How many elements changed"),
    OPTIONAL(MEMBER_STRING, "scrolled", "Where the page is now"),
    OPTIONAL(MEMBER_BOOL, "moved", "There is another document"),
    OPTIONAL(MEMBER_BOOL, "went", "It has another address, or is another document"),
    {0}};

static const struct observation gives[] = {{.name = "page", .extras = page_members}, {0}};

static int check(const struct json *args, struct err *e)
{
    if (json_str(args, "url", "").n && json_str(args, "act", "").n)
        return err_set(e, ERR_INVALID, "page takes url or act, not both");
    return 0;
}

/* ---- what is asked ---- */

static void copy(struct json *to, const struct json *from, const char *name)
{
    if (json_str(from, name, "").n)
        json_put_str(to, name, json_str(from, name, ""));
}

static struct json *what_of(const struct action *a, const char *cwd)
{
    static const char *const strings[] = {"view", "find", "act", "ref", NULL};
    struct json *what = json_object(), *page = json_object();
    struct str url = json_str(a->args, "url", ""), text = json_str(a->args, "text", "");
    for (size_t i = 0; strings[i]; i++)
        copy(page, a->args, strings[i]);
    bool opens = str_eq(json_str(a->args, "act", ""), STR("new_tab")) && text.n;
    if (url.n || opens) {
        struct buf address = BUF_INIT(ACTION_BYTES_MAX + 8192);
        browsing_address(&address, str_of(cwd), opens ? text : url);
        json_put_str(page, opens ? "text" : "url", buf_str(&address));
        buf_release(&address);
    }
    if (str_eq(json_str(a->args, "act", ""), STR("upload")) && text.n &&
        text.p[0] != '/') {
        struct buf path = BUF_INIT(ACTION_BYTES_MAX + 8192);
        buf_addf(&path, "%s/%.*s", cwd, STR_ARG(text));
        json_put_str(page, "text", buf_str(&path));
        buf_release(&path);
    } else if (json_has(a->args, "text") && !opens) {
        json_put_str(page, "text", text);
    }
    json_put_int(page, "part", json_int(a->args, "part", 1));
    json_put_int(page, "size", json_int(a->args, "size", 16000));
    json_put_bool(page, "submit", json_bool(a->args, "submit", false));
    json_put_int(page, "wait_ms", (int64_t)(json_num(a->args, "wait", 10) * 1000));
    json_put(what, "page", page);
    return what;
}

/* ---- what is observed ---- */

/* "; listening here: 3000 (node), 8080 (python3)" */
static void put_listening(struct buf *out)
{
    struct listening all[LISTENING_MAX];
    size_t n = listening(all);
    for (size_t i = 0; i < n && i < PORTS_SHOWN; i++) {
        buf_addf(out, "%s%u", i ? ", " : "; listening here: ", all[i].port);
        if (all[i].comm[0])
            buf_addf(out, " (%s, pid %d)", all[i].comm, (int)all[i].pid);
    }
    if (n > PORTS_SHOWN)
        buf_addf(out, " and %zu more", n - PORTS_SHOWN);
    if (!n)
        buf_addz(out, "; nothing listens here");
}

static bool is_here(struct str host)
{
    return str_starts(host, STR("127.")) || str_starts(host, STR("localhost")) ||
           str_starts(host, STR("[::1]")) || str_starts(host, STR("0.0.0.0"));
}

/* Returns host and port of the address in an error; empty if it has no address. */
static struct str host_in(struct str why)
{
    long at = str_find(why, STR("://"));
    struct str host = str_sub(why, at < 0 ? why.n : (size_t)at + 3, why.n);
    size_t n = 0;
    while (n < host.n && n < 200 && !strchr("/ ,;", host.p[n]))
        n++;
    return n && host.p[n - 1] == ':' ? str_sub(host, 0, n - 1) : str_sub(host, 0, n);
}

/* "net::ERR_CONNECTION_REFUSED at http://127.0.0.1:8000/: WHY" in words. */
static void put_words(struct buf *out, struct str error)
{
    struct str net = STR("net::"), host = host_in(error);
    long at = str_find(error, STR(" at "));
    struct str name = str_sub(error, 0, at < 0 ? error.n : (size_t)at);
    long why = str_find(error, STR(": "));
    if (!str_starts(error, net)) {
        buf_adds(out, error);
    } else if (str_eq(name, STR("net::ERR_CONNECTION_REFUSED")) && host.n) {
        buf_addf(out, "cannot connect to %.*s: refused", STR_ARG(host));
        if (is_here(host))
            put_listening(out);
    } else if (str_eq(name, STR("net::ERR_NAME_NOT_RESOLVED")) && why < 0) {
        buf_addf(out, "there is no host %.*s: its name has no address", STR_ARG(host));
    } else if (why >= 0) {
        buf_adds(out, str_sub(error, (size_t)why + 2, error.n));
    } else {
        buf_addf(out, "cannot open%.*s: %.*s",
                 STR_ARG(str_sub(error, at < 0 ? error.n : (size_t)at + 3, error.n)),
                 STR_ARG(str_sub(name, net.n, name.n)));
    }
}

static void fail(struct action *a, const struct json *seen)
{
    struct buf text = BUF_INIT(4096);
    struct err e = ERR_INIT;
    put_words(&text, json_str(seen, "error", ""));
    err_set(&e, (enum err_code)json_int(seen, "code", ERR_INVALID), "%.500s",
            buf_z(&text));
    action_fail(a, &e);
    buf_release(&text);
}

static void on_seen(void *owner, const struct json *seen, const struct err *e)
{
    struct action *a = owner;
    struct buf extras = BUF_INIT(LIMIT_EVENT_MAX);
    a->own = NULL;
    if (!seen) {
        action_fail(a, e);
        return;
    }
    if (json_has(seen, "error")) {
        fail(a, seen);
        return;
    }
    struct json *own = json_copy(seen);
    json_drop(own, json_get(own, "text"));
    json_drop(own, json_get(own, "id"));
    if (json_print(&extras, own) == 0) {
        action_end_printed(a, json_str(seen, "text", ""), buf_str(&extras));
    } else {
        struct err late = ERR_INIT;
        err_set(&late, ERR_LIMIT, "the observation is longer than an event may be");
        action_fail(a, &late);
    }
    json_free(own);
    buf_release(&extras);
}

static void on_waits(void *owner, const char *driver) { action_waits(owner, driver); }

static int64_t time_of(const struct action *a)
{
    int64_t ms = (int64_t)(json_num(a->args, "timeout", 0) * 1000);
    return ms > 0 && ms < TIME_MS ? ms : TIME_MS;
}

static void start(struct action *a)
{
    struct engine *en = a->all->en;
    struct sandbox_place place;
    struct buf folder = BUF_INIT(8192);
    struct err e = ERR_INIT;
    struct browsing_call *call = NULL;
    if (action_place(a, &place, &e) == 0) {
        buf_addf(&folder, "%s/.downloads", place.cwd);
        struct browsing_opts o = {.downloads = buf_str(&folder),
                                  .cwd = str_of(place.cwd),
                                  .user = sandbox_user(en->sandbox)};
        struct json *what = what_of(a, place.cwd);
        struct browsing_ask q = {
            .id = a->key, .what = what, .timeout_ms = time_of(a), .waits = on_waits};
        struct browsing *b = browsing_open(en, str_of(a->session), &o, &e);
        call = b ? browsing_ask(b, &q, on_seen, a, &e) : NULL;
        json_free(what);
    }
    if (call)
        a->own = call;
    else
        action_fail(a, &e);
    buf_release(&folder);
}

static bool cancel(struct action *a)
{
    struct browsing_call *call = a->own;
    if (call && browsing_runs(call)) {
        browsing_cancel(call);
        return true;
    }
    if (call)
        browsing_drop(call);
    a->own = NULL;
    return false;
}

const struct action_kind action_page = {.name = "page",
                                        .takes = &takes,
                                        .gives = gives,
                                        .check = check,
                                        .start = start,
                                        .cancel = cancel};
