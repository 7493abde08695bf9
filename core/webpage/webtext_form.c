/* SPDX-License-Identifier: MIT */
/* Forms as they are sent: HTML standard, 4.10.21; RFC 7578. */
#include "webpage/webtext_own.h"

#include "base/xalloc.h"
#include "http/url_join.h"
#include "webpage/own.h"

#include <stdio.h>
#include <stdlib.h>

enum { BODY_MAX = 8 << 20 };

#define BOUNDARY "od-form-7c3b9e51d0a84f26"

struct sending {
    struct buf *out;
    bool multipart;
    bool any;
};

static int add_encoded(struct buf *out, struct str s)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                     (c >= 'A' && c <= 'Z') || (c && strchr("*-._", c));
        if (c == '\n' && (i == 0 || s.p[i - 1] != '\r'))
            rc = buf_addz(out, "%0D%0A");
        else if (c == ' ')
            rc = buf_addc(out, '+');
        else
            rc = plain ? buf_addc(out, (char)c) : buf_addf(out, "%%%02X", c);
    }
    return rc;
}

/* Appends a name for use within quotes. */
static int add_quoted(struct buf *out, struct str s)
{
    int rc = 0;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        bool not_so = s.p[i] == '"' || s.p[i] == '\r' || s.p[i] == '\n';
        rc = not_so ? buf_addf(out, "%%%02X", s.p[i]) : buf_addc(out, s.p[i]);
    }
    return rc;
}

static int add_pair(struct sending *s, struct str name, struct str value, bool file)
{
    if (!s->multipart) {
        if ((s->any && buf_addc(s->out, '&') < 0) || add_encoded(s->out, name) < 0 ||
            buf_addc(s->out, '=') < 0)
            return -1;
        s->any = true;
        return add_encoded(s->out, value);
    }
    if (buf_addz(s->out, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"") <
            0 ||
        add_quoted(s->out, name) < 0 || buf_addz(s->out, "\"") < 0)
        return -1;
    if (file && buf_addz(s->out, "; filename=\"\"\r\nContent-Type: "
                                 "application/octet-stream") < 0)
        return -1;
    return buf_addz(s->out, "\r\n\r\n") < 0 || buf_adds(s->out, value) < 0
               ? -1
               : buf_addz(s->out, "\r\n");
}

static int add_options(struct sending *s, struct str name, const struct json *item)
{
    int rc = 0;
    const struct json *o = json_first(json_get(item, "options"));
    for (; o && rc == 0; o = json_next(o)) {
        if (json_bool(o, "selected", false) && !json_bool(o, "disabled", false))
            rc = add_pair(s, name, json_str(o, "value", ""), false);
    }
    return rc;
}

/* Constructing the entry list: 4.10.21.4. */
static int add_item(struct sending *s, const struct json *item, const struct json *button)
{
    struct str name = json_str(item, "field", ""), role = json_str(item, "role", "");
    struct str type = json_str(item, "type", "");
    bool tick = str_eq(role, STR("checkbox")) || str_eq(role, STR("radio"));
    if (json_bool(item, "disabled", false))
        return 0;
    if (str_eq(role, STR("button")) && item != button)
        return 0;
    if (webpage_is_word(type, "image")) {
        struct buf at = BUF_INIT(1024);
        int rc = 0;
        for (int i = 0; i < 2 && rc == 0; i++) {
            buf_reset(&at);
            rc = name.n < 1000 ? buf_addf(&at, "%.*s%s%c", STR_ARG(name),
                                          name.n ? "." : "", "xy"[i])
                               : 0;
            rc = rc < 0 ? rc : add_pair(s, buf_str(&at), STR("0"), false);
        }
        buf_release(&at);
        return rc;
    }
    if (!name.n || (tick && !json_bool(item, "checked", false)))
        return 0;
    if (json_has(item, "options"))
        return add_options(s, name, item);
    bool file = str_eq(role, STR("file"));
    return add_pair(s, name, file ? STR("") : json_str(item, "value", ""), file);
}

static const struct json *nth(const struct json *list, int64_t i)
{
    const struct json *j = i < 0 ? NULL : json_first(list);
    while (j && i-- > 0)
        j = json_next(j);
    return j;
}

static int add_all(struct sending *s, const struct webtext *w, int64_t form,
                   const struct json *button)
{
    int rc = 0;
    for (const struct json *j = json_first(w->tab->page.items); j && rc == 0;
         j = json_next(j)) {
        if (json_has(j, "field") && json_int(j, "form", -1) == form)
            rc = add_item(s, j, button);
    }
    if (rc == 0 && s->multipart)
        rc = buf_addz(s->out, "--" BOUNDARY "--\r\n");
    return rc;
}

static char *with_query(struct str action, struct str query)
{
    struct buf url = BUF_INIT(BODY_MAX + URL_JOIN_MAX);
    struct str rest = action, whole = str_cut(&rest, '#');
    whole = str_cut(&whole, '?');
    buf_adds(&url, whole);
    buf_addc(&url, '?');
    buf_adds(&url, query);
    return buf_take(&url);
}

int webtext_form(const struct webtext *w, const struct json *item,
                 const struct json *button, struct webtext_ask *out, struct err *e)
{
    int64_t index = json_int(item, "form", -1);
    const struct json *form = nth(w->tab->page.forms, index);
    if (!form)
        return err_set(
            e, ERR_INVALID,
            "Error: the field \"%.*s\" does not belong to a form: only a script could "
            "send it, and text mode does not run scripts",
            STR_ARG(json_str(item, "bid", "")));
    struct str action = json_str(form, "action", ""),
               method = json_str(form, "method", "");
    if (button && json_has(button, "action"))
        action = json_str(button, "action", "");
    if (button && json_has(button, "method"))
        method = json_str(button, "method", "");
    bool post = webpage_is_word(method, "post");
    struct buf text = BUF_INIT(BODY_MAX);
    struct sending s = {.out = &text,
                        .multipart = post && json_bool(form, "multipart", false)};
    if (add_all(&s, w, index, button) < 0) {
        buf_release(&text);
        return err_set(e, ERR_LIMIT, "Error: the form has more than %d MiB",
                       BODY_MAX >> 20);
    }
    *out = (struct webtext_ask){0};
    if (!post) {
        out->url = with_query(action, buf_str(&text));
        buf_release(&text);
        return 0;
    }
    out->url = xstrndup(action.p, action.n);
    out->type = xstrdup(s.multipart ? "multipart/form-data; boundary=" BOUNDARY
                                    : "application/x-www-form-urlencoded");
    out->body_n = text.n;
    out->body = buf_take(&text);
    return 0;
}
