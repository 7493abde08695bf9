/* SPDX-License-Identifier: MIT */
/* V0 as a front-end of od serve (front/front.h). */
#include "front/front.h"

#include "front/v0/v0.h"

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
    .claims = claims,
    .format = v0_format,
    .open = open_v0,
    .http = http,
    .native = true,
    .load = load,
    .start = start,
};
