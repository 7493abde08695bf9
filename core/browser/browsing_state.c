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
#include "engine/state.h"
#include "net/denied.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PROFILES_MAX = 3000 };

static const struct state_field kept[] = {
    STATE_ROW(struct browsing, opts),
    STATE_ROW_AS("process", struct browsing, host.process_name),
    STATE_ROW_AS("at", struct browsing, host.reader.begin),
    STATE_ROW_AS("step", struct browsing, host.step),
    STATE_ROW(struct browsing, dir),
    STATE_ROW(struct browsing, url),
    STATE_ROW(struct browsing, title),
    STATE_ROW(struct browsing, mode),
    STATE_ROW_AS("used", struct browsing, used_ms),
    {.name = NULL},
};

static const struct state_field kept_call[] = {
    STATE_ROW(struct companion_call, id),
    STATE_ROW(struct companion_call, in),
    STATE_ROW(struct companion_call, len),
    STATE_ROW_AS("begun", struct companion_call, begun_ms),
    STATE_ROW_AS("timeout", struct companion_call, timeout_ms),
    {.name = NULL},
};

void browsing_save_and_ask(struct browsing *b, struct str ask)
{
    struct json *j = state_json(kept, b), *done = json_array();
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    const struct companion_call *call = companion_first(&b->host);
    const char *driver = screen_driver(b->host.en, str_of(b->host.name));
    for (int i = 0; i < BROWSING_DONE; i++) {
        if (b->done[i][0])
            json_push_str(done, str_of(b->done[i]));
    }
    json_put(j, "done", done);
    json_put_z(j, "driver", driver ? driver : "");
    if (call && call->step == CALL_RUNNING)
        json_put(j, "call", state_json(kept_call, call));
    b->answered = false;
    bool fits = json_print(&state, j) == 0;
    companion_store(&b->host, fits ? buf_str(&state) : STR(""), ask);
    buf_release(&state);
    json_free(j);
}

/* ---- another worker ---- */

/* Resumes the running call: its answer is in the output or still to come, or it never
 * began. */
static void resume_call(struct browsing *b, struct json *j)
{
    struct companion_call was = {.id = ""};
    state_read(kept_call, &was, j);
    if (!companion_reached(&b->host, was.in, was.len))
        return;
    struct companion_call *call = &browsing_call_make(b, was.id)->call;
    call->step = CALL_RUNNING;
    state_read(kept_call, call, j);
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
    state_read(kept, b, j);
    for (const struct json *d = json_first(json_get(j, "done")); d; d = json_next(d)) {
        char id[LIMIT_ID + 1];
        snprintf(id, sizeof(id), "%.*s", STR_ARG(json_str_value(d, "")));
        browsing_remember(b, id);
    }
    companion_resume(&b->host);
    if (json_str(j, "driver", "").n > 0)
        screen_resume(en, name, json_str(j, "driver", ""));
    browsing_idle(b, b->used_ms + LIMIT_BROWSER_IDLE_MS - clock_wall_ms());
    if (companion_state(&b->host) != COMPANION_NONE) {
        if (json_has(j, "call"))
            resume_call(b, json_get(j, "call"));
        if (!list_empty(&b->host.calls))
            timer_stop(&b->idle);
        companion_follow(&b->host, b->host.reader.begin);
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

static void add_format(struct buf *out) { buf_addz(out, "browser 2"); }

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
