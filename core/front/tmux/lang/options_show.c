/* SPDX-License-Identifier: MIT */
/* What show-options prints, and options in formats: see options.h. */
#include "front/tmux/lang/options_own.h"

#include "front/tmux/lang/parse.h"

/* Texts of users are quoted; numbers, colours and commands need no quotes. */
static bool is_quoted(const struct tmux_option *option, struct tmux_option_show how)
{
    return !option || option->type == OPTION_STRING ||
           (option->type == OPTION_COMMAND && how.quoted);
}

/* One line: of a value, or of the item of an index. */
static void print_line(const struct tmux_option *option, struct str name, long index,
                       struct str text, bool parent, struct tmux_option_show how,
                       struct buf *out)
{
    if (!how.values) {
        buf_adds(out, name);
        if (index >= 0)
            buf_addf(out, "[%ld]", index);
        buf_addz(out, parent ? "* " : " ");
    }
    if (!how.values && is_quoted(option, how))
        tmux_quote(out, text);
    else
        buf_adds(out, text);
    buf_addc(out, '\n');
}

static void print_value(const struct option_value *v, bool parent,
                        struct tmux_option_show how, struct buf *out)
{
    struct str name = str_of(v->option ? v->option->name : v->name);
    if (!v->option || !v->option->array) {
        print_line(v->option, name, -1, str_of(v->text), parent, how, out);
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        print_line(v->option, name, v->items[i].index, str_of(v->items[i].text), parent,
                   how, out);
}

/* An array without items is its name alone. */
static void print_empty(struct str name, bool parent, struct tmux_option_show how,
                        struct buf *out)
{
    if (how.values)
        return;
    buf_adds(out, name);
    buf_addz(out, parent ? "*\n" : "\n");
}

void tmux_options_show(const struct tmux_options *o, enum tmux_option_scope scope,
                       struct tmux_option_show how, struct buf *out)
{
    const struct tmux_option *row;
    for (struct list *at = o->values.next; at != &o->values && !how.only_hooks;
         at = at->next) {
        const struct option_value *v = list_entry(at, struct option_value, node);
        if (!v->option)
            print_value(v, false, how, out);
    }
    for (size_t i = 0; (row = tmux_option_row(i)); i++) {
        struct str name = str_of(row->name);
        bool wanted = row->hook ? how.hooks || how.only_hooks : !how.only_hooks;
        if (!(row->scope & scope) || !wanted)
            continue;
        const struct option_value *v = option_own(o, row, name);
        bool parent = !v;
        if (!v && how.inherited)
            v = option_any(o, row, name);
        if (v && row->array && !v->n)
            print_empty(name, parent, how, out);
        else if (v)
            print_value(v, parent, how, out);
    }
}

bool tmux_options_show_one(const struct tmux_options *o,
                           const struct tmux_option_name *name,
                           struct tmux_option_show how, struct buf *out)
{
    const struct option_value *v = option_own(o, name->option, name->name);
    bool parent = !v;
    if (!v && how.inherited)
        v = option_any(o, name->option, name->name);
    if (!v)
        return false;
    bool array = v->option && v->option->array;
    if (array && name->index >= 0) {
        const struct option_item *item = option_item_of(v, name->index);
        print_line(v->option, name->name, name->index, str_of(item ? item->text : ""),
                   parent, how, out);
    } else if (array && !v->n)
        print_empty(name->name, false, how, out); /* without a mark, as tmux */
    else if (name->index >= 0)                    /* as it was asked for */
        print_line(v->option, name->name, name->index, str_of(v->text), parent, how, out);
    else
        print_value(v, parent, how, out);
    return true;
}

/* A flag is 1 or 0 there; the items of an array are joined by spaces. */
bool tmux_options_format(const struct tmux_options *o, struct str name, struct buf *out)
{
    struct str text = tmux_options_get(o, name), item;
    struct tmux_option_name found;
    if (!text.p)
        return false;
    if (tmux_option_find(&found, name, NULL) < 0)
        return false;
    if (found.option && found.option->array && found.index < 0) {
        for (size_t i = 0; tmux_options_item(o, name, i, NULL, &item); i++) {
            buf_addz(out, i ? " " : "");
            buf_adds(out, item);
        }
    } else if (found.option && found.option->type == OPTION_FLAG)
        buf_addz(out, str_eq(text, STR("on")) ? "1" : "0");
    else
        buf_adds(out, text);
    return true;
}
