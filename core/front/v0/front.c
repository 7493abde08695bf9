/* SPDX-License-Identifier: MIT */
/* V0 as a front-end of od serve (front/front.h). */
#include "front/front.h"

#include "front/v0/v0.h"

#include <stdlib.h>

/* ---- options ---- */

static const struct option_row rows[] = {
    {.name = "enable-browser",
     .type = OPTION_TOGGLE,
     .member = "browser",
     .dflt = "yes",
     .about = "serve V0's browse and browse_interactive"},
    {.name = "browsergym-eval-env",
     .type = OPTION_TEXT,
     .value = "NAME",
     .member = "eval",
     .about =
         "run an evaluation: miniwob.TASK is begun and judged in the browser, its page "
         "in the folder MINIWOB_URL; for webarena and visualwebarena, only the browser"},
    {.name = "no-change-timeout",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "NO_CHANGE_TIMEOUT_SECONDS",
     .member = "no_change_ms",
     .dflt = "10",
     .about =
         "answer OpenHands' client when a command has printed nothing for this long"},
    {.name = NULL},
};

static int put_eval(struct json *own, const char *name, struct err *e)
{
    if (!json_bool(own, "browser", true))
        return err_set(e, ERR_INVALID,
                       "--browsergym-eval-env %.200s needs the browser: leave out "
                       "--no-enable-browser",
                       name);
    struct json *eval = v0_eval_read(str_of(name), getenv("MINIWOB_URL"), e);
    if (!eval)
        return -1;
    json_put(own, "eval", eval);
    return 0;
}

/* Adds downloads: whether there is a folder for the browser's downloads. */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    const char *eval = option_text(given, "browsergym-eval-env");
    json_put_bool(*own, "downloads", option_text(given, "working-dir") != NULL);
    return eval ? put_eval(*own, eval, e) : 0;
}

static const struct option_table options_v0 = {.heading = "OpenHands' runtime API",
                                               .section = "v0",
                                               .rows = rows,
                                               .prepare = prepare};

/* ---- as a front-end ---- */

static void *open_v0(struct fronts *all, const struct json *options)
{
    return v0_open(fronts_engine(all), json_get(options, "v0"));
}

static const struct http_front *http(const void *f, unsigned i)
{
    return i == 0 ? v0_front(f) : NULL;
}

static void load(void *f) { v0_load(f); }
static void start(void *f) { v0_start(f); }

static const char *const claims[] = {"v0/", NULL};

const struct front front_v0 = {
    .name = "v0",
    .also = "openhands-v0",
    .options = &options_v0,
    .claims = claims,
    .format = v0_format,
    .open = open_v0,
    .http = http,
    .native = true,
    .load = load,
    .start = start,
};
