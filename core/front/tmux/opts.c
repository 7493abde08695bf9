/* SPDX-License-Identifier: MIT */
#include "front/tmux/opts.h"

#include "base/log.h"
#include "front/tmux/lang/parse.h"

#include <string.h>

enum { PACKED_MAX = 8 << 20 };

const char *opts_text(const struct tmux_options *o, const char *name)
{
    struct str s = tmux_options_get(o, str_of(name));
    return s.p ? s.p : "";
}

int64_t opts_number(const struct tmux_options *o, const char *name)
{
    return tmux_options_number(o, str_of(name), 0);
}

const char *opts_item(const struct tmux_options *o, const char *name, size_t i)
{
    struct str value;
    return tmux_options_item(o, str_of(name), i, NULL, &value) ? value.p : NULL;
}

int opts_set(struct tmux_options *o, const char *name, const char *value, struct buf *why)
{
    struct tmux_option_name found;
    if (tmux_option_find(&found, str_of(name), why) < 0)
        return -1;
    return tmux_options_set(o, &found, str_of(value), (struct tmux_option_set){0}, why);
}

struct json *opts_pack(const struct tmux_options *o, enum tmux_option_scope scope)
{
    struct buf b = BUF_INIT(PACKED_MAX);
    struct json *j = json_object();
    tmux_options_show(o, scope, (struct tmux_option_show){.hooks = true}, &b);
    json_put_str(j, "lines", buf_str(&b));
    buf_release(&b);
    return j;
}

/* Each line is NAME VALUE, as tmux's language reads it again. */
void opts_unpack(struct tmux_options *o, const struct json *j)
{
    struct str rest = json_str(j, "lines", "");
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        struct tmux_commands all = {0};
        struct buf why = BUF_INIT(PARSE_ERROR_MAX);
        struct tmux_option_name name;
        if (tmux_parse(&all, line, NULL, 1, &(struct tmux_parse_ops){0}, NULL, &why) < 0)
            log_debug("tmux: an option is unreadable: %s", buf_z(&why));
        if (all.n > 0 && all.command[0].argc > 1 &&
            tmux_option_find(&name, str_of(all.command[0].argv[0]), &why) == 0)
            tmux_options_set(o, &name, str_of(all.command[0].argv[1]),
                             (struct tmux_option_set){0}, &why);
        tmux_commands_release(&all);
        buf_release(&why);
    }
}
