/* SPDX-License-Identifier: MIT */
/*
 * EntryInfo of filesystem.Filesystem, made from the result of the action `stat`. As in
 * envd, a link has the type and mode of its target, and its own size, times and
 * permissions as text; a broken link has no type.
 */
#include "front/e2b/own.h"

#include "base/clock.h"

#include <stdio.h>

static bool is(const struct json *facts, const char *name, const char *word)
{
    return str_eq(json_str(facts, name, ""), str_of(word));
}

static const char *type_of(const struct json *facts)
{
    const char *name = is(facts, "type", "link") ? "to_type" : "type";
    return is(facts, name, "file")     ? "FILE_TYPE_FILE"
           : is(facts, name, "folder") ? "FILE_TYPE_DIRECTORY"
                                       : NULL;
}

static unsigned octal(struct str text)
{
    unsigned n = 0;
    for (size_t i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '7'; i++)
        n = n * 8 + (unsigned)(text.p[i] - '0');
    return n & 07777;
}

/* Appends the form of Go's fs.FileMode: "-rw-r--r--", "dtrwxrwxrwx", "Lrwxrwxrwx". */
static void put_permissions(struct buf *b, const struct json *facts, unsigned mode)
{
    static const char rwx[] = "rwxrwxrwx";
    size_t before = b->n;
    buf_addz(b, is(facts, "type", "folder")   ? "d"
                : is(facts, "type", "link")   ? "L"
                : is(facts, "type", "device") ? "Dc"
                : is(facts, "type", "pipe")   ? "p"
                : is(facts, "type", "socket") ? "S"
                                              : "");
    buf_addz(b, mode & 04000 ? "u" : "");
    buf_addz(b, mode & 02000 ? "g" : "");
    buf_addz(b, mode & 01000 ? "t" : "");
    if (b->n == before)
        buf_addc(b, '-');
    for (int i = 0; i < 9; i++)
        buf_addc(b, mode & (0400u >> i) ? rwx[i] : '-');
}

/* Appends a time of RFC 3339 with microseconds. */
static void put_time(struct buf *b, double seconds)
{
    char iso[25];
    int64_t us = (int64_t)(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5));
    int64_t part = us % 1000000;
    if (part < 0)
        part += 1000000;
    clock_iso((us - part) / 1000, iso);
    buf_addf(b, "%.19s.%06lldZ", iso, (long long)part);
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    buf_addf(b, ",\"%s\":", name);
    json_quote(b, text);
}

static void put_name(struct buf *b, const char *member, const struct json *facts,
                     const char *name, const char *number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%lld", (long long)json_int(facts, number, 0));
    put_text(b, member, json_str(facts, name, digits));
}

/* Appends the metadata: X-Metadata-KEY of an upload is the attribute user.e2b.KEY. */
static void put_metadata(struct buf *b, const struct json *facts)
{
    static const struct str prefix = STR(E2B_METADATA);
    bool any = false;
    const struct json *v = json_first(json_get(facts, "attributes"));
    for (; v; v = json_next(v)) {
        struct str name = str_of(json_name(v));
        if (!str_starts(name, prefix))
            continue;
        buf_addz(b, any ? "," : ",\"metadata\":{");
        json_quote(b, str_sub(name, prefix.n, name.n));
        buf_addc(b, ':');
        json_quote(b, json_str_value(v, ""));
        any = true;
    }
    if (any)
        buf_addc(b, '}');
}

struct str e2b_base_name(struct str path)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = path.n; i > 0; i--) {
        if (path.p[i - 1] == '/' && path.n > 1)
            return str_sub(path, i, path.n);
    }
    return path;
}

void e2b_put_entry(struct buf *b, struct str path, const struct json *facts)
{
    bool link = is(facts, "type", "link");
    const char *type = type_of(facts);
    unsigned mode = octal(json_str(facts, link ? "to_mode" : "mode", ""));
    int64_t size = json_int(facts, "size", 0);
    buf_addz(b, "{\"name\":");
    json_quote(b, e2b_base_name(path));
    if (type)
        put_text(b, "type", str_of(type));
    put_text(b, "path", path);
    if (size > 0)
        buf_addf(b, ",\"size\":\"%lld\"", (long long)size);
    if (mode & 0777)
        buf_addf(b, ",\"mode\":%u", mode & 0777);
    buf_addz(b, ",\"permissions\":\"");
    put_permissions(b, facts, octal(json_str(facts, "mode", "")));
    buf_addc(b, '"');
    put_name(b, "owner", facts, "owner", "uid");
    put_name(b, "group", facts, "group", "gid");
    buf_addz(b, ",\"modifiedTime\":\"");
    put_time(b, json_num(facts, "mtime", 0));
    buf_addc(b, '"');
    if (link)
        put_text(b, "symlinkTarget",
                 json_has(facts, "to") ? json_str(facts, "to", "")
                                       : json_str(facts, "target", ""));
    put_metadata(b, facts);
    buf_addc(b, '}');
}
