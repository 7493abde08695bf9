/* SPDX-License-Identifier: MIT */
#include "front/mcp/tools/straight.h"

#include "skill/skill.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

enum { NAME_MAX_SHOWN = 60, BENT_MAX = 64 };

/* ---- names ---- */

const struct param_list *tool_takes(const struct tool *t)
{
    return t->skill ? &skill_find(str_of(t->skill))->takes : t->takes;
}

/* Appends the names of the arguments, as "command, session?, wait_s?". */
static void tool_names(const struct tool *t, struct buf *out)
{
    const struct param *rows = tool_takes(t)->params;
    for (const struct param *p = rows; p && p->name; p++)
        buf_addf(out, "%s%s%s", p == rows ? "" : ", ", p->name, p->required ? "" : "?");
}

static const struct param *row_of(const struct tool *t, struct str name)
{
    for (const struct param *p = tool_takes(t)->params; p && p->name; p++) {
        if (str_eq(name, str_of(p->name)))
            return p;
    }
    return NULL;
}

/* Whether the word is in a list with blanks between. */
static bool has_word(const char *words, struct str word)
{
    struct str rest = str_of(words);
    while (rest.n > 0) {
        if (str_eq(str_cut(&rest, ' '), word))
            return true;
    }
    return false;
}

/* Returns the argument that t->also has for this name; empty if it has none. */
static struct str meant_by(const struct tool *t, struct str name)
{
    struct str rest = str_of(t->also);
    while (rest.n > 0) {
        struct str to = str_cut(&rest, ' '), from = str_cut(&to, '=');
        if (str_eq(from, name))
            return to;
    }
    return STR("");
}

/* ---- values ---- */

static bool is_absent(const struct tool *t, const struct json *v, struct str name)
{
    if (json_is_null(v))
        return true;
    return json_is_string(v) && json_str_value(v, "").n == 0 &&
           !(t->keeps && has_word(t->keeps, name));
}

static const char *kind_of(const struct json *v)
{
    return json_is_string(v)   ? "a string"
           : json_is_number(v) ? "a number"
           : json_is_bool(v)   ? "true or false"
           : json_is_array(v)  ? "a JSON list"
                               : "a JSON object";
}

static int refuse(const struct param *p, const struct json *v, const char *wanted,
                  struct err *e)
{
    struct str s = json_str_value(v, "");
    if (json_is_string(v))
        return err_set(e, ERR_INVALID, "%s must be %s, not \"%.*s\"", p->name, wanted,
                       (int)(s.n < NAME_MAX_SHOWN ? s.n : NAME_MAX_SHOWN), s.p);
    return err_set(e, ERR_INVALID, "%s must be %s; this is %s", p->name, wanted,
                   kind_of(v));
}

static bool read_number(const struct json *v, double *out)
{
    char text[BENT_MAX], *end;
    struct str s = str_trim(json_str_value(v, ""));
    if (json_is_number(v)) {
        *out = json_num_value(v, 0);
        return true;
    }
    if (!json_is_string(v) || s.n == 0 || s.n >= sizeof(text))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *out = strtod(text, &end);
    return *end == 0 && isfinite(*out);
}

static int put_number(struct json *to, const struct param *p, const struct json *v,
                      struct err *e)
{
    double d;
    bool whole = p->type == PARAM_INT;
    if (!read_number(v, &d))
        return refuse(p, v, whole ? "a whole number" : "a number", e);
    if (whole && fabs(d) < 9e15)
        json_put_int(to, p->name, (int64_t)d);
    else
        json_put_num(to, p->name, d);
    return 0;
}

static int put_bool(struct json *to, const struct param *p, const struct json *v,
                    struct err *e)
{
    struct str s = str_trim(json_str_value(v, ""));
    double d;
    if (json_is_bool(v))
        json_put(to, p->name, json_copy(v));
    else if ((s.n == 4 && strncasecmp(s.p, "true", 4) == 0) ||
             (s.n == 3 && strncasecmp(s.p, "yes", 3) == 0))
        json_put_bool(to, p->name, true);
    else if ((s.n == 5 && strncasecmp(s.p, "false", 5) == 0) ||
             (s.n == 2 && strncasecmp(s.p, "no", 2) == 0))
        json_put_bool(to, p->name, false);
    else if (read_number(v, &d) && (d == 0 || d == 1))
        json_put_bool(to, p->name, d == 1);
    else
        return refuse(p, v, "true or false", e);
    return 0;
}

static int put_choice(struct json *to, const struct param *p, const struct json *v,
                      struct err *e)
{
    struct str s = str_trim(json_str_value(v, "")), rest = str_of(p->choices);
    struct buf wanted = BUF_INIT(400);
    while (rest.n > 0) {
        struct str one = str_cut(&rest, ' ');
        if (one.n == s.n && strncasecmp(one.p, s.p, s.n) == 0) {
            json_put_str(to, p->name, one);
            buf_release(&wanted);
            return 0;
        }
        buf_addf(&wanted, "%s%.*s", wanted.n ? ", " : "one of ", STR_ARG(one));
    }
    refuse(p, v, buf_z(&wanted), e);
    buf_release(&wanted);
    return -1;
}

static int put_string(struct json *to, const struct param *p, const struct json *v,
                      struct err *e)
{
    struct buf b = BUF_INIT(BENT_MAX);
    if (p->choices)
        return put_choice(to, p, v, e);
    if (json_is_array(v) || json_is_object(v))
        return refuse(p, v, "text", e);
    if (json_is_string(v)) {
        json_put(to, p->name, json_copy(v));
        return 0;
    }
    json_print(&b, v); /* a number or a boolean, as it was written */
    json_put_str(to, p->name, buf_str(&b));
    buf_release(&b);
    return 0;
}

/* [1, 20], "[1, 20]" or "1,20" */
static int put_list(struct json *to, const struct param *p, const struct json *v,
                    struct err *e)
{
    struct buf text = BUF_INIT(BENT_MAX + 2);
    struct err why = ERR_INIT;
    struct str s = str_trim(json_str_value(v, ""));
    if (json_is_string(v))
        buf_addf(&text, str_starts(s, STR("[")) ? "%.*s" : "[%.*s]", STR_ARG(s));
    else
        json_print(&text, v);
    struct json *list = buf_full(&text) ? NULL : json_parse(buf_str(&text), &why);
    bool good = json_is_array(list);
    for (struct json *j = json_first(list); j && good; j = json_next(j))
        good = json_int_value(j, INT64_MIN) != INT64_MIN;
    buf_release(&text);
    if (good) {
        json_put(to, p->name, list);
        return 0;
    }
    json_free(list);
    return refuse(p, v, "a list of whole numbers, as [1, 20]", e);
}

static int put_value(struct json *to, const struct param *p, const struct json *v,
                     struct err *e)
{
    switch (p->type) {
    case PARAM_INT:
    case PARAM_NUMBER:
        return put_number(to, p, v, e);
    case PARAM_BOOL:
        return put_bool(to, p, v, e);
    case PARAM_STRING:
    case PARAM_TEXT:
    case PARAM_PATH:
        return put_string(to, p, v, e);
    case PARAM_INTS:
        return put_list(to, p, v, e);
    default:
        json_put(to, p->name, json_copy(v));
        return 0;
    }
}

/* ---- ranges ---- */

static void clamp_one(struct json *to, const struct param *p, int64_t min, int64_t max,
                      const char *why, struct buf *notes)
{
    double d = json_num(to, p->name, 0);
    bool high = d > (double)max;
    if (!high && d >= (double)min)
        return;
    int64_t now = high ? max : min;
    json_put_int(to, p->name, now);
    if (notes)
        buf_addf(notes, "(%s is at %s %lld%s: %lld was used)\n", p->name,
                 high ? "most" : "least", (long long)now, why, (long long)now);
}

/* Clamps a number to its range. notes NULL: the value is a default. */
static void clamp(struct json *to, const struct param *p, int max_wait_s,
                  struct buf *notes)
{
    if (!json_has(to, p->name) || (p->type != PARAM_INT && p->type != PARAM_NUMBER))
        return;
    bool wait = strcmp(p->name, "wait_s") == 0;
    int64_t max = p->ranged && p->max ? p->max : INT64_MAX / 1024;
    if (wait && max_wait_s < max)
        clamp_one(to, p, 0, max_wait_s, " for this client", notes);
    else if (p->ranged || wait)
        clamp_one(to, p, p->ranged ? p->min : 0, max, "", notes);
}

/* ---- other tools' words ---- */

/*
 * Takes a time as other tools write it: seconds, milliseconds, or a switch "do not wait".
 */
static void put_wait(struct json *to, const struct json *args, const struct json *v)
{
    const char *name = json_name(v);
    double d;
    if (read_number(v, &d))
        json_put_num(to, "wait_s",
                     str_ends(str_of(name), STR("_ms")) || d >= 1000 ? d / 1000 : d);
    else if (json_bool(args, name, false) || str_eq(json_str_value(v, ""), STR("true")))
        json_put_int(to, "wait_s", 0);
}

/* ---- all arguments ---- */

/* Gemini CLI adds this to the schema of each tool, for itself, and passes it on. */
#define CLIENTS_OWN "wait_for_previous"

/* Takes arguments by their own names, and missing ones by their other names. */
static struct json *by_name(const struct tool *t, const struct json *args,
                            struct buf *notes)
{
    struct json *to = json_object();
    for (const struct json *v = json_first(args); v; v = json_next(v)) {
        struct str name = str_of(json_name(v));
        if (row_of(t, name) && !is_absent(t, v, name))
            json_put(to, name.p, json_copy(v));
    }
    for (const struct json *v = json_first(args); v; v = json_next(v)) {
        struct str name = str_of(json_name(v)), to_name = meant_by(t, name);
        char z[NAME_MAX_SHOWN];
        if (row_of(t, name) || str_eq(name, STR(CLIENTS_OWN)))
            continue;
        if (to_name.n == 0 || to_name.n >= sizeof(z)) {
            buf_addf(notes, "(%.*s is not an argument of %s and was ignored; it takes ",
                     (int)(name.n < NAME_MAX_SHOWN ? name.n : NAME_MAX_SHOWN), name.p,
                     t->name);
            tool_names(t, notes);
            buf_addz(notes, ")\n");
            continue;
        }
        memcpy(z, to_name.p, to_name.n);
        z[to_name.n] = 0;
        if (is_absent(t, v, to_name) || json_has(to, z))
            continue;
        if (strcmp(z, "wait_s") == 0)
            put_wait(to, args, v);
        else
            json_put(to, z, json_copy(v));
    }
    return to;
}

static int missing(const struct tool *t, const struct param *p, struct err *e)
{
    struct buf names = BUF_INIT(300);
    tool_names(t, &names);
    err_set(e, ERR_INVALID, "%s is missing; %s needs {%s}", p->name, t->name,
            buf_z(&names));
    buf_release(&names);
    return -1;
}

static int straighten_row(const struct tool *t, const struct param *p, struct json *named,
                          struct json *to, int max_wait_s, struct buf *notes,
                          struct err *e)
{
    struct json *v = json_take(named, p->name);
    bool given = v != NULL;
    int rc = given ? put_value(to, p, v, e) : p->required ? missing(t, p, e) : 0;
    json_free(v);
    if (!given && rc == 0 && p->dflt && strcmp(p->dflt, "null") != 0) {
        v = json_parse_kept(str_of(p->dflt), e);
        json_put(to, p->name, v);
    }
    clamp(to, p, max_wait_s, given ? notes : NULL);
    return rc;
}

struct json *tool_straighten(const struct tool *t, const struct json *args,
                             int max_wait_s, struct buf *notes, struct err *e)
{
    if (args && !json_is_object(args) && !json_is_null(args)) {
        err_set(e, ERR_INVALID, "the arguments of %s must be a JSON object", t->name);
        return NULL;
    }
    struct json *named = by_name(t, args, notes), *to = json_object();
    for (const struct param *p = tool_takes(t)->params; p && p->name; p++) {
        if (straighten_row(t, p, named, to, max_wait_s, notes, e) == 0)
            continue;
        json_free(named);
        json_free(to);
        return NULL;
    }
    for (struct json *v; (v = json_first(named));) {
        const char *name = json_name(v);
        json_put(to, name, json_copy(v));
        json_drop(named, v);
    }
    json_free(named);
    return to;
}
