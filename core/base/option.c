/* SPDX-License-Identifier: MIT */
/* Read by hand and not by getopt, which cannot give an option several words. */
#include "base/option.h"

#include "base/called.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { ITEMS_MAX = 64, WIDTH = 80, INDENT = 6, TEXT_MAX = 64 << 10 };

/* The values given for a row. */
struct given {
    const struct option_row *row;
    char *text;   /* the last value; borrowed, NULL: none */
    char **items; /* of a list; the array is owned, each item borrowed */
    int nitems;
    bool by_option;     /* on the command line, not in the environment */
    bool off;           /* as --no-NAME */
    struct json *value; /* borrowed from the object of its table */
};

struct options {
    const char *applet;
    const struct option_table **tables; /* owned */
    size_t ntables, n;
    struct given *v;   /* owned; the tables' rows, one table after the other */
    struct json **own; /* owned, with the objects in it: one for each table */
};

static bool is_list(const struct option_row *r)
{
    return r->type == OPTION_LIST || r->type == OPTION_LINES || r->type == OPTION_WORDS;
}

static bool is_switch(const struct option_row *r)
{
    return r->type == OPTION_SWITCH || r->type == OPTION_TOGGLE;
}

static struct given *find(const struct options *o, struct str name)
{
    for (size_t i = 0; i < o->n; i++) {
        if (str_eq(name, str_of(o->v[i].row->name)))
            return &o->v[i];
    }
    return NULL;
}

/* The row of words that are not options; NULL: there is none. */
static struct given *find_bare(const struct options *o)
{
    for (size_t i = 0; i < o->n; i++) {
        if (o->v[i].row->word)
            return &o->v[i];
    }
    return NULL;
}

/* The row of a name that is in the program: it must exist. */
static struct given *known(const struct options *o, const char *name)
{
    struct given *g = find(o, str_of(name));
    BUG_ON(!g);
    return g;
}

struct options *options_new(const char *applet, const struct option_table *const *tables,
                            size_t n)
{
    struct options *o = xnew(struct options);
    *o = (struct options){.applet = applet, .ntables = n};
    o->tables = xcalloc(n, sizeof(*o->tables));
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) {
        o->tables[i] = tables[i];
        for (const struct option_row *r = tables[i]->rows; r && r->name; r++)
            rows++;
    }
    o->v = xcalloc(rows, sizeof(*o->v));
    o->own = xcalloc(n, sizeof(struct json *));
    for (size_t i = 0; i < n; i++) {
        for (const struct option_row *r = tables[i]->rows; r && r->name; r++) {
            BUG_ON(find(o, str_of(r->name)));
            o->v[o->n++].row = r;
        }
    }
    return o;
}

void options_free(struct options *o)
{
    if (!o)
        return;
    for (size_t i = 0; i < o->n; i++)
        free(o->v[i].items);
    for (size_t i = 0; i < o->ntables; i++)
        json_free(o->own[i]);
    free(o->own);
    free(o->tables);
    free(o->v);
    free(o);
}

/* ---- words ---- */

static const char *source_of(const struct given *g, char space[64])
{
    if (!g->by_option && g->row->env)
        return g->row->env;
    snprintf(space, 64, "%s%s", g->row->word ? "" : "--", g->row->name);
    return space;
}

static int add_item(struct given *g, char *word, struct err *e)
{
    const struct option_row *r = g->row;
    int max = r->max ? (int)r->max : ITEMS_MAX;
    for (int i = 0; r->type == OPTION_WORDS && i < g->nitems; i++) {
        if (strcmp(g->items[i], word) == 0)
            return 0;
    }
    if (g->nitems == max && r->secret)
        return err_set(e, ERR_LIMIT, "--%s is given too often: there can be %d", r->name,
                       max);
    if (g->nitems == max)
        return err_set(e, ERR_LIMIT, "--%s %.200s is one too many: there can be %d",
                       r->name, word, max);
    g->items = xrealloc(g->items, (size_t)g->nitems + 1, sizeof(*g->items));
    g->items[g->nitems++] = word;
    return 0;
}

/* Adds the words up to the next option. Returns how many, or -1. */
static int add_words(struct given *g, char **words, struct err *e)
{
    int n = 0;
    for (; words[n] && words[n][0] != '-'; n++) {
        if (add_item(g, words[n], e) < 0)
            return -1;
    }
    return n;
}

/* The row of a word without its dashes and value; sets *off for --no-NAME. */
static struct given *find_word(const struct options *o, struct str name, bool *off)
{
    struct given *g = find(o, name);
    *off = false;
    if (g || !str_starts(name, STR("no-")))
        return g && !g->row->word ? g : NULL;
    g = find(o, str_sub(name, 3, name.n));
    *off = true;
    return g && g->row->type == OPTION_TOGGLE ? g : NULL;
}

static int take_bare(struct options *o, char *word, struct err *e)
{
    struct given *g = find_bare(o);
    if (!g)
        return err_set(e, ERR_INVALID, "%.200s is not an option; see %s", word,
                       called_help(o->applet).z);
    if (g->text)
        return err_set(e, ERR_INVALID,
                       "there can be one %s, and these are two: %.100s and %.100s; a "
                       "command follows --",
                       g->row->name, g->text, word);
    g->text = word;
    g->by_option = true;
    return 1;
}

int options_take(struct options *o, char **words, struct err *e)
{
    if (words[0][0] != '-' || !words[0][1])
        return take_bare(o, words[0], e);
    char *word = words[0], *eq = strchr(word, '=');
    int n = (int)(eq ? (size_t)(eq - word) : strlen(word));
    bool off = false;
    struct given *g = n > 2 && strncmp(word, "--", 2) == 0
                          ? find_word(o, str_n(word + 2, (size_t)n - 2), &off)
                          : NULL;
    if (!g)
        return err_set(e, ERR_INVALID, "there is no option %.*s; see %s",
                       n < 200 ? n : 200, word, called_help(o->applet).z);
    const struct option_row *r = g->row;
    g->by_option = true;
    g->off = off;
    if (is_switch(r))
        return eq ? err_set(e, ERR_INVALID, "%.*s takes no value", n, word) : 1;
    if (r->type == OPTION_WORDS && !eq) {
        int taken = add_words(g, words + 1, e);
        return taken < 0 ? -1 : 1 + taken;
    }
    if (r->type == OPTION_MAYBE && !eq && (!words[1] || words[1][0] == '-'))
        return 1;
    char *value = eq ? eq + 1 : words[1];
    if (!value || (!eq && strncmp(value, "--", 2) == 0))
        return err_set(e, ERR_INVALID, "%.*s needs a value: %s", n, word, r->value);
    g->text = value;
    if (is_list(r) && add_item(g, value, e) < 0)
        return -1;
    return eq ? 1 : 2;
}

/* Cuts the next word off a list with `sep`, in place; NULL: there is none. */
static char *next_word(char **rest, char sep)
{
    static const char blanks[] = " \t\r\n";
    while (*rest) {
        char *word = *rest + strspn(*rest, blanks), *end = strchr(word, sep);
        *rest = end ? end + 1 : NULL;
        if (!end)
            end = word + strlen(word);
        while (end > word && strchr(blanks, end[-1]))
            end--;
        *end = 0;
        if (*word)
            return word;
    }
    return NULL;
}

int options_environment(struct options *o, struct err *e)
{
    for (size_t i = 0; i < o->n; i++) {
        struct given *g = &o->v[i];
        char *value = g->row->env && !g->by_option ? getenv(g->row->env) : NULL;
        if (!value || !*value)
            continue;
        g->text = value;
        char sep = g->row->type == OPTION_LINES ? '\n' : ',';
        for (char *word; is_list(g->row) && (word = next_word(&value, sep));) {
            if (add_item(g, word, e) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- values ---- */

/* 1 for yes, 0 for no, -1 for any other word. */
static int truth(struct str word)
{
    static const char *const words[2][6] = {{"0", "false", "f", "no", "n", "off"},
                                            {"1", "true", "t", "yes", "y", "on"}};
    for (int v = 0; v < 2; v++) {
        for (int i = 0; i < 6; i++) {
            if (strlen(words[v][i]) == word.n &&
                strncasecmp(word.p, words[v][i], word.n) == 0)
                return v;
        }
    }
    return -1;
}

/* "a, b or c" */
static void put_choices(struct buf *out, const char *choices)
{
    struct str rest = str_of(choices);
    for (bool first = true; rest.n > 0; first = false) {
        struct str one = str_cut(&rest, ' ');
        buf_addf(out, "%s%.*s", first ? "" : rest.n > 0 ? ", " : " or ", STR_ARG(one));
    }
}

static void put_takes(struct buf *out, const struct option_row *r)
{
    if (r->takes)
        buf_addz(out, r->takes);
    else if (r->choices)
        put_choices(out, r->choices);
    else if (is_switch(r))
        buf_addz(out, "yes or no");
    else if (r->type == OPTION_SECONDS)
        buf_addz(out, "seconds, as in 30, 0.5 or 8h");
    else if (r->type == OPTION_INT && r->max)
        buf_addf(out, "a number from %lld to %lld", (long long)r->min, (long long)r->max);
    else
        buf_addz(out, r->type == OPTION_INT ? "a number" : "another value");
}

static int refuse(const struct given *g, struct str value, struct err *e)
{
    char space[64];
    struct buf takes = BUF_INIT(400);
    const char *from = source_of(g, space);
    if (is_list(g->row)) {
        snprintf(space, sizeof(space), "--%s", g->row->name);
        from = space;
    }
    put_takes(&takes, g->row);
    if (g->row->secret)
        err_set(e, ERR_INVALID, "%s takes %s", from, buf_z(&takes));
    else
        err_set(e, ERR_INVALID, "%s takes %s, not \"%.*s\"", from, buf_z(&takes),
                (int)(value.n < 200 ? value.n : 200), value.p);
    buf_release(&takes);
    return -1;
}

static bool is_choice(const struct option_row *r, struct str value)
{
    struct str rest = str_of(r->choices ? r->choices : "");
    bool found = !r->choices;
    while (rest.n > 0 && !found)
        found = str_eq(str_cut(&rest, ' '), value);
    return found;
}

static bool in_range(const struct option_row *r, int64_t n)
{
    return n >= r->min && (!r->max || n <= r->max);
}

/* Calls the owner's check. Returns 0, or -1 and sets *e. */
static int check_own(const struct given *g, struct str value, struct err *e)
{
    struct err why = ERR_INIT;
    char space[64];
    if (!g->row->check || g->row->check(value, &why) == 0)
        return 0;
    if (why.code == ERR_NONE)
        return refuse(g, value, e);
    return err_set(e, why.code, "%s: %s", source_of(g, space), why.text);
}

/* Puts the value of text into own, as it is stored. Returns 0, or -1 and sets *e. */
static int put_value(const struct given *g, struct str text, struct json *own,
                     const char *member, struct err *e)
{
    const struct option_row *r = g->row;
    int64_t n = 0;
    int v;
    switch (r->type) {
    case OPTION_INT:
        if (str_to_i64(text, &n) < 0 || !in_range(r, n))
            return refuse(g, text, e);
        json_put_int(own, member, n * (r->unit ? r->unit : 1));
        break;
    case OPTION_SECONDS:
        if (str_to_ms(text, &n) < 0 || !in_range(r, n))
            return refuse(g, text, e);
        json_put_int(own, member, n);
        break;
    case OPTION_SWITCH:
    case OPTION_TOGGLE:
        if ((v = truth(text)) < 0)
            return refuse(g, text, e);
        json_put_bool(own, member, v);
        break;
    case OPTION_TEXT:
    case OPTION_MAYBE:
    case OPTION_LIST:
    case OPTION_LINES:
    case OPTION_WORDS:
        if (!is_choice(r, text))
            return refuse(g, text, e);
        json_put_str(own, member, text);
        break;
    }
    return check_own(g, text, e);
}

static int put_items(const struct given *g, struct json *own, const char *member,
                     struct err *e)
{
    struct json *list = json_array();
    json_put(own, member, list);
    for (int i = 0; i < g->nitems; i++) {
        if (check_own(g, str_of(g->items[i]), e) < 0)
            return -1;
        json_push_str(list, str_of(g->items[i]));
    }
    return 0;
}

static void member_of(const struct option_row *r, char out[64])
{
    snprintf(out, 64, "%s", r->member ? r->member : r->name);
    for (char *p = out; !r->member && *p; p++)
        *p = *p == '-' ? '_' : *p;
}

static int check_one(struct given *g, struct json *own, struct err *e)
{
    const struct option_row *r = g->row;
    char member[64];
    int rc = 0;
    member_of(r, member);
    if (is_switch(r) && g->by_option)
        json_put_bool(own, member, !g->off);
    else if (is_list(r))
        rc = put_items(g, own, member, e);
    else if (g->text)
        rc = put_value(g, str_of(g->text), own, member, e);
    else if (r->dflt)
        rc = put_value(g, str_of(r->dflt), own, member, e);
    g->value = json_get(own, member);
    return rc;
}

static int check_needs(const struct options *o, const struct option_table *t,
                       const struct given *g, struct err *e)
{
    if (!t->needs || !g->by_option || option_text(o, t->needs))
        return 0;
    return err_set(e, ERR_INVALID, "--%s is for %s: give --%s %s too", g->row->name,
                   t->what, t->needs, known(o, t->needs)->row->value);
}

int options_check(struct options *o, struct err *e)
{
    struct given *g = o->v;
    for (size_t i = 0; i < o->ntables; i++) {
        const struct option_table *t = o->tables[i];
        json_free(o->own[i]);
        o->own[i] = json_object();
        for (const struct option_row *r = t->rows; r && r->name; r++, g++) {
            if (check_needs(o, t, g, e) < 0 || check_one(g, o->own[i], e) < 0)
                return -1;
        }
    }
    return 0;
}

void option_wipe(char *value)
{
    if (value)
        memset(value, 'x', strlen(value));
}

static void wipe_secrets(struct options *o)
{
    for (size_t i = 0; i < o->n; i++) {
        struct given *g = &o->v[i];
        if (!g->row->secret)
            continue;
        option_wipe(g->text);
        for (int k = 0; k < g->nitems; k++)
            option_wipe(g->items[k]);
        if (g->row->env)
            option_wipe(getenv(g->row->env));
    }
}

/* Moves the members of take into out. */
static void merge(struct json *out, struct json *take)
{
    for (struct json *v = json_first(take); v; v = json_next(v)) {
        struct buf text = BUF_INIT(TEXT_MAX);
        struct err e;
        if (json_print(&text, v) == 0)
            json_put(out, json_name(v), json_parse(buf_str(&text), &e));
        buf_release(&text);
    }
    json_free(take);
}

int options_store(struct options *o, struct json *out, struct err *e)
{
    for (size_t i = 0; i < o->n; i++)
        o->v[i].value = NULL; /* prepare may free the object that contains it */
    for (size_t i = 0; i < o->ntables; i++) {
        const struct option_table *t = o->tables[i];
        if (t->prepare && t->prepare(o, &o->own[i], e) < 0)
            return -1;
        if (o->own[i] && !t->section[0])
            merge(out, o->own[i]);
        else if (o->own[i])
            json_put(out, t->section, o->own[i]);
        o->own[i] = NULL;
    }
    wipe_secrets(o);
    return 0;
}

/* ---- what was given ---- */

const char *option_text(const struct options *o, const char *name)
{
    return known(o, name)->text;
}

const char *option_item(const struct options *o, const char *name, unsigned i)
{
    const struct given *g = known(o, name);
    return i < (unsigned)g->nitems ? g->items[i] : NULL;
}

bool option_given(const struct options *o, const char *name)
{
    return known(o, name)->by_option;
}

bool option_is_on(const struct options *o, const char *name)
{
    const struct given *g = known(o, name);
    const char *text = g->text ? g->text : g->row->dflt;
    return g->by_option ? !g->off : text && truth(str_of(text)) == 1;
}

const struct json *option_json(const struct options *o, const char *name)
{
    return known(o, name)->value;
}

const char *option_source(const struct options *o, const char *name, char space[64])
{
    return source_of(known(o, name), space);
}

const char *option_other(const struct options *o, const char *const *names)
{
    for (size_t i = 0; i < o->n; i++) {
        const char *name = o->v[i].row->name;
        const char *const *at = names;
        while (*at && strcmp(*at, name) != 0)
            at++;
        if (o->v[i].by_option && !*at)
            return name;
    }
    return NULL;
}

int option_absolute(const char *path, struct buf *out, struct err *e)
{
    char here[PATH_MAX];
    int rc = 0;
    if (path[0] != '/')
        rc = getcwd(here, sizeof(here)) ? buf_addf(out, "%s/", here) : -1;
    if (rc == 0 && buf_addz(out, path) == 0 && out->n < PATH_MAX)
        return 0;
    return err_set(e, ERR_LIMIT, "cannot use %.100s…: the path is too long", path);
}

/* ---- the manual ---- */

/*
 * Whether a line must not end after word: "od help exec" is a command that can be pasted.
 */
static bool is_command(struct str word)
{
    if (str_starts(word, STR("(")))
        word = str_sub(word, 1, word.n);
    return str_eq(word, STR("od")) || str_eq(word, STR("help"));
}

/* Appends the words of text in lines below each other. */
static void put_lines(struct buf *out, const char *text)
{
    struct str rest = str_of(text);
    size_t at = WIDTH;
    while (rest.n > 0) {
        struct str first = rest, word = str_cut(&rest, ' ');
        for (struct str next = word; is_command(next) && rest.n > 0;)
            next = str_cut(&rest, ' ');
        word = str_n(first.p, first.n - rest.n - (rest.n > 0));
        bool breaks = at + 1 + word.n > WIDTH;
        buf_addf(out, "%s%.*s", breaks ? "\n      " : " ", STR_ARG(word));
        at = breaks ? INDENT + word.n : at + 1 + word.n;
    }
}

/* Is name among the words? */
static bool is_among(const char *words, const char *name)
{
    struct str rest = str_of(words);
    bool found = false;
    while (rest.n > 0 && !found)
        found = str_eq(str_cut(&rest, ' '), str_of(name));
    return found;
}

void options_help(const struct option_table *t, const char *only, struct buf *out)
{
    bool headed = false;
    for (const struct option_row *r = t->rows; r && r->name; r++) {
        const char *absent = r->unset ? r->unset : r->dflt;
        if (r->word || (only && !is_among(only, r->name)))
            continue; /* a word is in the synopsis */
        if (!headed)
            buf_addf(out, "\n%s:\n", t->heading);
        headed = true;
        buf_addf(out, "  --%s", r->name);
        if (r->type == OPTION_TOGGLE)
            buf_addf(out, ", --no-%s", r->name);
        if (r->value)
            buf_addf(out, " %s", r->value);
        put_lines(out, r->about);
        buf_addf(out, "\n      (%s%s%s)\n", r->env ? r->env : "", r->env ? "; " : "",
                 absent         ? absent
                 : is_switch(r) ? "no"
                                : "none");
    }
}
