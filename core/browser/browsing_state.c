/* SPDX-License-Identifier: MIT */
/*
 * The state of a browser at the keeper, from which the next worker resumes it: its
 * process, how much of its output was read, the running call with its start, and the
 * answered calls.
 */
#include "browser/browsing_own.h"
#include "browser/screen_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/part.h"
#include "net/denied.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROFILES_MAX = 3000 };

static void put_text(struct json *j, const char *name, const char *text)
{
    json_put_z(j, name, text ? text : "");
}

void browsing_save_and_ask(struct browsing *b, struct str ask)
{
    struct json *j = json_object(), *opts = json_object(), *done = json_array();
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    const struct companion_call *call = companion_first(&b->host);
    for (size_t i = 0; browsing_kept[i]; i++)
        json_put_str(opts, browsing_kept[i], json_str(b->opts, browsing_kept[i], ""));
    json_put(j, "opts", opts);
    json_put_z(j, "process", b->host.process_name);
    json_put_int(j, "at", (int64_t)b->host.reader.begin);
    json_put_int(j, "step", (int64_t)b->host.step);
    json_put_z(j, "dir", b->dir);
    for (int i = 0; i < BROWSING_DONE; i++) {
        if (b->done[i][0])
            json_push_str(done, str_of(b->done[i]));
    }
    json_put(j, "done", done);
    put_text(j, "url", b->url);
    put_text(j, "title", b->title);
    put_text(j, "mode", b->mode);
    json_put_int(j, "used", b->used_ms);
    put_text(j, "driver", screen_driver(b->host.en, str_of(b->host.name)));
    if (call && call->step == CALL_RUNNING) {
        json_put_z(j, "id", call->id);
        json_put_int(j, "begun", call->begun_ms);
        json_put_int(j, "timeout", call->timeout_ms);
        json_put_int(j, "in", (int64_t)call->in);
        json_put_int(j, "len", (int64_t)call->len);
    }
    b->answered = false;
    bool fits = json_print(&state, j) == 0;
    companion_store(&b->host, fits ? buf_str(&state) : STR(""), ask);
    buf_release(&state);
    json_free(j);
}

/* ---- another worker ---- */

/* Resumes the running call: its answer is in the output or still to come, or it never
 * began. */
static void resume_call(struct browsing *b, const struct json *j)
{
    if (!companion_reached(&b->host, (uint64_t)json_int(j, "in", 0),
                           (uint64_t)json_int(j, "len", 0)))
        return;
    struct companion_call *call = &browsing_call_make(b, json_str(j, "id", "").p)->call;
    call->step = CALL_RUNNING;
    call->in = (uint64_t)json_int(j, "in", 0);
    call->len = (uint64_t)json_int(j, "len", 0);
    call->begun_ms = json_int(j, "begun", 0);
    call->timeout_ms = json_int(j, "timeout", BROWSING_TIME_MS);
    browsing_limit(container_of(call, struct browsing_call, call),
                   call->begun_ms + call->timeout_ms - clock_wall_ms());
}

void browsing_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse_kept(state, &e);
    if (!j) {
        log_error("browser %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
    ASSERT(!browsing_lookup(en, name)); /* once for each name */
    struct browsing *b = browsing_make(en, name);
    const struct json *opts = json_get(j, "opts");
    for (size_t i = 0; browsing_kept[i]; i++)
        json_put_str(b->opts, browsing_kept[i], json_str(opts, browsing_kept[i], ""));
    snprintf(b->dir, sizeof(b->dir), "%.*s", STR_ARG(json_str(j, "dir", "")));
    for (const struct json *d = json_first(json_get(j, "done")); d; d = json_next(d)) {
        char id[LIMIT_ID + 1];
        snprintf(id, sizeof(id), "%.*s", STR_ARG(json_str_value(d, "")));
        browsing_remember(b, id);
    }
    browsing_set_place(&b->url, json_str(j, "url", ""));
    browsing_set_place(&b->title, json_str(j, "title", ""));
    browsing_set_place(&b->mode, json_str(j, "mode", ""));
    b->used_ms = json_int(j, "used", b->used_ms);
    companion_resume(&b->host, json_str(j, "process", ""),
                     (uint64_t)json_int(j, "step", 0));
    if (json_str(j, "driver", "").n > 0)
        screen_resume(en, name, json_str(j, "driver", ""));
    browsing_idle(b, b->used_ms + LIMIT_BROWSER_IDLE_MS - clock_wall_ms());
    if (companion_state(&b->host) != COMPANION_NONE) {
        if (json_has(j, "id"))
            resume_call(b, j);
        if (!list_empty(&b->host.calls))
            timer_stop(&b->idle);
        companion_follow(&b->host, (uint64_t)json_int(j, "at", 0));
    }
    json_free(j);
}

void browsing_resumed(struct engine *en)
{
    struct str key, other;
    void *value, *browser;
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));) {
        bool ours = !str_starts(key, str_of(browsing_kind.stem)) || process_ended(value);
        for (void *k = NULL; (k = map_next(&en->browsers, k, &other, &browser));)
            ours |= ((struct browsing *)browser)->host.process == value;
        if (!ours)
            companion_end_process(en, value, browsing_kind.end_ms);
    }
}

static void add_format(struct buf *out) { buf_addz(out, "browser 1"); }

/* ---- options ---- */

static int check_deny(struct str value, struct err *e)
{
    struct denied list = {.n = 0};
    return denied_parse(&list, value, e);
}

/* A session's name follows it. */
static int check_profiles(struct str value, struct err *e)
{
    if (value.n > PROFILES_MAX)
        return err_set(e, ERR_LIMIT,
                       "a folder for profiles has a path of at most %d bytes",
                       PROFILES_MAX);
    if (value.n == 0 || value.p[0] == '/')
        return 0;
    return err_set(e, ERR_INVALID,
                   "a folder for profiles is an absolute path, and %.*s is not",
                   (int)(value.n > 200 ? 200 : value.n), value.p);
}

static const struct option_row rows[] = {
    {.name = "browse-deny",
     .type = OPTION_TEXT,
     .value = "LIST",
     .env = "OD_BROWSE_DENY",
     .check = check_deny,
     .about =
         "addresses that browsers do not connect to, by whatever name: "
         "networks with commas between them, and \"local\" for everything that is not "
         "public (od help browse)"},
    {.name = "browse-args",
     .type = OPTION_TEXT,
     .value = "OPTIONS",
     .env = "OD_BROWSE_ARGS",
     .about = "more options for each Chromium that is started, with blanks between them, "
              "as --browse-args=\"--lang=de --mute-audio\"; those of its profile and of "
              "DevTools are refused"},
    {.name = "browse-profiles",
     .type = OPTION_TEXT,
     .value = "DIR",
     .env = "OD_BROWSE_PROFILES",
     .check = check_profiles,
     .about =
         "keeps the profile of each browser session (cookies, logins, storage, cache) in "
         "DIR/NAME, for the next browser of that name; without it, a profile goes with "
         "its browser"},
    {.name = NULL},
};

/* Browsers read these from their environment. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    static const char *const names[][2] = {{"browse-deny", "OD_BROWSE_DENY"},
                                           {"browse-args", "OD_BROWSE_ARGS"},
                                           {"browse-profiles", "OD_BROWSE_PROFILES"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = option_text(given, names[i][0]);
        if (value && setenv(names[i][1], value, 1) < 0)
            return err_sys(e, errno, "cannot set %s", names[i][1]);
    }
    json_free(*own);
    *own = NULL;
    return 0;
}

static const struct option_table options_browser = {
    .heading = "Browsers", .section = "browsers", .rows = rows, .prepare = prepare};

const struct part part_browser = {
    .options = &options_browser,
    .key = "browser/",
    .format = add_format,
    .resume = browsing_resume,
    .resumed = browsing_resumed,
    .cancel = browsing_cancel_all,
};
