/* SPDX-License-Identifier: MIT */
/*
 * Runs our parsers on cases of public suites, for tests/compat/suites.py. A request is a
 * line "WHAT LENGTH..." and then that many bytes for each field; an answer is a line with
 * its length and then its bytes.
 *
 *   tokens STATE LAST TEXT             tokens of HTML, one a line, bytes in hex
 *   tree   SCRIPTING CONTEXT TEXT      the tree of HTML as html5lib-tests write it
 *   json   TEXT                        "yes" or "no" by json_parse and jsontext_valid
 *   url    TEXT BASE                   what url_join makes of it, and the host and the
 *                                      port that url_parse finds there; "": nothing
 */
#include "base/json.h"
#include "base/jsontext.h"
#include "html/own.h"
#include "http/url.h"
#include "http/url_join.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIELDS = 3, TEXT_MAX = 64 << 20 };

static struct buf out = BUF_INIT(TEXT_MAX);

static void put_hex(struct str s)
{
    buf_addc(&out, ' ');
    buf_addc(&out, '=');
    for (size_t i = 0; i < s.n; i++)
        buf_addf(&out, "%02x", (unsigned char)s.p[i]);
}

/* ---- tokens ---- */

static void put_token(const struct html_token *t)
{
    static const char kinds[] = {[HTML_END_OF_FILE] = 'F', [HTML_START] = 'S',
                                 [HTML_END] = 'E',         [HTML_CHARS] = 'C',
                                 [HTML_COMMENT] = 'N',     [HTML_DOCTYPE] = 'D'};
    buf_addc(&out, kinds[t->kind]);
    buf_addf(&out, " %d", t->kind == HTML_START && t->closed);
    put_hex(t->text);
    for (const struct html_attr *a = t->attrs; a; a = a->next) {
        put_hex(a->name);
        put_hex(a->value);
    }
    if (t->kind == HTML_DOCTYPE) {
        buf_addf(&out, " %d %d %d", t->doctype.force_quirks, t->doctype.public_id.p != NULL,
                 t->doctype.system_id.p != NULL);
        put_hex(t->doctype.public_id);
        put_hex(t->doctype.system_id);
    }
    buf_addc(&out, '\n');
}

static void tokens(struct str state, struct str last, struct str text)
{
    struct arena a;
    struct buf page = BUF_INIT(TEXT_MAX);
    struct html_token token;
    arena_init(&a, TEXT_MAX);
    bool cdata = str_eq(state, STR("CDATA section state"));
    if (cdata)
        buf_addz(&page, "<![CDATA[");
    buf_adds(&page, text);
    struct html_tokens t = {.a = &a, .s = buf_str(&page), .cdata = cdata, .notes = true};
    if (!str_eq(state, STR("Data state")) && !cdata) {
        bool script = str_eq(state, STR("Script data state"));
        t.raw = last.n ? last : script ? STR("script") : STR("-");
        t.raw_refs = str_eq(state, STR("RCDATA state"));
        t.rest = str_eq(state, STR("PLAINTEXT state"));
    }
    while (html_token(&t, &token) && token.kind != HTML_END_OF_FILE)
        put_token(&token);
    buf_release(&page);
    arena_release(&a);
}

/* ---- trees ---- */

static void put_indent(int depth)
{
    buf_addz(&out, "| ");
    for (int i = 0; i < depth; i++)
        buf_addz(&out, "  ");
}

/* An attribute of a namespace is written with a blank where its name has the colon. */
static struct str attr_name(const struct html_node *n, const struct html_attr *a)
{
    static const char *const names[][2] = {
        {"xlink:actuate", "xlink actuate"}, {"xlink:arcrole", "xlink arcrole"},
        {"xlink:href", "xlink href"},       {"xlink:role", "xlink role"},
        {"xlink:show", "xlink show"},       {"xlink:title", "xlink title"},
        {"xlink:type", "xlink type"},       {"xml:lang", "xml lang"},
        {"xml:space", "xml space"},         {"xmlns", "xmlns xmlns"},
        {"xmlns:xlink", "xmlns xlink"}};
    for (size_t i = 0; n->foreign && i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq(a->name, str_of(names[i][0])))
            return str_of(names[i][1]);
    }
    return a->name;
}

static int by_name(const void *a, const void *b)
{
    struct str x = ((const struct html_attr *)a)->name;
    struct str y = ((const struct html_attr *)b)->name;
    int c = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return c ? c : (x.n > y.n) - (x.n < y.n);
}

static void put_attrs(const struct html_node *n, int depth)
{
    struct html_attr all[HTML_ATTRS_MAX * 2];
    size_t count = 0;
    for (const struct html_attr *a = n->attrs; a && count < HTML_ATTRS_MAX * 2;
         a = a->next)
        all[count++] = (struct html_attr){attr_name(n, a), a->value, NULL};
    qsort(all, count, sizeof(*all), by_name);
    for (size_t i = 0; i < count; i++) {
        put_indent(depth);
        buf_addf(&out, "%.*s=\"", STR_ARG(all[i].name));
        buf_adds(&out, all[i].value);
        buf_addz(&out, "\"\n");
    }
}

static void put_doctype(const struct html_node *n)
{
    struct str public_id = html_get(n, "public"), system_id = html_get(n, "system");
    buf_addz(&out, "<!DOCTYPE ");
    buf_adds(&out, n->name);
    if (public_id.n || system_id.n)
        buf_addf(&out, " \"%.*s\" \"%.*s\"", STR_ARG(public_id), STR_ARG(system_id));
    buf_addz(&out, ">\n");
}

static void put_children(const struct html_node *n, int depth);

static void put_element(const struct html_node *n, int depth)
{
    buf_addc(&out, '<');
    if (n->foreign)
        buf_addz(&out, n->math ? "math " : "svg ");
    buf_adds(&out, n->name);
    buf_addz(&out, ">\n");
    put_attrs(n, depth + 1);
    if (n->tag == HTML_template && !n->foreign) {
        put_indent(++depth);
        buf_addz(&out, "content\n");
    }
    put_children(n, depth + 1);
}

static void put_children(const struct html_node *n, int depth)
{
    for (const struct html_node *c = n->first; c; c = c->next) {
        put_indent(depth);
        if (c->tag == HTML_TEXT) {
            buf_addc(&out, '"');
            buf_adds(&out, c->name);
            for (; c->next && c->next->tag == HTML_TEXT; c = c->next)
                buf_adds(&out, c->next->name);
            buf_addz(&out, "\"\n");
        } else if (c->tag == HTML_NOTE && c->doctype) {
            put_doctype(c);
        } else if (c->tag == HTML_NOTE) {
            buf_addz(&out, "<!-- ");
            buf_adds(&out, c->name);
            buf_addz(&out, " -->\n");
        } else {
            put_element(c, depth);
        }
    }
}

static void tree(struct str scripting, struct str context, struct str text)
{
    struct arena a;
    struct err e = ERR_INIT;
    arena_init(&a, TEXT_MAX);
    struct html_opts o = {.notes = true, .scripting = str_eq(scripting, STR("1"))};
    if (str_starts(context, STR("svg ")) || str_starts(context, STR("math "))) {
        o.foreign = true;
        o.math = context.p[0] == 'm';
        str_cut(&context, ' ');
    }
    o.context = context.n ? context : (struct str){0};
    struct html_node *top = html_parse_as(&a, text, &o, &e);
    if (top)
        put_children(top, 0);
    else
        buf_addz(&out, e.text);
    arena_release(&a);
}

/* ---- the others ---- */

static void json(struct str text)
{
    struct json *j = json_parse(text, NULL);
    buf_addz(&out, j ? "yes" : "no");
    buf_addz(&out, jsontext_valid(text) ? " yes" : " no");
    json_free(j);
}

static void url(struct str text, struct str base)
{
    struct buf whole = BUF_INIT(TEXT_MAX);
    struct url u;
    if (url_join(&whole, base, text) == 0) {
        buf_adds(&out, buf_str(&whole));
        if (!url_scheme_is(buf_str(&whole), "file")) {
            if (url_parse(&u, buf_str(&whole), NULL) < 0)
                buf_addz(&out, " url_parse refuses it");
            else
                buf_addf(&out, " %.*s %u", STR_ARG(u.host), u.port);
        }
    }
    buf_release(&whole);
}

/* ---- requests ---- */

static bool take(struct buf *b, size_t n)
{
    buf_reset(b);
    char *p = buf_reserve(b, n + 1);
    if (!p || fread(p, 1, n, stdin) != n)
        return false;
    buf_commit(b, n);
    return true;
}

static bool one(struct buf *fields)
{
    char what[16];
    size_t n[FIELDS] = {0};
    if (scanf("%15s %zu %zu %zu", what, &n[0], &n[1], &n[2]) != 4 || getchar() != '\n')
        return false;
    for (int i = 0; i < FIELDS; i++) {
        if (!take(&fields[i], n[i]))
            return false;
    }
    struct str a = buf_str(&fields[0]), b = buf_str(&fields[1]), c = buf_str(&fields[2]);
    buf_reset(&out);
    if (strcmp(what, "tokens") == 0)
        tokens(a, b, c);
    else if (strcmp(what, "tree") == 0)
        tree(a, b, c);
    else if (strcmp(what, "json") == 0)
        json(a);
    else if (strcmp(what, "url") == 0)
        url(a, b);
    printf("%zu\n", out.n);
    fwrite(out.p, 1, out.n, stdout);
    fflush(stdout);
    return true;
}

int main(void)
{
    struct buf fields[FIELDS];
    for (int i = 0; i < FIELDS; i++)
        fields[i] = (struct buf)BUF_INIT(TEXT_MAX);
    while (one(fields))
        continue;
    for (int i = 0; i < FIELDS; i++)
        buf_release(&fields[i]);
    buf_release(&out);
    return ferror(stdin) != 0;
}
