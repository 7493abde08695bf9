/* SPDX-License-Identifier: MIT */
/*
 * EPUB (W3C, EPUB 3.3): the pages in the order of the spine of the package document,
 * which META-INF/container.xml names. Each is XHTML.
 */
#include "document/package.h"
#include "document/xml.h"

#include "base/map.h"

enum { CHAPTERS_MAX = 20000, MEMORY = 16 << 20 };

struct epub {
    struct package p;
    struct arena memory;
    struct map items; /* names of parts, by the ids of the manifest */
    struct buf name, main, part;
};

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Appends a path of a URL, without what follows a #, with %20 as a blank. */
static void put_path(struct buf *out, struct str url)
{
    for (size_t i = 0; i < url.n && url.p[i] != '#'; i++) {
        bool coded = url.p[i] == '%' && i + 2 < url.n && hex(url.p[i + 1]) >= 0 &&
                     hex(url.p[i + 2]) >= 0;
        buf_addc(out,
                 coded ? (char)(hex(url.p[i + 1]) << 4 | hex(url.p[i + 2])) : url.p[i]);
        i += coded ? 2 : 0;
    }
}

/* Keeps the name of a part of the manifest (5.6.2). */
static void take_item(struct epub *b, const struct xml *x)
{
    struct buf id = BUF_INIT(4096), href = BUF_INIT(4096), path = BUF_INIT(4096);
    if (xml_attr(x, "id", &id) && xml_attr(x, "href", &href)) {
        put_path(&path, buf_str(&href));
        buf_reset(&href);
        package_join(buf_str(&b->name), buf_str(&path), &href);
        char *copy = arena_get(&b->memory, href.n + 1);
        if (copy) {
            memcpy(copy, buf_z(&href), href.n);
            map_put(&b->items, buf_str(&id), copy);
        }
    }
    buf_release(&id);
    buf_release(&href);
    buf_release(&path);
}

/* Appends the page that the spine refers to (5.7.2). */
static int put_page(struct epub *b, const struct xml *x, struct buf *out, struct err *e)
{
    struct buf id = BUF_INIT(4096);
    const char *name = xml_attr(x, "idref", &id) ? map_get(&b->items, buf_str(&id))
                                                 : NULL;
    buf_release(&id);
    if (!name)
        return 0;
    if (package_read(&b->p, str_of(name), &b->part, e) < 0) {
        if (e->code != ERR_NOTFOUND)
            return -1;
        *e = (struct err)ERR_INIT;
        return 0;
    }
    size_t before = out->n;
    long body = str_find(buf_str(&b->part), STR("<body"));
    if (docread_html(str_sub(buf_str(&b->part), body > 0 ? (size_t)body : 0, b->part.n),
                     true, out, e) < 0)
        return -1;
    return out->n == before || buf_addc(out, '\n') == 0 ? 0 : docread_too_long(out, e);
}

static int read_spine(struct epub *b, struct buf *out, struct err *e)
{
    struct xml x = XML_INIT(buf_str(&b->main));
    enum xml_kind k;
    int rc = 0, n = 0;
    while (rc == 0 && (k = xml_next(&x)) != XML_END) {
        if (k == XML_BAD)
            return err_set(e, ERR_INVALID, "it is damaged: its text is cut off");
        if (k == XML_OPEN && xml_is(&x, "item"))
            take_item(b, &x);
        else if (k == XML_OPEN && xml_is(&x, "itemref"))
            rc = n++ < CHAPTERS_MAX
                     ? put_page(b, &x, out, e)
                     : err_set(e, ERR_LIMIT, "it has more than %d pages", CHAPTERS_MAX);
    }
    return rc;
}

static int read_all(struct epub *b, struct buf *out, struct err *e)
{
    bool found = false;
    if (package_read(&b->p, STR("META-INF/container.xml"), &b->part, e) < 0)
        return -1;
    struct xml x = XML_INIT(buf_str(&b->part));
    while (!found && xml_open(&x))
        found = xml_is(&x, "rootfile") && xml_attr(&x, "full-path", &b->name);
    if (!found)
        return err_set(e, ERR_INVALID, "it does not name its package document");
    if (package_read(&b->p, STR("META-INF/encryption.xml"), &b->part, e) == 0 &&
        str_find(buf_str(&b->part), STR("xmlenc#aes")) >= 0)
        return err_set(e, ERR_UNSUPPORTED,
                       "it is encrypted: save it again without a password");
    *e = (struct err)ERR_INIT;
    return package_read(&b->p, buf_str(&b->name), &b->main, e) < 0
               ? -1
               : read_spine(b, out, e);
}

int docread_epub(int fd, struct buf *out, struct err *e)
{
    struct epub b = {.p = PACKAGE_INIT(fd)};
    arena_init(&b.memory, MEMORY);
    map_init(&b.items);
    buf_init(&b.name, 4096);
    buf_init(&b.main, PACKAGE_PART_MAX);
    buf_init(&b.part, PACKAGE_PART_MAX);
    int rc = read_all(&b, out, e);
    buf_release(&b.name);
    buf_release(&b.main);
    buf_release(&b.part);
    map_release(&b.items);
    arena_release(&b.memory);
    return rc;
}
