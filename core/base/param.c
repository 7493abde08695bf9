/* SPDX-License-Identifier: MIT */
/* The check, the schema and the manual of a list of parameters. */
#include "base/param.h"

#include "base/enc.h"
#include "base/limits.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 60, INT_LIMIT_BITS = 53, NAME_SIZE = 48, NAMES_MAX = 300 };

static const char base64_end[] = "_base64";
/* The texts that dec_base64 accepts. */
static const char base64_pattern[] = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|"
                                     "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";

/* "NAME_base64", the other name of a path. */
static void other_name(const struct param *p, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "%s%s", p->name, base64_end);
}

static bool is_named(const struct param *p, const char *name)
{
    size_t n = strlen(p->name);
    return strncmp(name, p->name, n) == 0 &&
           (!name[n] || (p->type == PARAM_PATH && strcmp(name + n, base64_end) == 0));
}

/* ---- in words ---- */

static void put_choices(struct buf *out, const char *choices)
{
    struct str rest = str_of(choices);
    for (bool first = true; rest.n > 0; first = false) {
        struct str one = str_cut(&rest, ' ');
        buf_addf(out, "%s%.*s", first ? "" : rest.n > 0 ? ", " : " or ", STR_ARG(one));
    }
}

static void put_range(struct buf *out, const struct param *p)
{
    if (p->ranged && p->max)
        buf_addf(out, " from %lld to %lld", (long long)p->min, (long long)p->max);
    else if (p->ranged)
        buf_addf(out, " of at least %lld", (long long)p->min);
}

/* "a whole number from 1 to 10000": what a parameter may be. */
static void put_type(struct buf *out, const struct param *p)
{
    static const char *const words[] = {
        [PARAM_STRING] = "a string",
        [PARAM_BASE64] = "a string of base64",
        [PARAM_PATH] = "a string",
        [PARAM_INT] = "a whole number",
        [PARAM_NUMBER] = "a number",
        [PARAM_BOOL] = "true or false",
        [PARAM_OBJECT] = "an object",
        [PARAM_STRINGS] = "an array of strings",
        [PARAM_INTS] = "an array of whole numbers",
        [PARAM_TEXT] = "a string",
        [PARAM_NAME_OR_INT] = "a name or a whole number",
        [PARAM_ANY] = "any value",
    };
    if (p->choices) {
        put_choices(out, p->choices);
        return;
    }
    if (p->type == PARAM_STRING && p->ranged)
        buf_addz(out, "a string that is not empty");
    else
        buf_addz(out, words[p->type]);
    if (p->type != PARAM_STRING)
        put_range(out, p);
    if (p->type == PARAM_INT && !p->ranged)
        buf_addz(out, " below 2^53");
}

/* A value in a sentence, cut where it is long. */
static void put_value(struct buf *out, const struct json *v)
{
    struct buf text = BUF_INIT(2 * LIMIT_EVENT_MAX);
    if (json_is_object(v) || json_is_array(v)) {
        buf_addz(out, json_is_object(v) ? "an object" : "an array");
    } else if (json_print(&text, v) == 0) {
        size_t n = text.n > SHOWN ? utf8_cut(buf_str(&text), SHOWN) : text.n;
        buf_addf(out, "%.*s%s", (int)n, buf_z(&text), n < text.n ? "..." : "");
    }
    buf_release(&text);
}

/* ---- the check ---- */

static bool in_range(const struct param *p, double n)
{
    return !p->ranged || (n >= (double)p->min && (!p->max || n <= (double)p->max));
}

static bool is_whole(const struct json *v, int64_t *out)
{
    const int64_t none = INT64_MIN;
    *out = json_int_value(v, none);
    return *out != none;
}

static bool is_choice(const struct param *p, struct str s)
{
    struct str rest = str_of(p->choices ? p->choices : "");
    bool found = !p->choices;
    while (rest.n > 0 && !found)
        found = str_eq(str_cut(&rest, ' '), s);
    return found;
}

static bool is_base64(struct str s)
{
    struct buf bytes = BUF_INIT(2 * LIMIT_EVENT_MAX);
    bool good = s.n == 0 || dec_base64(&bytes, s) == 0;
    buf_release(&bytes);
    return good;
}

static bool are_strings(const struct json *v)
{
    bool good = json_is_array(v);
    for (struct json *j = good ? json_first(v) : NULL; j && good; j = json_next(j))
        good = json_is_string(j);
    return good;
}

static bool are_whole(const struct json *v)
{
    int64_t n;
    bool good = json_is_array(v);
    for (struct json *j = good ? json_first(v) : NULL; j && good; j = json_next(j))
        good = is_whole(j, &n);
    return good;
}

static bool fits(const struct param *p, const struct json *v)
{
    struct str s = json_str_value(v, "");
    int64_t n;
    switch (p->type) {
    case PARAM_STRING:
        return json_is_string(v) && is_choice(p, s) &&
               (!p->ranged || s.n >= (size_t)p->min);
    case PARAM_PATH:
    case PARAM_TEXT:
        return json_is_string(v);
    case PARAM_BASE64:
        return json_is_string(v) && is_base64(s);
    case PARAM_INT:
        return is_whole(v, &n) && in_range(p, (double)n);
    case PARAM_NUMBER:
        return json_is_number(v) && in_range(p, json_num_value(v, 0));
    case PARAM_BOOL:
        return json_is_bool(v);
    case PARAM_OBJECT:
        return json_is_object(v);
    case PARAM_STRINGS:
        return are_strings(v);
    case PARAM_INTS:
        return are_whole(v);
    case PARAM_NAME_OR_INT:
        return json_is_string(v) || (is_whole(v, &n) && in_range(p, (double)n));
    case PARAM_ANY:
        return true;
    }
    return false;
}

static const struct param *find(const struct param_list *l, const char *name)
{
    for (const struct param *p = l->params; p && p->name; p++) {
        if (is_named(p, name))
            return p;
    }
    return NULL;
}

static bool is_ignored(const struct param_list *l, const char *name)
{
    struct str rest = str_of(l->ignored ? l->ignored : "");
    bool found = false;
    while (rest.n > 0 && !found)
        found = str_eq(str_cut(&rest, '|'), str_of(name));
    return found;
}

static int fail_unknown(const char *action, const struct param_list *l, const char *name,
                        struct err *e)
{
    struct buf names = BUF_INIT(NAMES_MAX);
    for (const struct param *p = l->params; p && p->name; p++)
        buf_addf(&names, "%s%s", names.n ? ", " : "", p->name);
    err_set(e, ERR_INVALID, "%s has no argument %.60s; it takes %s", action, name,
            names.n ? buf_z(&names) : "none");
    buf_release(&names);
    return -1;
}

static int fail_value(const struct json *v, const struct param *p, struct err *e)
{
    struct buf text = BUF_INIT(400);
    put_type(&text, p);
    buf_addz(&text, ", not ");
    put_value(&text, v);
    err_set(e, ERR_INVALID, "%s must be %s", json_name(v), buf_z(&text));
    buf_release(&text);
    return -1;
}

static int fail_missing(const char *action, const struct param *p, struct err *e)
{
    struct buf text = BUF_INIT(400);
    put_type(&text, p);
    err_set(e, ERR_INVALID, "%s takes %s \"%s\", %s: %s", action,
            strchr("aeiou", p->name[0]) ? "an" : "a", p->name, buf_z(&text), p->about);
    buf_release(&text);
    return -1;
}

static bool given(const struct json *args, const struct param *p)
{
    const struct json *v = json_get(args, p->name);
    if (p->type == PARAM_PATH && (!v || json_is_null(v))) {
        char other[NAME_SIZE];
        other_name(p, other);
        v = json_get(args, other);
    }
    return v && !json_is_null(v);
}

int params_known(const char *action, const struct param_list *l, const struct json *args,
                 struct err *e)
{
    for (struct json *v = json_first(args); v; v = json_next(v)) {
        if (!find(l, json_name(v)) && !is_ignored(l, json_name(v)))
            return fail_unknown(action, l, json_name(v), e);
    }
    return 0;
}

int params_check(const char *action, const struct param_list *l, const struct json *args,
                 const char *except, struct err *e)
{
    if (params_known(action, l, args, e) < 0)
        return -1;
    for (struct json *v = json_first(args); v; v = json_next(v)) {
        const struct param *p = find(l, json_name(v));
        if (p && !json_is_null(v) && !fits(p, v))
            return fail_value(v, p, e);
    }
    for (const struct param *p = l->params; p && p->name; p++) {
        bool may_lack = except && strcmp(except, p->name) == 0;
        if (p->required && !may_lack && !given(args, p))
            return fail_missing(action, p, e);
    }
    return 0;
}

bool params_required(const struct param_list *l)
{
    for (const struct param *p = l->params; p && p->name; p++) {
        if (p->required)
            return true;
    }
    return false;
}

/* ---- the schema ---- */

static void put_limits(struct json *to, const struct param *p)
{
    const int64_t most = ((int64_t)1 << INT_LIMIT_BITS) - 1;
    bool whole = p->type != PARAM_NUMBER;
    if (p->ranged || whole)
        json_put_int(to, "minimum", p->ranged ? p->min : -most);
    if ((p->ranged && p->max) || whole)
        json_put_int(to, "maximum", p->ranged && p->max ? p->max : most);
}

static struct json *typed(const char *type)
{
    struct json *j = json_object();
    json_put_z(j, "type", type);
    return j;
}

static struct json *string_schema(const struct param *p)
{
    struct json *j = typed("string");
    if (p->type == PARAM_STRING && p->ranged)
        json_put_int(j, "minLength", p->min);
    if (p->pattern)
        json_put_z(j, "pattern", p->pattern);
    if (p->choices) {
        struct json *all = json_array();
        struct str rest = str_of(p->choices);
        while (rest.n > 0)
            json_push_str(all, str_cut(&rest, ' '));
        json_put(j, "enum", all);
    }
    if (p->type == PARAM_BASE64) {
        json_put_z(j, "contentEncoding", "base64");
        json_put_z(j, "pattern", base64_pattern);
    }
    return j;
}

static struct json *name_or_int_schema(const struct param *p)
{
    struct json *j = json_object(), *any = json_array(), *number = typed("integer");
    put_limits(number, p);
    json_push(any, string_schema(p));
    json_push(any, number);
    json_put(j, "anyOf", any);
    return j;
}

struct json *param_schema(const struct param *p)
{
    struct json *j;
    switch (p->type) {
    case PARAM_INT:
    case PARAM_NUMBER:
        j = typed(p->type == PARAM_INT ? "integer" : "number");
        put_limits(j, p);
        return j;
    case PARAM_BOOL:
        return typed("boolean");
    case PARAM_OBJECT:
        return typed("object");
    case PARAM_STRINGS:
    case PARAM_INTS:
        j = typed("array");
        json_put(j, "items", typed(p->type == PARAM_INTS ? "integer" : "string"));
        return j;
    case PARAM_NAME_OR_INT:
        return name_or_int_schema(p);
    case PARAM_ANY:
        return json_object();
    case PARAM_STRING:
    case PARAM_BASE64:
    case PARAM_PATH:
    case PARAM_TEXT:
        break;
    }
    return string_schema(p);
}

/* Lets the schema of an optional argument accept null. */
static struct json *or_null(struct json *take)
{
    struct json *j = json_object(), *any = json_array();
    json_push(any, take);
    json_push(any, typed("null"));
    json_put(j, "anyOf", any);
    return j;
}

/* Without `default`, by which generated clients would have to give the argument. */
static void put_words(struct json *schema, const struct param *p, const char *about)
{
    struct buf text = BUF_INIT(600);
    buf_addz(&text, about);
    if (p->dflt)
        buf_addf(&text, "; without it: %s", p->dflt);
    json_put_z(schema, "description", buf_z(&text));
    buf_release(&text);
}

/* {"required":[NAME],"properties":{NAME:{"type":"string"}}} */
static struct json *has_string(const char *name)
{
    struct json *j = json_object(), *names = json_array(), *one = json_object();
    json_push_str(names, str_of(name));
    json_put(one, name, typed("string"));
    json_put(j, "required", names);
    json_put(j, "properties", one);
    return j;
}

/* The schema that requires one of a path's two names. */
static struct json *either_name(const struct param *p)
{
    char other[NAME_SIZE];
    struct json *j = json_object(), *any = json_array();
    other_name(p, other);
    json_push(any, has_string(p->name));
    json_push(any, has_string(other));
    json_put(j, "anyOf", any);
    return j;
}

static void put_property(struct json *to, const struct param *p, bool required)
{
    char other[NAME_SIZE];
    struct json *j = param_schema(p);
    other_name(p, other);
    if (!required && p->type != PARAM_ANY)
        j = or_null(j);
    put_words(j, p, p->about);
    json_put(to, p->name, j);
    if (p->type == PARAM_PATH) {
        struct buf about = BUF_INIT(400);
        struct json *bytes = typed("string");
        json_put_z(bytes, "contentEncoding", "base64");
        bytes = or_null(bytes);
        buf_addf(&about, "The exact bytes of %s, instead of it", p->name);
        json_put_z(bytes, "description", buf_z(&about));
        json_put(to, other, bytes);
        buf_release(&about);
    }
}

/* Adds the members of an object in JSON. */
static void put_rule(struct json *to, const char *rule)
{
    struct err e = ERR_INIT;
    struct json *all = json_parse(str_of(rule), &e);
    for (struct json *v = json_first(all); v; v = json_next(v)) {
        struct buf text = BUF_INIT(16 << 10);
        if (json_print(&text, v) == 0)
            json_put(to, json_name(v), json_parse(buf_str(&text), &e));
        buf_release(&text);
    }
    json_free(all);
}

struct json *params_schema(const struct param_list *l)
{
    struct json *j = typed("object"), *props = json_object(), *required = json_array(),
                *all = json_array(), *examples = json_array();
    struct err e = ERR_INIT;
    for (const struct param *p = l->params; p && p->name; p++) {
        bool simply = p->required && p->type != PARAM_PATH;
        put_property(props, p, simply);
        if (simply)
            json_push_str(required, str_of(p->name));
        else if (p->required)
            json_push(all, either_name(p));
    }
    json_put_z(j, "description", l->about);
    json_put(j, "properties", props);
    if (json_count(required) > 0)
        json_put(j, "required", required);
    else
        json_free(required);
    if (json_count(all) > 0)
        json_put(j, "allOf", all);
    else
        json_free(all);
    json_put_bool(j, "additionalProperties", false);
    if (l->ignored) {
        struct json *patterns = json_object();
        struct buf pattern = BUF_INIT(600);
        buf_addf(&pattern, "^(%s)$", l->ignored);
        json_put(patterns, buf_z(&pattern), json_object());
        json_put(j, "patternProperties", patterns);
        buf_release(&pattern);
    }
    if (l->rule)
        put_rule(j, l->rule);
    json_push(examples, json_parse(str_of(l->example ? l->example : "{}"), &e));
    json_put(j, "examples", examples);
    return j;
}

/* ---- the manual ---- */

enum { HELP_COLUMN = 15, HELP_WIDTH = 79 };

/* A sentence in lines, each indented. */
static void put_lines(struct buf *out, const char *text)
{
    size_t at = 0;
    for (struct str rest = str_of(text); rest.n > 0;) {
        struct str word = str_cut(&rest, ' ');
        bool fresh = at == 0 || at + 1 + word.n > HELP_WIDTH;
        buf_addf(out, "%s%*s%.*s", fresh && at > 0 ? "\n" : "",
                 fresh ? HELP_COLUMN : 1, "", STR_ARG(word));
        at = (fresh ? HELP_COLUMN : at + 1) + word.n;
    }
    buf_addc(out, '\n');
}

void params_help(const struct param_list *l, struct buf *out)
{
    for (const struct param *p = l->params; p && p->name; p++) {
        buf_addf(out, "  %-12s ", p->name);
        put_type(out, p);
        if (p->type == PARAM_PATH)
            buf_addf(out, ", or %s%s", p->name, base64_end);
        buf_addz(out, p->required ? ", required" : "");
        if (p->dflt)
            buf_addf(out, " (%s)", p->dflt);
        buf_addc(out, '\n');
        put_lines(out, p->about);
    }
}
