/* SPDX-License-Identifier: MIT */
/*
 * Reads the beginning of an event's line without parsing all of it, cuts long events and
 * masks secrets.
 *
 *   {"id":N,"timestamp":"…","key":"…","session":"…"[,"client_id":…],"action":…
 *   {"id":N,"timestamp":"…","cause":N,"session":"…"[,"client_id":…][,"output":{"from":N,
 *       "to":N}],…
 */
#include "action/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* ---- looking ---- */

static inline bool skip(struct str *s, struct str text)
{
    if (s->n < text.n || memcmp(s->p, text.p, text.n) != 0)
        return false;
    *s = str_n(s->p + text.n, s->n - text.n);
    return true;
}

static bool take_number(struct str *s, uint64_t *out)
{
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    if (str_to_u64(str_sub(*s, 0, n), out) < 0)
        return false;
    *s = str_sub(*s, n, s->n);
    return true;
}

/* Takes a string with its quotes. */
static struct str take_string(struct str *s)
{
    size_t i = 1;
    if (s->n == 0 || s->p[0] != '"')
        return str_n(s->p, 0);
    while (i < s->n && s->p[i] != '"')
        i += s->p[i] == '\\' ? 2 : 1;
    if (i >= s->n)
        return str_n(s->p, 0);
    struct str token = str_n(s->p, i + 1);
    *s = str_n(s->p + token.n, s->n - token.n);
    return token;
}

void event_members(struct str line, struct event_members *out)
{
    struct event_line head;
    *out = (struct event_members){.kind = EVENT_OTHER};
    if (!event_head(line, &head))
        return;
    out->id = head.id;
    const char *behind = head.stamp.p + EVENT_STAMP + 1;
    struct str s = str_n(behind, line.n - (size_t)(behind - line.p));
    if (skip(&s, STR(",\"key\":"))) {
        struct str key = take_string(&s);
        if (key.n != ACTION_KEY + 2)
            return;
        out->kind = EVENT_ACTION;
        out->key = str_sub(key, 1, ACTION_KEY);
    } else if (skip(&s, STR(",\"cause\":")) && take_number(&s, &out->cause)) {
        out->kind = EVENT_END;
    } else {
        return;
    }
    if (skip(&s, STR(",\"session\":"))) {
        struct str name = take_string(&s);
        out->session = name.n > 2 ? str_sub(name, 1, name.n - 2) : str_n(s.p, 0);
    }
    if (skip(&s, STR(",\"client_id\":")))
        out->client_id = take_string(&s);
    out->has_output = out->kind == EVENT_END && skip(&s, STR(",\"output\":{\"from\":")) &&
                      take_number(&s, &out->from) && skip(&s, STR(",\"to\":")) &&
                      take_number(&s, &out->to) && skip(&s, STR("}"));
    out->ended = out->has_output && skip(&s, STR(",\"observation\":\"ended\","));
}

int event_unquote(struct str token, struct buf *out)
{
    struct err e;
    struct json *j = json_parse(token, &e);
    int r = json_is_string(j) ? buf_adds(out, json_str_value(j, "")) : -1;
    json_free(j);
    return r;
}

/* ---- too long ---- */

enum { SHORTENED = 48 }; /* bytes of the note, and more */

void event_shorten(struct json *j, size_t most)
{
    for (struct json *v = json_first(j), *next; v; v = next) {
        next = json_next(v);
        struct str s = json_str_value(v, "");
        if (json_is_string(v) && s.n > most && json_name(v) &&
            str_starts(s, STR("data:"))) {
            json_put_z(j, json_name(v), ""); /* a part of a picture is not a picture */
        } else if (json_is_string(v) && s.n > most && json_name(v)) {
            struct buf b = BUF_INIT(most + SHORTENED);
            buf_adds(&b, str_n(s.p, utf8_cut(s, most - SHORTENED)));
            buf_addf(&b, " [... %zu bytes in all]", s.n);
            json_put_str(j, json_name(v), buf_str(&b));
            buf_release(&b);
        } else if (json_is_object(v) || json_is_array(v)) {
            event_shorten(v, most);
        }
    }
}

/* ---- secrets ---- */

const struct str log_hidden = STR("<secret_hidden>");

/* An action begins with its key. The key is random, so it is not masked. */
#define KEY_HEAD "{\"key\":\""

/* Keeps a secret; s is its form in JSON without quotes. Returns as actions_add_secret. */
static int keep_secret(struct actions *all, struct str plain, struct str s, struct err *e)
{
    for (unsigned i = 0; i < all->nsecrets; i++) {
        if (str_eq(all->secrets[i], s))
            return 0;
    }
    if (all->nsecrets == SECRETS_MAX)
        return err_set(e, ERR_LIMIT,
                       "there are %d secrets already, and no more can be hidden",
                       SECRETS_MAX);
    if (all->secret_bytes + s.n + 1 > SECRETS_BYTES)
        return err_set(e, ERR_LIMIT,
                       "there is no room for a secret of %zu bytes: as JSON all secrets "
                       "have at most %d bytes, and %zu are used",
                       s.n, SECRETS_BYTES, all->secret_bytes);
    all->plain[all->nsecrets] = str_n(xstrndup(plain.p, plain.n), plain.n);
    all->secrets[all->nsecrets++] = str_n(xstrndup(s.p, s.n), s.n);
    all->secret_bytes += s.n + 1;
    return 1;
}

int actions_add_secret(struct actions *all, struct str value, struct err *e)
{
    struct buf b = BUF_INIT(8 * SECRET_MAX);
    int r = 0;
    if (value.n > SECRET_MAX)
        r = err_set(e, ERR_INVALID, "a secret is a string of at most %d bytes",
                    SECRET_MAX);
    else if (value.n > 0 && value.n < SECRET_MIN)
        r = err_set(e, ERR_INVALID, "a secret of less than %d bytes cannot be hidden",
                    SECRET_MIN);
    else if (value.n > 0 && json_quote(&b, value) < 0)
        r = err_set(e, ERR_INVALID, "a secret that is not UTF-8 cannot be hidden");
    else if (value.n > 0)
        r = keep_secret(all, value, str_sub(buf_str(&b), 1, b.n - 2), e);
    buf_release(&b);
    return r;
}

/* Finds the longest secret that s begins with. */
static size_t secret_at(const struct actions *all, struct str s)
{
    size_t n = 0;
    for (unsigned i = 0; i < all->nsecrets; i++) {
        if (all->secrets[i].n > n && str_starts(s, all->secrets[i]))
            n = all->secrets[i].n;
    }
    return n;
}

static bool has_secret(const struct actions *all, struct str text)
{
    for (unsigned i = 0; i < all->nsecrets; i++) {
        if (text.n >= all->secrets[i].n &&
            memmem(text.p, text.n, all->secrets[i].p, all->secrets[i].n))
            return true;
    }
    return false;
}

bool actions_find_secret(const struct actions *all, struct str text, size_t *at,
                         size_t *n)
{
    bool found = false;
    for (unsigned i = 0; i < all->nsecrets; i++) {
        struct str secret = all->plain[i];
        ptrdiff_t where = str_find(text, secret);
        if (where < 0 || (found && (size_t)where > *at) ||
            (found && (size_t)where == *at && secret.n <= *n))
            continue;
        found = true;
        *at = (size_t)where;
        *n = secret.n;
    }
    return found;
}

bool actions_has_secrets(const struct actions *all) { return all->nsecrets > 0; }

size_t actions_secret_tail(const struct actions *all, struct str s)
{
    size_t best = 0;
    for (unsigned i = 0; i < all->nsecrets; i++) {
        struct str secret = all->plain[i];
        for (size_t n = s.n < secret.n ? s.n : secret.n - 1; n > best; n--) {
            const char *at = s.p + s.n - n;
            if (*at == *secret.p && memcmp(at, secret.p, n) == 0)
                best = n;
        }
    }
    return best;
}

/* Whether the string that ends before rest is the name of a member. */
static bool is_name(struct str rest)
{
    size_t i = 0;
    while (i < rest.n && rest.p[i] == ' ')
        i++;
    return i < rest.n && rest.p[i] == ':';
}

unsigned actions_mask(const struct actions *all, struct buf *text)
{
    struct str s = buf_str(text);
    unsigned count = 0;
    if (!has_secret(all, s))
        return 0;
    struct buf out = BUF_INIT(text->max);
    bool fits = true;
    if (str_starts(s, STR(KEY_HEAD)) && s.n > strlen(KEY_HEAD) + ACTION_KEY) {
        size_t n = strlen(KEY_HEAD) + ACTION_KEY + 1;
        fits = buf_add(&out, s.p, n) == 0;
        s = str_sub(s, n, s.n);
    }
    while (s.n > 0 && fits) {
        struct str token = take_string(&s);
        if (token.n == 0) {
            fits = buf_addc(&out, s.p[0]) == 0;
            s = str_sub(s, 1, s.n);
            continue;
        }
        bool name = is_name(s);
        for (size_t i = 0; i < token.n && fits;) {
            size_t n = name || i == 0 ? 0 : secret_at(all, str_sub(token, i, token.n));
            size_t step = n ? n : token.p[i] == '\\' && i + 1 < token.n ? 2 : 1;
            fits = n ? buf_adds(&out, log_hidden) == 0
                     : buf_add(&out, token.p + i, step) == 0;
            count += n > 0;
            i += step;
        }
    }
    buf_release(text);
    *text = out;
    if (!fits)
        buf_truncate(text, 0); /* its overflow mark stays: no unmasked text is used */
    return count;
}
