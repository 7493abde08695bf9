/* SPDX-License-Identifier: MIT */
/*
 * Evaluations as in OpenHands: --browsergym-eval-env names a task of BrowserGym, and two
 * texts in place of browser_actions ask for the task's text and for the rewards so far;
 * their answers contain only these.
 *
 * MiniWoB's tasks are pages that judge themselves, so the browser's process begins and
 * judges them (browser/driver/task.h), and keeps the rewards, also when a new worker
 * takes over. Those of WebArena are judged by Python code of their own package, which
 * nothing here replaces.
 */
#include "front/v0/own.h"

#include <string.h>

static const char prefix[] = "browsergym/";

/* ---- the option ---- */

/* Is s a task's name that can be part of an address? */
static bool is_task(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
            !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return s.n > 0;
}

static struct json *page_of(struct str task, const char *base, struct err *e)
{
    struct json *j = json_object();
    struct buf page = BUF_INIT(4000);
    if (!base || !strstr(base, "://")) {
        err_set(e, ERR_INVALID,
                "--browsergym-eval-env miniwob.%.*s: MINIWOB_URL %s%.200s: set it to the "
                "folder of MiniWoB++'s pages, like "
                "file:///opt/miniwob-plusplus/miniwob/html/miniwob/",
                STR_ARG(task), base ? "is not an address: " : "is not set",
                base ? base : "");
    } else if (buf_addf(&page, "%s%s%.*s.html", base,
                        base[strlen(base) - 1] == '/' ? "" : "/", STR_ARG(task)) < 0) {
        err_set(e, ERR_LIMIT, "MINIWOB_URL is longer than %d bytes", 4000);
    } else {
        json_put_z(j, "family", "miniwob");
        json_put_str(j, "page", buf_str(&page));
        buf_release(&page);
        return j;
    }
    buf_release(&page);
    json_free(j);
    return NULL;
}

struct json *v0_eval_read(struct str name, const char *base, struct err *e)
{
    static const char *const families[] = {"miniwob", "webarena", "visualwebarena"};
    struct str rest = name, before = str_of(prefix);
    if (str_starts(rest, before))
        rest = str_sub(rest, before.n, rest.n);
    long dot = str_chr(rest, '.');
    struct str family = str_sub(rest, 0, dot < 0 ? rest.n : (size_t)dot);
    struct str task = dot < 0 ? STR("") : str_sub(rest, (size_t)dot + 1, rest.n);
    size_t i = 0;
    while (i < 3 && !str_eq(family, str_of(families[i])))
        i++;
    if (i == 3 || !is_task(task)) {
        bool whole = str_starts(name, before);
        err_set(
            e, ERR_INVALID,
            "Unsupported browsergym eval env: %s%.*s: it is FAMILY.TASK, and FAMILY one "
            "of miniwob, webarena and visualwebarena",
            whole ? "" : prefix, (int)(name.n > 200 ? 200 : name.n), name.p);
        return NULL;
    }
    if (i == 0)
        return page_of(task, base, e);
    struct json *j = json_object();
    json_put_z(j, "family", families[i]);
    json_put_z(j, "page", "");
    return j;
}

/* ---- goal and rewards ---- */

static bool asks(const struct v0_call *a, const char *what)
{
    return str_eq(str_trim(json_str(a->a.args, "browser_actions", "")), str_of(what));
}

static bool asks_rewards(const struct v0_call *a) { return asks(a, "GET_EVAL_REWARDS"); }

static void refuse(struct v0_call *a, const char *what)
{
    struct buf text = BUF_INIT(1024);
    if (!a->v->family[0])
        buf_addf(&text,
                 "There is no evaluation, so no %s: start od serve with "
                 "--browsergym-eval-env miniwob.TASK",
                 what);
    else
        buf_addf(
            &text,
            "The %s of a task of %s is not available here: its tasks are begun and "
            "judged by Python code of the package browsergym-%s. Take it from there; "
            "the browser here does the steps.",
            what, a->v->family, a->v->family);
    v0_answer_error(a, buf_str(&text));
    buf_release(&text);
}

static const char no_task[] =
    "The browser of this session has no task: od browse opened it first. Close it "
    "there (od browse --session NAME --close), and ask again.";

static void on_done(void *owner, const struct json *seen, const struct err *e)
{
    struct v0_call *a = owner;
    a->browse = NULL;
    if (!seen) {
        v0_answer_error(a, str_of(e->text));
        return;
    }
    if (json_str(seen, "goal", "").n == 0) {
        v0_answer_error(a, str_of(no_task));
        return;
    }
    struct buf list = BUF_INIT(ANSWER_MAX), out = BUF_INIT(ANSWER_MAX);
    struct str each = json_str(seen, "rewards", "");
    buf_addc(&list, '[');
    for (size_t i = 0; i < each.n; i++)
        buf_addf(&list, "%s%c.0", i ? ", " : "", each.p[i]);
    buf_addc(&list, ']');
    struct v0_page p = {.trigger = a->a.name,
                        .body = asks_rewards(a) ? buf_str(&list)
                                                : json_str(seen, "goal", ""),
                        .bare = true,
                        .active = -1};
    if (v0_put_page(&out, &p) == 0)
        v0_answer(a, 200, &out);
    else
        v0_answer_internal(a, "the task's text is longer than an answer can be");
    buf_release(&list);
    buf_release(&out);
}

bool v0_eval(struct v0_call *a)
{
    struct err e = ERR_INIT;
    if (!asks_rewards(a) && !asks(a, "GET_EVAL_GOAL"))
        return false;
    if (!a->v->task[0]) {
        refuse(a, asks_rewards(a) ? "list of rewards" : "goal");
        return true;
    }
    struct json *what = json_object();
    json_put_bool(what, "task", true);
    if (v0_browse_ask(a, what, on_done, &e) < 0)
        v0_answer_error(a, str_of(e.text));
    json_free(what);
    return true;
}
