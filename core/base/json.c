/* SPDX-License-Identifier: MIT */
/*
 * JSON over cJSON. cJSON keeps the tree. This file checks texts and prints
 * trees itself, because cJSON's parser is lenient (any control byte is white
 * space, 01 and 1. are numbers, "\u12g4" is U+0000 and silently ends its
 * string) and its printer loses digits above 1e15. The check takes one pass,
 * without recursion, before cJSON parses the text.
 *
 * A struct json is a cJSON under another name.
 */
#include "base/json.h"

#include "base/log.h"
#include "base/scan.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cJSON.h"

/*
 * A value costs cJSON some 80 bytes, also where its text is two: this bounds
 * what a frame of commas can make of our memory.
 */
#define VALUES_MAX (1 << 20)
/* Bytes of a number: more digits than any double needs. */
#define NUMBER_MAX 128
/* The first integer that a double cannot tell from its successor. */
#define INTEGER_END 9007199254740992.0

static const cJSON *in(const struct json *j) { return (const cJSON *)j; }

static cJSON *inw(struct json *j) { return (cJSON *)j; }

/* A whole number below 2^53: no other integer has the same double. */
static bool exact(double v)
{
    return v > -INTEGER_END && v < INTEGER_END && v == (double)(int64_t)v;
}

/* ---- checking a text ---- */

/* A pass over a text: `at` moves, `why` is set at the first fault. */
struct check {
    struct str text;
    size_t at;
    const char *why;
    unsigned values;
    int depth;
};

/* The byte at `at + ahead`, 0 past the end (a real NUL is never legal either). */
static unsigned char peek(const struct check *c, size_t ahead)
{
    return c->at + ahead < c->text.n ? (unsigned char)c->text.p[c->at + ahead] : 0;
}

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

static bool check_digits(struct check *c)
{
    size_t from = c->at;
    while (is_digit(peek(c, 0)))
        c->at++;
    return c->at > from;
}

/* At a backslash: passes over the escape; a wrong \u sets why. */
static void check_escape(struct check *c)
{
    if (peek(c, 1) != 'u') {
        c->at += 2;
        return;
    }
    struct str hex = str_sub(c->text, c->at + 2, 4);
    for (size_t i = 0; i < 4; i++) {
        if (i >= hex.n || !isxdigit((unsigned char)hex.p[i])) {
            c->why = "\\u needs four hex digits";
            return;
        }
    }
    if (str_eq(hex, STR("0000")))
        c->why = "a string must not hold U+0000";
    else
        c->at += 6;
}

static void check_string(struct check *c)
{
    c->at++;
    while (c->at < c->text.n && !c->why) {
        c->at += scan_unescaped(str_sub(c->text, c->at, c->text.n));
        if (c->at == c->text.n)
            break;
        unsigned char b = peek(c, 0);
        if (b == '"') {
            c->at++;
            return;
        }
        if (b == '\\')
            check_escape(c);
        else if (b < 0x20)
            c->why = "a control character in a string must be escaped";
        else
            c->at++;
    }
    if (!c->why)
        c->why = "a string has no end";
}

static void check_number(struct check *c)
{
    size_t from = c->at;
    if (peek(c, 0) == '-')
        c->at++;
    bool ok = true;
    if (peek(c, 0) == '0')
        c->at++;
    else
        ok = check_digits(c);
    if (ok && peek(c, 0) == '.') {
        c->at++;
        ok = check_digits(c);
    }
    if (ok && (peek(c, 0) == 'e' || peek(c, 0) == 'E')) {
        c->at += peek(c, 1) == '+' || peek(c, 1) == '-' ? 2 : 1;
        ok = check_digits(c);
    }
    struct str s = str_sub(c->text, from, c->at - from);
    if (!ok || is_digit(peek(c, 0))) {
        c->why = "malformed number";
    } else if (s.n > NUMBER_MAX) {
        c->why = "a number has too many digits";
    } else {
        char z[NUMBER_MAX + 1];
        memcpy(z, s.p, s.n);
        z[s.n] = '\0';
        if (!isfinite(strtod(z, NULL)))
            c->why = "a number is too large";
    }
}

static void check_token(struct check *c)
{
    /* And the letters of true, false and null. */
    static const struct str others = {"[]{},:aeflnrstu", 15};
    unsigned char b = peek(c, 0);
    if (b == '"')
        check_string(c);
    else if (b == '-' || is_digit(b))
        check_number(c);
    else if (str_chr(others, (char)b) >= 0)
        c->at++;
    else
        c->why = "no value begins so";
    bool open = b == '[' || b == '{';
    c->depth += open ? 1 : b == ']' || b == '}' ? -1 : 0;
    /* Every value but the first of its array or object follows a comma. */
    c->values += open || b == ',';
    if (c->depth > JSON_DEPTH_MAX)
        c->why = "nested too deeply";
    else if (c->values > VALUES_MAX)
        c->why = "too many values";
}

static void skip_blanks(struct check *c)
{
    unsigned char b;
    while ((b = peek(c, 0)) == ' ' || b == '\t' || b == '\n' || b == '\r')
        c->at++;
}

/*
 * Checks only what cJSON accepts and RFC 8259 does not. cJSON itself checks the order of
 * tokens and the brackets. On failure *c has the place and the reason.
 */
static int check_text(struct check *c)
{
    if (!utf8_valid(c->text)) {
        c->why = "not valid UTF-8";
        return -1;
    }
    for (skip_blanks(c); c->at < c->text.n && !c->why; skip_blanks(c))
        check_token(c);
    return c->why ? -1 : 0;
}

/* ---- memory ---- */

/*
 * Slots for values, names and short strings: a tree of an ordinary message takes no other
 * memory. Few such trees exist at once. With musl's malloc and free they took most of a
 * fifth of the worker's time for a command.
 */
union json_slot {
    union json_slot *next; /* of the free ones */
    char bytes[64];
};

enum { SLOTS = 256 }; /* for the messages that one turn takes from a connection */

static union json_slot slots[SLOTS], *free_slot;
static size_t slots_used; /* slots from here on were never used, and have no page yet */

/* An allocation of more than XALLOC_SMALL failed; cJSON does not report why it failed. */
static bool no_memory;

static void *json_alloc(size_t n)
{
    if (n <= sizeof(union json_slot) && free_slot) {
        union json_slot *c = free_slot;
        free_slot = c->next;
        return c;
    }
    if (XALLOC_REUSE && n <= sizeof(union json_slot) && slots_used < SLOTS)
        return &slots[slots_used++];
    void *p = malloc(n);
    if (!p && n <= XALLOC_SMALL)
        xalloc_failed(n);
    no_memory = no_memory || !p;
    return p;
}

static void json_release(void *p)
{
    union json_slot *c = p;
    if ((uintptr_t)p - (uintptr_t)slots >= sizeof(slots)) {
        free(p);
        return;
    }
    c->next = free_slot;
    free_slot = c;
}

/* Before the first value. */
static void use_slots(void)
{
    cJSON_Hooks hooks = {.malloc_fn = json_alloc, .free_fn = json_release};
    cJSON_InitHooks(&hooks);
}

struct json *json_parse(struct str text, struct err *e)
{
    if (str_trim(text).n == 0) {
        err_set(e, ERR_INVALID, "invalid JSON: empty");
        return NULL;
    }
    struct check c = {.text = text};
    if (check_text(&c) < 0) {
        err_set(e, ERR_INVALID, "invalid JSON at byte %zu: %s", c.at, c.why);
        return NULL;
    }
    const char *end = text.p;
    use_slots();
    no_memory = false;
    cJSON *j = cJSON_ParseWithLengthOpts(text.p, text.n, &end, 0);
    size_t at = (size_t)(end - text.p);
    if (j && str_trim(str_sub(text, at, text.n)).n == 0)
        return (struct json *)j;
    if (!j && no_memory)
        err_set(e, ERR_LIMIT, "there is no memory for %zu bytes of JSON", text.n);
    else
        err_set(e, ERR_INVALID, "invalid JSON at byte %zu: %s", at,
                j ? "more follows the value" : "not a value, or misplaced");
    cJSON_Delete(j);
    return NULL;
}

struct json *json_parse_kept(struct str text, struct err *e)
{
    struct json *j = json_parse(text, e);
    if (!j && e->code == ERR_LIMIT)
        xalloc_failed(text.n);
    return j;
}

void json_free(struct json *j)
{
    cJSON_Delete(inw(j));
}

/* ---- printing ---- */

/* Length of the beginning of s that a JSON string has unescaped. */
static size_t plain_run(struct str s)
{
    size_t i = 0;
    for (;;) {
        i += scan_unescaped(str_sub(s, i, s.n));
        bool high = i < s.n && (unsigned char)s.p[i] >= 0x80;
        uint32_t cp;
        int n = high ? utf8_decode(str_sub(s, i, s.n), &cp) : 0;
        if (n <= 0)
            return i;
        i += (size_t)n;
    }
}

/* Appends the escape of the byte c, which a string cannot have unescaped. */
static int add_escape(struct buf *out, unsigned char c)
{
    static const char letter[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
    };
    static const char hex[] = "0123456789abcdef";
    /* \u0000 would be refused by our own parser: replaced as other non-text. */
    if (c == 0 || c >= 0x80)
        return buf_addz(out, "\\ufffd");
    char z[6] = {'\\', (char)c, '0', '0', hex[c >> 4], hex[c & 15]};
    if (c == '"' || c == '\\')
        return buf_add(out, z, 2);
    z[1] = letter[c] ? letter[c] : 'u';
    return buf_add(out, z, letter[c] ? 2 : 6);
}

int json_quote(struct buf *out, struct str s)
{
    size_t before = out->n;
    if (buf_addc(out, '"') < 0)
        return -1;
    while (s.n > 0) {
        size_t n = plain_run(s);
        if (buf_add(out, s.p, n) < 0)
            goto full;
        s = str_sub(s, n, s.n);
        if (s.n == 0)
            break;
        if (add_escape(out, (unsigned char)s.p[0]) < 0)
            goto full;
        s = str_sub(s, utf8_bad(s), s.n);
    }
    if (buf_addc(out, '"') == 0)
        return 0;

full:
    buf_truncate(out, before);
    return -1;
}

static int print_number(struct buf *out, double v)
{
    if (!isfinite(v))
        return buf_addz(out, "null"); /* JSON has no word for it */
    if (exact(v))
        return buf_addi(out, (int64_t)v);
    char z[32];
    /* The shortest of these that reads back as the same double. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(z, sizeof(z), "%.*g", digits, v);
        if (strtod(z, NULL) == v)
            break;
    }
    return buf_addz(out, z);
}

/* As deep as the tree, which parsing bounds and builders make by hand. */
static int print(struct buf *out, const cJSON *j)
{
    bool object = cJSON_IsObject(j);
    if (cJSON_IsString(j))
        return json_quote(out, str_of(j->valuestring));
    if (cJSON_IsNumber(j))
        return print_number(out, j->valuedouble);
    if (cJSON_IsBool(j))
        return buf_addz(out, cJSON_IsTrue(j) ? "true" : "false");
    if (!object && !cJSON_IsArray(j))
        return buf_addz(out, "null");
    if (buf_addc(out, object ? '{' : '[') < 0)
        return -1;
    for (const cJSON *child = j->child; child; child = child->next) {
        if (child != j->child && buf_addc(out, ',') < 0)
            return -1;
        if (object &&
            (json_quote(out, str_of(child->string)) < 0 || buf_addc(out, ':') < 0))
            return -1;
        if (print(out, child) < 0)
            return -1;
    }
    return buf_addc(out, object ? '}' : ']');
}

int json_print(struct buf *out, const struct json *j)
{
    size_t before = out->n;
    if (print(out, in(j)) == 0)
        return 0;
    buf_truncate(out, before);
    return -1;
}

/* ---- looking ---- */

/* Any of the types; NULL has none. */
static bool is(const struct json *j, int types)
{
    return j && (in(j)->type & types) != 0;
}

bool json_is_object(const struct json *j) { return is(j, cJSON_Object); }

bool json_is_array(const struct json *j) { return is(j, cJSON_Array); }

bool json_is_string(const struct json *j) { return is(j, cJSON_String); }

bool json_is_number(const struct json *j) { return is(j, cJSON_Number); }

bool json_is_bool(const struct json *j) { return is(j, cJSON_True | cJSON_False); }

bool json_is_null(const struct json *j) { return is(j, cJSON_NULL); }

struct json *json_get(const struct json *j, const char *name)
{
    if (!json_is_object(j))
        return NULL;
    return (struct json *)cJSON_GetObjectItemCaseSensitive(in(j), name);
}

bool json_has(const struct json *j, const char *name)
{
    return json_get(j, name) != NULL;
}

static bool whole(const struct json *j, int64_t *out)
{
    if (!json_is_number(j) || !exact(in(j)->valuedouble))
        return false;
    *out = (int64_t)in(j)->valuedouble;
    return true;
}

struct str json_str_value(const struct json *j, const char *dflt)
{
    return str_of(json_is_string(j) ? in(j)->valuestring : dflt);
}

int64_t json_int_value(const struct json *j, int64_t dflt)
{
    whole(j, &dflt);
    return dflt;
}

double json_num_value(const struct json *j, double dflt)
{
    return json_is_number(j) ? in(j)->valuedouble : dflt;
}

struct str json_str(const struct json *j, const char *name, const char *dflt)
{
    return json_str_value(json_get(j, name), dflt);
}

int64_t json_int(const struct json *j, const char *name, int64_t dflt)
{
    return json_int_value(json_get(j, name), dflt);
}

double json_num(const struct json *j, const char *name, double dflt)
{
    return json_num_value(json_get(j, name), dflt);
}

bool json_bool(const struct json *j, const char *name, bool dflt)
{
    const struct json *m = json_get(j, name);
    return json_is_bool(m) ? is(m, cJSON_True) : dflt;
}

/* The member; NULL if it is absent or null, and then the caller returns 0. */
static const struct json *wanted(const struct json *j, const char *name)
{
    const struct json *m = json_get(j, name);
    return m && !json_is_null(m) ? m : NULL;
}

int json_want_str(const struct json *j, const char *name, struct str *out, struct err *e)
{
    const struct json *m = wanted(j, name);
    if (!m)
        return 0;
    if (!json_is_string(m))
        return err_set(e, ERR_INVALID, "%s must be a string", name);
    *out = json_str_value(m, NULL);
    return 0;
}

int json_want_int(const struct json *j, const char *name, int64_t *out, struct err *e)
{
    const struct json *m = wanted(j, name);
    if (!m || whole(m, out))
        return 0;
    if (!json_is_number(m))
        return err_set(e, ERR_INVALID, "%s must be a number", name);
    return err_set(e, ERR_INVALID, "%s must be a whole number below 2^53", name);
}

int json_want_num(const struct json *j, const char *name, double *out, struct err *e)
{
    const struct json *m = wanted(j, name);
    if (!m)
        return 0;
    if (!json_is_number(m))
        return err_set(e, ERR_INVALID, "%s must be a number", name);
    *out = in(m)->valuedouble;
    return 0;
}

int json_want_bool(const struct json *j, const char *name, bool *out, struct err *e)
{
    const struct json *m = wanted(j, name);
    if (!m)
        return 0;
    if (!json_is_bool(m))
        return err_set(e, ERR_INVALID, "%s must be true or false", name);
    *out = is(m, cJSON_True);
    return 0;
}

struct json *json_first(const struct json *j)
{
    return j ? (struct json *)in(j)->child : NULL;
}

struct json *json_next(const struct json *child)
{
    return (struct json *)in(child)->next;
}

const char *json_name(const struct json *child) { return in(child)->string; }

int json_count(const struct json *j) { return j ? cJSON_GetArraySize(in(j)) : 0; }

/* ---- building ---- */

static struct json *made(cJSON *j)
{
    if (!j)
        xalloc_failed(sizeof(cJSON));
    return (struct json *)j;
}

/* The bytes of a string value, which json_release frees: a copy, repaired if needed. */
static char *make_bytes(struct str s)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    use_slots();
    if (utf8_valid(s) && str_chr(s, 0) < 0) {
        char *p = json_alloc(s.n + 1);
        if (!p)
            xalloc_failed(s.n);
        if (s.n)
            memcpy(p, s.p, s.n);
        p[s.n] = 0;
        return p;
    }
    if (utf8_repair(&b, s, true) < 0)
        xalloc_failed(s.n);
    return buf_take(&b);
}

static struct json *make_str(struct str s)
{
    cJSON *j = inw(made(cJSON_CreateNull()));
    j->valuestring = make_bytes(s);
    j->type = cJSON_String;
    return (struct json *)j;
}

struct json *json_object(void) { return made(cJSON_CreateObject()); }

struct json *json_array(void) { return made(cJSON_CreateArray()); }

/* The first child of a parent has a prev, too. */
static bool is_loose(struct json *j) { return !inw(j)->prev && !inw(j)->next; }

void json_put(struct json *obj, const char *name, struct json *take)
{
    BUG_ON(!json_is_object(obj) || !take);
    ASSERT(is_loose(take) && take != obj);
    struct json *old = json_get(obj, name);
    if (old)
        cJSON_DetachItemViaPointer(inw(obj), inw(old));
    if (!cJSON_AddItemToObject(inw(obj), name, inw(take)))
        xalloc_failed(strlen(name) + 1);
    cJSON_Delete(inw(old)); /* last: name may be its own */
}

struct json *json_copy(const struct json *j)
{
    return made(cJSON_Duplicate(in(j), true));
}

struct json *json_take(struct json *obj, const char *name)
{
    struct json *v = json_get(obj, name);
    return v ? made(cJSON_DetachItemViaPointer(inw(obj), inw(v))) : NULL;
}

void json_drop(struct json *parent, struct json *child)
{
    cJSON_Delete(cJSON_DetachItemViaPointer(inw(parent), inw(child)));
}

void json_put_str(struct json *obj, const char *name, struct str s)
{
    json_put(obj, name, make_str(s));
}

void json_put_z(struct json *obj, const char *name, const char *z)
{
    json_put_str(obj, name, str_of(z));
}

void json_put_int(struct json *obj, const char *name, int64_t v)
{
    json_put_num(obj, name, (double)v);
}

void json_put_num(struct json *obj, const char *name, double v)
{
    json_put(obj, name, made(cJSON_CreateNumber(v)));
}

void json_put_bool(struct json *obj, const char *name, bool v)
{
    json_put(obj, name, made(cJSON_CreateBool(v)));
}

void json_put_null(struct json *obj, const char *name)
{
    json_put(obj, name, made(cJSON_CreateNull()));
}

void json_push(struct json *arr, struct json *take)
{
    BUG_ON(!json_is_array(arr) || !take);
    ASSERT(is_loose(take) && take != arr);
    cJSON_AddItemToArray(inw(arr), inw(take));
}

void json_push_str(struct json *arr, struct str s) { json_push(arr, make_str(s)); }

void json_push_int(struct json *arr, int64_t v)
{
    json_push(arr, made(cJSON_CreateNumber((double)v)));
}
