/* SPDX-License-Identifier: MIT */
/*
 * What the keeper has of a browser, and how another worker takes it up: which process
 * is beside it, how far that was read, which call runs and since when, and which were
 * answered.
 */
#include "browser/browsing_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "engine/part.h"
#include "net/denied.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void put_text(struct json *j, const char *name, const char *text)
{
    json_put_z(j, name, text ? text : "");
}

void browsing_save(struct browsing *b)
{
    if (browsing_lookup(b->en, str_of(b->name)) != b)
        return; /* it was closed */
    struct json *j = json_object(), *opts = json_object(), *done = json_array();
    struct buf line = BUF_INIT(LIMIT_BLOB_MAX), key = BUF_INIT(128);
    const struct browsing_call *c = browsing_first(b);
    for (size_t i = 0; browsing_kept[i]; i++)
        json_put_str(opts, browsing_kept[i], json_str(b->opts, browsing_kept[i], ""));
    json_put(j, "opts", opts);
    json_put_z(j, "process", b->process ? process_name(b->process) : "");
    json_put_int(j, "at", (int64_t)(b->at - b->line.n));
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
    if (c && c->step == RUNNING) {
        json_put_z(j, "id", c->id);
        json_put_int(j, "begun", c->begun_ms);
        json_put_int(j, "timeout", c->timeout_ms);
        json_put_int(j, "in", (int64_t)c->in);
        json_put_int(j, "len", (int64_t)c->len);
    }
    buf_addf(&key, "browser/%s", b->name);
    if (json_print(&line, j) == 0)
        hold_put(b->en->hold, buf_str(&key), buf_str(&line));
    buf_release(&line);
    buf_release(&key);
    json_free(j);
}

void browsing_forget(struct browsing *b)
{
    struct buf key = BUF_INIT(128);
    buf_addf(&key, "browser/%s", b->name);
    hold_put(b->en->hold, buf_str(&key), STR(""));
    buf_release(&key);
}

/* ---- another worker ---- */

/* The call that ran: its answer is in the output, or comes, or it never began. */
static void resume_call(struct browsing *b, const struct json *j)
{
    uint64_t in = (uint64_t)json_int(j, "in", 0), len = (uint64_t)json_int(j, "len", 0);
    uint64_t sent;
    process_stdin_room(b->process, &sent);
    if (sent < in + len) {
        if (sent > in)
            browsing_send(b, STR("\n"));
        return;
    }
    struct browsing_call *c = browsing_call_make(b, json_str(j, "id", ""));
    c->step = RUNNING;
    c->begun_ms = json_int(j, "begun", 0);
    c->timeout_ms = json_int(j, "timeout", BROWSING_TIME_MS);
    browsing_limit(c, c->begun_ms + c->timeout_ms - clock_wall_ms());
}

void browsing_resume(struct engine *en, struct str name, struct str state)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse_kept(state, &e);
    if (!j) {
        log_error("browser %.*s: its state is unreadable: %s", STR_ARG(name), e.text);
        return;
    }
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
    b->process = process_find(en, json_str(j, "process", ""));
    browsing_idle(b, b->used_ms + LIMIT_BROWSER_IDLE_MS - clock_wall_ms());
    if (b->process && json_has(j, "id"))
        resume_call(b, j);
    if (!list_empty(&b->calls))
        timer_stop(&b->idle);
    if (b->process)
        browsing_follow(b, (uint64_t)json_int(j, "at", 0));
    json_free(j);
}

void browsing_resumed(struct engine *en)
{
    struct str key, other;
    void *value, *browser;
    for (void *it = NULL; (it = map_next(&en->processes, it, &key, &value));) {
        bool ours = !str_starts(key, str_of(browsing_stem)) || process_ended(value);
        for (void *k = NULL; (k = map_next(&en->browsers, k, &other, &browser));)
            ours |= ((struct browsing *)browser)->process == value;
        if (!ours)
            browsing_end_process(en, value);
    }
}

static void add_format(struct buf *out) { buf_addz(out, "browser 1"); }

/* ---- options ---- */

static int check_deny(struct str value, struct err *e)
{
    struct denied list = {.n = 0};
    return denied_parse(&list, value, e);
}

static const struct option_row rows[] = {
    {.name = "browse-deny",
     .type = OPTION_TEXT,
     .value = "LIST",
     .env = "OD_BROWSE_DENY",
     .check = check_deny,
     .about = "addresses that browsers do not connect to, whatever name leads there: "
              "networks with commas between them, and \"local\" for all that is not "
              "public (od help browse)"},
    {.name = NULL},
};

/* Browsers have it in their environment. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *list = option_text(given, "browse-deny");
    if (list && setenv("OD_BROWSE_DENY", list, 1) < 0)
        return err_sys(e, errno, "cannot set OD_BROWSE_DENY");
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
