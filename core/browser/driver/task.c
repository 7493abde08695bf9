/* SPDX-License-Identifier: MIT */
/*
 * The script interface of a task's page, in miniwob/html/core/core.js of
 * miniwob-plusplus: core.startEpisodeReal makes a problem from Math.random and starts a
 * timer of core.EPISODE_MAX_TIME; core.endEpisode sets WOB_RAW_REWARD_GLOBAL and
 * WOB_DONE_GLOBAL; core.getUtterance returns the text in #query.
 */
#include "browser/driver/task.h"

#include "base/clock.h"
#include "browser/driver/js.h"

#include <stdio.h>
#include <string.h>

enum {
    GOAL_MAX = 1 << 20,
    READY_MS = 5000, /* for a page to have its problem ready */
    JUDGE_MS = 500,
    SEEDS = 1000001
};

void browser_task_init(struct browser_task *t, struct str url)
{
    *t = (struct browser_task){.url = url};
    buf_init(&t->place, GOAL_MAX);
    buf_init(&t->goal, GOAL_MAX);
    buf_init(&t->rewards, GOAL_MAX);
}

/* Appends the rewards, a newline, and the text of the task. */
void browser_task_keep(const struct browser_task *t, struct buf *out)
{
    if (t->begun && t->rewards.n + t->goal.n < TASK_KEPT_MAX)
        buf_addf(out, "%.*s\n%.*s", STR_ARG(buf_str(&t->rewards)),
                 STR_ARG(buf_str(&t->goal)));
}

void browser_task_take(struct browser_task *t, struct str kept)
{
    long line = str_chr(kept, '\n');
    if (line < 0)
        return;
    buf_add(&t->rewards, kept.p, (size_t)line);
    buf_adds(&t->goal, str_sub(kept, (size_t)line + 1, kept.n));
    t->begun = true;
}

void browser_task_release(struct browser_task *t)
{
    buf_release(&t->place);
    buf_release(&t->goal);
    buf_release(&t->rewards);
}

static int fail(struct browser_task *t, struct str why, struct err *e)
{
    struct str class = STR("Error: ");
    why = str_sub(why, str_starts(why, class) ? class.n : 0, why.n);
    long line = str_chr(why, '\n');
    why = str_sub(why, 0, line >= 0 ? (size_t)line : why.n);
    return err_set(e, ERR_INVALID,
                   "cannot begin the task at %.*s: %.*s; it must be a page of MiniWoB++ "
                   "that the sandbox can open: see MINIWOB_URL",
                   (int)(t->url.n > 300 ? 300 : t->url.n), t->url.p,
                   (int)(why.n > 300 ? 300 : why.n), why.p);
}

static int open_page(struct browser_task *t, struct browser *b, struct err *e)
{
    struct buf text = BUF_INIT(2 * GOAL_MAX);
    buf_addz(&text, "goto(");
    int r = json_quote(&text, t->url) < 0 || buf_addz(&text, ")") < 0 ? -1 : 0;
    if (r == 0)
        r = browser_act(b, buf_str(&text));
    buf_release(&text);
    return r < 0 ? fail(t, buf_str(&b->error), e) : 0;
}

int browser_task_begin(struct browser_task *t, struct browser *b, struct err *e)
{
    struct buf text = BUF_INIT(strlen(task_begin_js) + 65);
    struct err why = ERR_INIT;
    uint32_t seed = 0;
    if (open_page(t, b, e) < 0)
        return -1;
    random_bytes(&seed, sizeof(seed));
    buf_addf(&text, "(%s)(%u,%d)", task_begin_js, seed % SEEDS, READY_MS);
    struct json *j = browser_run(b, buf_z(&text), &why);
    const struct json *result = json_get(j, "result");
    const struct json *place = json_first(json_get(json_get(result, "result"), "value"));
    int r = 0;
    if (place && json_next(place) && b->active) {
        buf_adds(&t->place, json_str_value(place, ""));
        buf_adds(&t->goal, json_str_value(json_next(place), ""));
        memcpy(t->tab, b->active->id, sizeof(t->tab));
        t->begun = true;
    } else {
        struct str said = json_str(json_get(json_get(result, "exceptionDetails"),
                                            "exception"),
                                   "description", "");
        r = fail(t, !j ? str_of(why.text) : said.n ? said : STR("its tab was closed"), e);
    }
    json_free(j);
    buf_release(&text);
    return r;
}

void browser_task_judge(struct browser_task *t, struct browser *b)
{
    struct buf text = BUF_INIT(2 * GOAL_MAX);
    struct err e = ERR_INIT;
    struct json *j = NULL;
    buf_addf(&text, "(%s)(", task_judge_js);
    if (b->active && strcmp(b->active->id, t->tab) == 0 &&
        json_quote(&text, buf_str(&t->place)) == 0 &&
        buf_addf(&text, ",%d)", JUDGE_MS) == 0)
        j = browser_run(b, buf_z(&text), &e);
    bool solved = json_int(json_get(json_get(j, "result"), "result"), "value", 0) == 1;
    buf_addc(&t->rewards, solved ? '1' : '0');
    json_free(j);
    buf_release(&text);
}
