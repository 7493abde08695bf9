/* SPDX-License-Identifier: MIT */
/* The front-end tmux (front/front.h): life and options. The rest of the room does not see
 * the options of od serve. */
#include "front/front.h"

#include "front/fronts.h"
#include "front/tmux/life.h"

static const struct option_row rows[] = {
    {.name = "tmux",
     .type = OPTION_SWITCH,
     .about = "as od tmux starts a server: end with the last session of tmux"},
    {0}};

static const struct option_table options = {
    .heading = "tmux", .section = "tmux", .rows = rows};

static void *open_tmux(struct fronts *all, const struct json *stored)
{
    return tmux_new(fronts_engine(all),
                    json_bool(json_get(stored, "tmux"), "tmux", false));
}

static void load(void *f) { tmux_load(f); }
static void start(void *f) { tmux_start(f); }
static void close_tmux(void *f, bool another) { tmux_close(f, another); }
static void add_format(struct buf *out) { buf_addz(out, "tmux 1"); }
static struct json *status(const void *f) { return tmux_status(f); }

static const char *const claims[] = {"tmux/", NULL};

const struct front front_tmux = {
    .name = "tmux",
    .options = &options,
    .claims = claims,
    .format = add_format,
    .open = open_tmux,
    .native = true,
    .load = load,
    .start = start,
    .close = close_tmux,
    .status = status,
};
