/* SPDX-License-Identifier: MIT */
/* Sets of options, and how values get into them: see options.h. */
#include "front/tmux/lang/options_own.h"

#include "base/xalloc.h"
#include "front/tmux/lang/args.h"
#include "front/tmux/lang/format.h"
#include "front/tmux/lang/keys.h"
#include "front/tmux/lang/own.h"

#include <stdlib.h>
#include <strings.h>

static int say(struct buf *why, const char *what, struct str value)
{
    if (why) {
        buf_addz(why, what);
        buf_addz(why, ": ");
        buf_adds(why, value);
    }
    return -1;
}

/* --- names ---------------------------------------------------------------------- */

/* "name[3]" taken apart. Returns false if it is not a name. */
static bool split_name(struct str typed, struct str *name, long *index)
{
    long at = str_chr(typed, '[');
    uint64_t n;
    *name = typed;
    *index = -1;
    if (at < 0)
        return typed.n > 0;
    *name = str_sub(typed, 0, (size_t)at);
    struct str digits = str_sub(typed, (size_t)at + 1, typed.n);
    if (!digits.n || digits.p[digits.n - 1] != ']')
        return false;
    digits.n--;
    if (str_to_u64(digits, &n) < 0 || n > INT32_MAX)
        return false;
    *index = (long)n;
    return true;
}

static const struct tmux_option *find_row(struct str name)
{
    const struct tmux_option *row;
    for (size_t i = 0; (row = tmux_option_row(i)); i++)
        if (row->name[0] == name.p[0] && str_eq(str_of(row->name), name))
            return row;
    return NULL;
}

int tmux_option_find(struct tmux_option_name *out, struct str typed, struct buf *why)
{
    const struct tmux_option *row;
    struct str name;
    size_t n = 0;
    *out = (struct tmux_option_name){.typed = typed, .index = -1};
    if (!split_name(typed, &name, &out->index)) /* in tmux, too */
        return say(why, "ambiguous option", typed);
    out->name = name;
    if (name.n && name.p[0] == '@')
        return 0;
    for (size_t i = 0; (row = tmux_option_row(i)); i++) {
        struct str whole = str_of(row->name);
        if (!str_starts(whole, name))
            continue;
        out->option = row;
        out->name = whole;
        n++;
        if (whole.n == name.n)
            return 0;
    }
    if (n == 1)
        return 0;
    return say(why, n ? "ambiguous option" : "invalid option", typed);
}

/* --- values --------------------------------------------------------------------- */

struct option_value *option_own(const struct tmux_options *o,
                                const struct tmux_option *option, struct str name)
{
    for (struct list *at = o->values.next; at != &o->values; at = at->next) {
        struct option_value *v = list_entry(at, struct option_value, node);
        if (v->option == option && (option || str_eq(str_of(v->name), name)))
            return v;
    }
    return NULL;
}

struct option_value *option_any(const struct tmux_options *o,
                                const struct tmux_option *option, struct str name)
{
    struct option_value *v = NULL;
    for (; o && !v; o = o->parent)
        v = option_own(o, option, name);
    return v;
}

struct option_item *option_item_of(const struct option_value *v, long index)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].index == index)
            return &v->items[i];
    return NULL;
}

static void drop_items(struct option_value *v)
{
    while (v->n)
        free(v->items[--v->n].text);
    free(v->items);
    v->items = NULL;
}

static void drop(struct tmux_options *o, struct option_value *v)
{
    o->n -= !v->option;
    list_del(&v->node);
    drop_items(v);
    free(v->name);
    free(v->text);
    free(v);
}

/* A new value without a text; a user's is put in its place by its name. */
static struct option_value *put(struct tmux_options *o, const struct tmux_option *option,
                                struct str name)
{
    struct option_value *v = xnew(struct option_value);
    struct list *at = o->values.next;
    v->option = option;
    list_init(&v->node);
    if (option) {
        list_add_tail(at, &v->node); /* before those of users */
        return v;
    }
    v->name = xstrndup(name.p, name.n);
    for (; at != &o->values; at = at->next) {
        const struct option_value *other = list_entry(at, struct option_value, node);
        if (other->name && strcmp(other->name, v->name) > 0)
            break;
    }
    list_add_tail(at, &v->node);
    o->n++;
    return v;
}

static void set_text(char **text, struct str value)
{
    free(*text);
    *text = xstrndup(value.n ? value.p : "", value.n);
}

static void drop_item(struct option_value *v, struct option_item *item)
{
    size_t i = (size_t)(item - v->items);
    free(item->text);
    memmove(item, item + 1, (--v->n - i) * sizeof(*item));
}

/* The item of an index, made if it is not there; NULL: there are too many. */
static struct option_item *put_item(struct option_value *v, long index)
{
    struct option_item *item = option_item_of(v, index);
    size_t i = 0;
    if (item || v->n == OPTION_ITEMS_MAX)
        return item;
    v->items = xrealloc(v->items, v->n + 1, sizeof(*v->items));
    while (i < v->n && v->items[i].index < index)
        i++;
    memmove(&v->items[i + 1], &v->items[i], (v->n++ - i) * sizeof(*v->items));
    v->items[i] = (struct option_item){index, xstrdup("")};
    return &v->items[i];
}

static long free_index(const struct option_value *v)
{
    long index = 0;
    while (index < (long)v->n && v->items[index].index == index)
        index++;
    return index;
}

/* --- sets ----------------------------------------------------------------------- */

void tmux_options_init(struct tmux_options *o, struct tmux_options *parent)
{
    *o = (struct tmux_options){.parent = parent};
    list_init(&o->values);
}

static void put_default(struct tmux_options *o, const struct tmux_option *row)
{
    struct option_value *v = put(o, row, (struct str){NULL, 0});
    struct str rest = str_of(row->value);
    if (!row->array) {
        v->text = xstrdup(row->value);
        return;
    }
    for (long i = 0; rest.n; i++)
        set_text(&put_item(v, i)->text, str_cut(&rest, '\n'));
}

void tmux_options_init_defaults(struct tmux_options *o, enum tmux_option_scope scope)
{
    const struct tmux_option *row;
    tmux_options_init(o, NULL);
    o->global = true;
    for (size_t i = 0; (row = tmux_option_row(i)); i++)
        if (row->scope & scope)
            put_default(o, row);
}

void tmux_options_release(struct tmux_options *o)
{
    struct list *at, *tmp;
    list_each (at, tmp, &o->values)
        drop(o, list_entry(at, struct option_value, node));
}

/* --- checks --------------------------------------------------------------------- */

/* The place of a value among the choices of an option, or -1. */
static int choice(const struct tmux_option *option, struct str value)
{
    struct str rest = str_of(option->choices);
    for (int i = 0; rest.n; i++)
        if (str_eq(str_cut(&rest, ' '), value))
            return i;
    return -1;
}

/* A flag or a choice as it is, or without a value the other one of two. */
static int check_switch(struct buf *out, const struct tmux_option *option,
                        struct str value, int64_t now, struct buf *why)
{
    static const char *const on[] = {"1", "on", "yes"}, *const off[] = {"0", "off", "no"};
    int is = -1;
    struct str rest = option->choices ? str_of(option->choices) : STR("off on");
    if (option->type == OPTION_CHOICE)
        is = value.p ? choice(option, value) : (int)(now < 2 ? !now : now);
    else if (!value.n)
        is = !now;
    for (int i = 0; i < 3 && is < 0 && option->type == OPTION_FLAG; i++) {
        if (value.n == strlen(on[i]) && strncasecmp(value.p, on[i], value.n) == 0)
            is = 1;
        if (value.n == strlen(off[i]) && strncasecmp(value.p, off[i], value.n) == 0)
            is = 0;
    }
    if (is < 0)
        return say(why, option->type == OPTION_FLAG ? "bad value" : "unknown value",
                   value);
    while (is-- > 0)
        str_cut(&rest, ' ');
    return buf_adds(out, str_cut(&rest, ' '));
}

static int check_number(struct buf *out, const struct tmux_option *option,
                        struct str value, struct buf *why)
{
    const char *cause;
    int64_t n;
    if (tmux_number(value, option->min, option->max, &n, &cause) == 0)
        return buf_addi(out, n);
    if (why)
        buf_addf(why, "value is %s: ", cause);
    if (why)
        buf_adds(why, value);
    return -1;
}

static int check_text(struct buf *out, const struct tmux_option *option, struct str value,
                      struct buf *why)
{
    if (option->pattern && !tmux_fnmatch(str_of(option->pattern), value, false))
        return say(why, "value is invalid", value);
    if (option->style && str_find(value, STR("#{")) < 0 && !tmux_style_valid(value))
        return say(why, "invalid style", value);
    return buf_adds(out, value);
}

/* Appends the value as it is kept. now: the number that it is without the change. */
static int check(struct buf *out, const struct tmux_option *option, struct str value,
                 int64_t now, const struct tmux_option_set *how, struct buf *why)
{
    int number;
    tmux_key key;
    if (how->check &&
        (option->type == OPTION_COMMAND || strcmp(option->name, "default-shell") == 0))
        return how->check(how->ctx, option, value, out, why);
    switch ((enum tmux_option_type)option->type) {
    case OPTION_FLAG:
    case OPTION_CHOICE:
        return check_switch(out, option, value, now, why);
    case OPTION_NUMBER:
        return check_number(out, option, value, why);
    case OPTION_KEY:
        key = tmux_key_parse(value);
        if (key == TMUX_KEY_NONE &&
            (value.n != 4 || strncasecmp(value.p, "None", 4) != 0))
            return say(why, "bad key", value);
        tmux_key_print(out, key);
        return 0;
    case OPTION_COLOUR:
        if ((number = tmux_colour(value)) < 0)
            return say(why, "bad colour", value);
        tmux_colour_print(out, number);
        return 0;
    case OPTION_STRING:
        return check_text(out, option, value, why);
    case OPTION_COMMAND:
        break;
    }
    return buf_adds(out, value);
}

/* --- set-option ----------------------------------------------------------------- */

static int set_item(struct option_value *v, long index, struct str value,
                    const struct tmux_option_set *how, bool append, struct buf *why)
{
    struct buf text = BUF_INIT(OPTION_VALUE_MAX);
    struct option_item *item = option_item_of(v, index);
    if (append && item && v->option->type == OPTION_STRING)
        buf_addz(&text, item->text);
    int rc = check(&text, v->option, value, 0, how, why);
    if (rc == 0 && !buf_full(&text) && (item = put_item(v, index)))
        set_text(&item->text, buf_str(&text));
    else if (rc == 0)
        rc = say(why, "value is too large", v->option ? str_of(v->option->name) : value);
    buf_release(&text);
    return rc;
}

/* Items from a text, each at the first free index. */
static int set_items(struct option_value *v, struct str value,
                     const struct tmux_option_set *how, struct buf *why)
{
    const char *ends = v->option->separator ? v->option->separator : " ,";
    int rc = 0;
    while (value.n && rc == 0) {
        size_t n = 0;
        while (n < value.n && (!value.p[n] || !strchr(ends, value.p[n])))
            n++;
        if (n)
            rc = set_item(v, free_index(v), str_sub(value, 0, n), how, false, why);
        value = str_sub(value, n + 1, value.n);
    }
    return rc;
}

static int set_array(struct tmux_options *o, struct option_value *v,
                     const struct tmux_option_name *name, struct str value,
                     const struct tmux_option_set *how, struct buf *why)
{
    if (!v)
        v = put(o, name->option, name->name);
    if (name->index >= 0)
        return set_item(v, name->index, value, how, how->append, why);
    if (!how->append)
        drop_items(v);
    return set_items(v, value, how, why);
}

static int set_one(struct tmux_options *o, struct option_value *v,
                   const struct tmux_option_name *name, struct str value,
                   const struct tmux_option_set *how, struct buf *why)
{
    const struct tmux_option *option = name->option;
    struct buf whole = BUF_INIT(OPTION_VALUE_MAX), text = BUF_INIT(OPTION_VALUE_MAX);
    int rc = 0;
    if (how->append && v && (!option || option->type == OPTION_STRING)) {
        buf_addz(&whole, v->text);
        buf_addz(&whole, option && option->separator ? option->separator : "");
        buf_adds(&whole, value);
        value = buf_full(&whole) ? value : buf_str(&whole);
    }
    if (option)
        rc = check(&text, option, value, tmux_options_number(o, name->name, 0), how, why);
    else
        buf_adds(&text, value);
    if (rc == 0 && (buf_full(&text) || buf_full(&whole)))
        rc = say(why, "value is too large", name->typed);
    if (rc == 0 && !v && !option && o->n >= OPTION_USER_MAX)
        rc = say(why, "too many options", name->typed);
    if (rc == 0) {
        v = v ? v : put(o, option, name->name);
        set_text(&v->text, buf_str(&text));
    }
    buf_release(&whole);
    buf_release(&text);
    return rc;
}

static int unset(struct tmux_options *o, struct option_value *v, long index)
{
    const struct tmux_option *option = v->option;
    struct option_item *item = option_item_of(v, index);
    if (index >= 0 && item)
        drop_item(v, item);
    if (index >= 0)
        return 0;
    drop(o, v);
    if (option && o->global)
        put_default(o, option);
    return 0;
}

int tmux_options_set(struct tmux_options *o, const struct tmux_option_name *name,
                     struct str value, struct tmux_option_set how, struct buf *why)
{
    const struct tmux_option *option = name->option;
    bool array = option && option->array;
    struct option_value *v = option_own(o, option, name->name);
    if (name->index >= 0 && !array)
        return say(why, "not an array", name->typed);
    if (how.unset)
        return v ? unset(o, v, name->index) : 0;
    if (how.only_new && v && (name->index < 0 || option_item_of(v, name->index)))
        return say(why, "already set", name->typed);
    bool toggles = option &&
                   (option->type == OPTION_FLAG || option->type == OPTION_CHOICE);
    if (!value.p && !toggles) {
        if (why)
            buf_addz(why, "empty value");
        return -1;
    }
    return array ? set_array(o, v, name, value, &how, why)
                 : set_one(o, v, name, value, &how, why);
}

/* --- values by name ------------------------------------------------------------- */

/* The value of "name" or "name[3]". NULL: none. */
static struct option_value *look(const struct tmux_options *o, struct str typed,
                                 long *index)
{
    struct str name;
    const struct tmux_option *option = NULL;
    if (!split_name(typed, &name, index) || !name.n)
        return NULL;
    if (name.p[0] != '@' && !(option = find_row(name)))
        return NULL;
    return option_any(o, option, name);
}

struct str tmux_options_get(const struct tmux_options *o, struct str name)
{
    long index;
    const struct option_value *v = look(o, name, &index);
    const struct option_item *item;
    if (!v)
        return (struct str){NULL, 0};
    if (v->option && v->option->array)
        return (item = option_item_of(v, index)) ? str_of(item->text) : STR("");
    return str_of(v->text);
}

int64_t tmux_options_number(const struct tmux_options *o, struct str name, int64_t none)
{
    long index;
    int64_t n;
    const struct option_value *v = look(o, name, &index);
    if (!v || !v->option || v->option->array)
        return none;
    struct str text = str_of(v->text);
    if (v->option->type == OPTION_FLAG)
        return str_eq(text, STR("on"));
    if (v->option->type == OPTION_CHOICE)
        return choice(v->option, text);
    return str_to_i64(text, &n) == 0 ? n : none;
}

bool tmux_options_on(const struct tmux_options *o, struct str name)
{
    return tmux_options_number(o, name, 0) != 0;
}

bool tmux_options_item(const struct tmux_options *o, struct str name, size_t i,
                       long *index, struct str *value)
{
    long none;
    const struct option_value *v = look(o, name, &none);
    if (!v || i >= v->n)
        return false;
    if (index)
        *index = v->items[i].index;
    *value = str_of(v->items[i].text);
    return true;
}

bool tmux_options_own(const struct tmux_options *o, struct str name)
{
    struct option_value *v = NULL;
    const struct tmux_option *option = name.n && name.p[0] != '@' ? find_row(name) : NULL;
    if (name.n && (option || name.p[0] == '@'))
        v = option_own(o, option, name);
    return v != NULL;
}
