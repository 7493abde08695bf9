/* SPDX-License-Identifier: MIT */
/* Checks values, one after the other, against their fields. */
#include "front/model/own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ITEM_ERRORS = 16 }; /* reported errors of one list */

/* ---- errors ---- */

/* Whether a part of the name shows that the value is a secret. */
static bool is_secret(const char *name)
{
    static const char *const parts[] = {"key",    "token",         "secret",
                                        "passwd", "authorization", "password"};
    for (size_t i = 0; name && i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcasestr(name, parts[i]))
            return true;
    }
    return false;
}

/* Returns a copy of value in which secrets are blanked. The caller owns it. */
static struct json *blanked(const char *name, const struct json *value)
{
    if (is_secret(name)) {
        struct json *holder = json_object();
        json_put_z(holder, "v", "**********");
        struct json *stars = json_take(holder, "v");
        json_free(holder);
        return stars;
    }
    if (!json_is_object(value))
        return json_copy(value);
    struct json *copy = json_object();
    for (struct json *v = json_first(value); v; v = json_next(v))
        json_put(copy, json_name(v), blanked(json_name(v), v));
    return copy;
}

static struct json *add_error(struct json **errors, const char *type, const char *loc,
                              const char *name, const char *msg, const struct json *input)
{
    struct json *e = json_object(), *place = json_array();
    json_push_str(place, str_of(loc));
    if (name)
        json_push_str(place, str_of(name));
    json_put_z(e, "type", type);
    json_put(e, "loc", place);
    json_put_z(e, "msg", msg);
    if (input)
        json_put(e, "input", blanked(name, input));
    else
        json_put_null(e, "input");
    if (!*errors)
        *errors = json_array();
    json_push(*errors, e);
    return e;
}

void model_error(struct json **errors, const char *type, const char *loc,
                 const char *name, const char *msg, const struct json *input)
{
    add_error(errors, type, loc, name, msg, input);
}

void model_text(const char *model, const struct json *errors, struct buf *out)
{
    int n = json_count(errors);
    buf_addf(out, "%d validation error%s for %s", n, n == 1 ? "" : "s", model);
    for (struct json *e = json_first(errors); e; e = json_next(e)) {
        struct json *last = NULL, *loc = json_get(e, "loc");
        for (struct json *v = json_first(loc); v; v = json_next(v))
            last = v;
        struct str name = json_str_value(last, "");
        struct str msg = json_str(e, "msg", ""), type = json_str(e, "type", "");
        if (json_count(loc) > 1)
            buf_addf(out, "\n%.*s", STR_ARG(name));
        buf_addf(out, "\n  %.*s [type=%.*s]", STR_ARG(msg), STR_ARG(type));
    }
}

/* ---- values ---- */

/* The check of one value, and where its errors are reported. */
struct model_check {
    const struct model_field *f;
    const char *loc;
    const struct json *value; /* as received */
    struct json **errors;
};

static struct json *wrong(const struct model_check *c, const char *type, const char *msg)
{
    add_error(c->errors, type, c->loc, c->f->name, msg, c->value);
    return NULL;
}

static struct json *wrong_ctx(const struct model_check *c, const char *type,
                              const char *msg, const char *key, const char *text)
{
    struct json *e = add_error(c->errors, type, c->loc, c->f->name, msg, c->value);
    struct json *ctx = json_object();
    json_put_z(ctx, key, text);
    json_put(e, "ctx", ctx);
    return NULL;
}

static struct json *out_of_range(const struct model_check *c, const char *type,
                                 const char *what, const char *key, int64_t limit)
{
    char msg[120];
    snprintf(msg, sizeof(msg), "Input should be %s %lld", what, (long long)limit);
    struct json *e = add_error(c->errors, type, c->loc, c->f->name, msg, c->value);
    struct json *ctx = json_object();
    json_put_int(ctx, key, limit);
    json_put(e, "ctx", ctx);
    return NULL;
}

/* Returns a value without an owner: it was made as a member, and is taken out. */
static struct json *alone(struct json *holder)
{
    struct json *v = json_take(holder, "v");
    json_free(holder);
    return v;
}

static struct json *number_value(double n)
{
    struct json *holder = json_object();
    json_put_num(holder, "v", n);
    return alone(holder);
}

static struct json *text_value(struct str s)
{
    struct json *holder = json_object();
    json_put_str(holder, "v", s);
    return alone(holder);
}

static struct json *bool_value(bool b)
{
    struct json *holder = json_object();
    json_put_bool(holder, "v", b);
    return alone(holder);
}

static struct json *check_range(const struct model_check *c, double n)
{
    const struct model_field *f = c->f;
    if (f->has_gt && !(n > (double)f->gt))
        return out_of_range(c, "greater_than", "greater than", "gt", f->gt);
    if (f->has_ge && !(n >= (double)f->ge))
        return out_of_range(c, "greater_than_equal", "greater than or equal to", "ge",
                            f->ge);
    if (f->has_le && !(n <= (double)f->le))
        return out_of_range(c, "less_than_equal", "less than or equal to", "le", f->le);
    return number_value(n);
}

/* Reads a decimal number with blanks around it. Returns false if s is anything else. */
static bool read_number(struct str s, double *out)
{
    char text[64], *end;
    s = str_trim(s);
    if (s.n == 0 || s.n >= sizeof(text) ||
        strspn(s.p, "+-.0123456789eE_") < s.n) /* not 0x…, not nan */
        return false;
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_')
            text[n++] = s.p[i];
    }
    text[n] = 0;
    *out = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*out);
}

static struct json *check_int(const struct model_check *c)
{
    double n;
    if (json_is_string(c->value)) {
        struct str s = json_str_value(c->value, "");
        if (!read_number(s, &n) || n != floor(n) || str_chr(s, 'e') >= 0 ||
            str_chr(s, 'E') >= 0)
            return wrong(c, "int_parsing",
                         "Input should be a valid integer, unable to parse string as an "
                         "integer");
    } else if (json_is_number(c->value)) {
        n = json_num_value(c->value, 0);
        if (n != floor(n))
            return wrong(c, "int_from_float",
                         "Input should be a valid integer, got a number with a "
                         "fractional part");
    } else if (json_is_bool(c->value)) {
        struct json *holder = json_object();
        json_put(holder, "v", json_copy(c->value));
        n = json_bool(holder, "v", false);
        json_free(holder);
    } else {
        return wrong(c, "int_type", "Input should be a valid integer");
    }
    if (fabs(n) >= 9007199254740992.0)
        return wrong(c, "int_parsing_size",
                     "Unable to parse input string as an integer, exceeded maximum size");
    return check_range(c, n);
}

static struct json *check_number(const struct model_check *c)
{
    double n = json_num_value(c->value, 0);
    if (json_is_string(c->value)) {
        if (!read_number(json_str_value(c->value, ""), &n))
            return wrong(c, "float_parsing",
                         "Input should be a valid number, unable to parse string as a "
                         "number");
    } else if (!json_is_number(c->value)) {
        return wrong(c, "float_type", "Input should be a valid number");
    }
    return check_range(c, n);
}

static struct json *check_bool(const struct model_check *c)
{
    static const char *const words[2][6] = {{"false", "0", "no", "off", "f", "n"},
                                            {"true", "1", "yes", "on", "t", "y"}};
    if (json_is_bool(c->value))
        return json_copy(c->value);
    struct str s = json_str_value(c->value, "");
    for (int i = 0; json_is_string(c->value) && i < 12; i++) {
        if (s.n == strlen(words[i / 6][i % 6]) &&
            strncasecmp(s.p, words[i / 6][i % 6], s.n) == 0)
            return bool_value(i / 6);
    }
    double n = json_num_value(c->value, 2);
    if (json_is_number(c->value) && (n == 0 || n == 1))
        return bool_value(n == 1);
    if (json_is_string(c->value) || json_is_number(c->value))
        return wrong(c, "bool_parsing",
                     "Input should be a valid boolean, unable to interpret input");
    return wrong(c, "bool_type", "Input should be a valid boolean");
}

static struct json *check_string(const struct model_check *c)
{
    if (!json_is_string(c->value))
        return wrong(c, "string_type", "Input should be a valid string");
    if (c->f->fits && !c->f->fits(json_str_value(c->value, ""))) {
        char msg[200];
        snprintf(msg, sizeof(msg), "String should match pattern '%s'", c->f->pattern);
        return wrong_ctx(c, "string_pattern_mismatch", msg, "pattern", c->f->pattern);
    }
    return json_copy(c->value);
}

/* "'a', 'b' or 'c'" */
static void put_choices(const char *choices, struct buf *out)
{
    struct str rest = str_of(choices);
    for (bool first = true; rest.n > 0; first = false) {
        struct str word = str_cut(&rest, ' ');
        buf_addf(out, "%s'%.*s'", first ? "" : rest.n > 0 ? ", " : " or ", STR_ARG(word));
    }
}

static struct json *check_choice(const struct model_check *c)
{
    struct str rest = str_of(c->f->choices), given = json_str_value(c->value, "");
    while (json_is_string(c->value) && rest.n > 0) {
        if (str_eq(str_cut(&rest, ' '), given))
            return json_copy(c->value);
    }
    struct buf expected = BUF_INIT(1024), msg = BUF_INIT(1100);
    put_choices(c->f->choices, &expected);
    buf_addf(&msg, "Input should be %s", buf_z(&expected));
    wrong_ctx(c, c->f->type == MODEL_ENUM ? "enum" : "literal_error", buf_z(&msg),
              "expected", buf_z(&expected));
    buf_release(&expected);
    buf_release(&msg);
    return NULL;
}

static struct json *check_uuid(const struct model_check *c)
{
    char hex[33];
    if (!json_is_string(c->value))
        return wrong(c, "uuid_type",
                     "UUID input should be a string, bytes or UUID object");
    struct str s = json_str_value(c->value, "");
    if (!model_uuid(s, hex))
        return wrong_ctx(c, "uuid_parsing",
                         "Input should be a valid UUID, expected 32 hexadecimal digits "
                         "with or without hyphens",
                         "error", "expected 32 hexadecimal digits");
    return text_value(str_of(hex));
}

static struct json *check_time(const struct model_check *c)
{
    int64_t us;
    double n;
    struct str s = json_str_value(c->value, "");
    if (json_is_number(c->value) || (json_is_string(c->value) && read_number(s, &n))) {
        if (json_is_number(c->value))
            n = json_num_value(c->value, 0);
        /* As in pydantic: a number above 2e10 is in milliseconds. */
        return number_value(floor(fabs(n) > 2e10 ? n * 1e3 : n * 1e6));
    }
    if (!json_is_string(c->value))
        return wrong(c, "datetime_type", "Input should be a valid datetime");
    const char *why = model_time(s, &us);
    if (!why)
        return number_value((double)us);
    char msg[160];
    bool date = s.n <= 10;
    snprintf(msg, sizeof(msg), "Input should be a valid datetime%s, %s",
             date ? " or date" : "", why);
    return wrong_ctx(c, date ? "datetime_from_date_parsing" : "datetime_parsing", msg,
                     "error", why);
}

/* Adds the error of an item or a member; its number or name is the last part of loc. */
static void wrong_item(const struct model_check *c, int number, const struct json *v)
{
    struct json *e = add_error(c->errors, "string_type", c->loc, c->f->name,
                               "Input should be a valid string", v);
    if (c->f->type == MODEL_MAP)
        json_push_str(json_get(e, "loc"), str_of(json_name(v)));
    else
        json_push_int(json_get(e, "loc"), number);
}

/* Checks that every item or member is a string. */
static struct json *check_strings(const struct model_check *c)
{
    bool map = c->f->type == MODEL_MAP;
    if (map ? !json_is_object(c->value) : !json_is_array(c->value))
        return map ? wrong(c, "dict_type", "Input should be a valid dictionary")
                   : wrong(c, "list_type", "Input should be a valid list");
    int number = 0, bad = 0;
    for (struct json *v = json_first(c->value); v && bad < ITEM_ERRORS;
         v = json_next(v)) {
        if (!json_is_string(v)) {
            wrong_item(c, number, v);
            bad++;
        }
        number++;
    }
    return bad ? NULL : json_copy(c->value);
}

static struct json *check_value(const struct model_check *c)
{
    if (json_is_null(c->value) && c->f->nullable)
        return json_copy(c->value);
    switch (c->f->type) {
    case MODEL_STRING:
        return check_string(c);
    case MODEL_INT:
        return check_int(c);
    case MODEL_NUMBER:
        return check_number(c);
    case MODEL_BOOL:
        return check_bool(c);
    case MODEL_UUID:
        return check_uuid(c);
    case MODEL_TIME:
        return check_time(c);
    case MODEL_LITERAL:
    case MODEL_ENUM:
        return check_choice(c);
    case MODEL_STRINGS:
    case MODEL_MAP:
        return check_strings(c);
    case MODEL_OBJECT:
        if (!json_is_object(c->value))
            return wrong(c, "dict_type", "Input should be a valid dictionary");
        return json_copy(c->value);
    case MODEL_ANY:
        break;
    }
    return json_copy(c->value);
}

struct json *model_value(const struct model_field *f, const struct json *value,
                         const char *loc, struct json **errors)
{
    struct model_check c = {.f = f, .loc = loc, .value = value, .errors = errors};
    return check_value(&c);
}

/* ---- members ---- */

static const struct model_field *find_field(const struct model *m, const char *name)
{
    const struct model_field *f = m->fields;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    return f->name ? f : NULL;
}

struct json *model_members(const struct model *m, const struct json *body,
                           const char *loc, struct json **errors)
{
    struct json *out = json_object();
    int before = json_count(*errors);
    bool query = strcmp(loc, "body") != 0;
    for (const struct model_field *f = m->fields; f->name; f++) {
        const struct json *given = json_get(body, f->name);
        struct json *v = given ? model_value(f, given, loc, errors) : NULL;
        if (v)
            json_put(out, f->name, v);
        else if (!given && f->required)
            add_error(errors, "missing", loc, f->name, "Field required",
                      query ? NULL : body);
    }
    for (struct json *v = m->closed ? json_first(body) : NULL; v; v = json_next(v)) {
        if (!find_field(m, json_name(v)))
            add_error(errors, "extra_forbidden", loc, json_name(v),
                      "Extra inputs are not permitted", v);
    }
    if (json_count(*errors) == before)
        return out;
    json_free(out);
    return NULL;
}
