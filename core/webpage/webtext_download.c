/* SPDX-License-Identifier: MIT */
/*
 * Answers that are kept as files, if a folder for them is given: attachments (RFC 6266),
 * and anything that is not a page, text, document or picture.
 */
#include "webpage/webtext_own.h"

#include "file/files.h"
#include "webpage/webbody.h"
#include "webpage/own.h"

#include <limits.h>
#include <unistd.h>

enum { SAME_NAME_MAX = 1000, FILE_NAME_MAX = 200 };

bool webtext_is_download(const struct webtext *w)
{
    struct str rest = buf_str(&w->disposition), kind = str_trim(str_cut(&rest, ';'));
    struct webbody b = {.bytes = buf_str(&w->body),
                        .type = buf_str(&w->type),
                        .encoding = buf_str(&w->encoding),
                        .url = str_of(w->ask.url)};
    return w->spec.downloads &&
           (webpage_is_word(kind, "attachment") || !webbody_is_shown(&b));
}

/* Appends the name in the field: filename*, else filename. */
static void field_name(struct str field, struct buf *out)
{
    struct str rest = field;
    bool extended = false;
    str_cut(&rest, ';');
    while (rest.n && !extended) {
        struct str value = str_cut(&rest, ';'), key = str_trim(str_cut(&value, '='));
        value = str_trim(value);
        extended = webpage_is_word(key, "filename*");
        if (!extended && !webpage_is_word(key, "filename"))
            continue;
        buf_reset(out);
        if (extended) {
            str_cut(&value, '\'');
            str_cut(&value, '\'');
            http_decode(out, value, false);
        } else {
            if (value.n > 1 && value.p[0] == '"')
                value = str_sub(value, 1, value.n - 1 - str_ends(value, STR("\"")));
            buf_adds(out, value);
        }
    }
}

/* Appends the last part of a URL's path. */
static void url_name(struct str url, struct buf *out)
{
    url = str_cut(&url, '#');
    url = str_cut(&url, '?');
    size_t at = url.n;
    while (at && url.p[at - 1] != '/')
        at--;
    http_decode(out, str_sub(url, at, url.n), false);
}

/* Appends a name without folders and unsafe characters. */
static void put_name(struct buf *path, struct str name)
{
    size_t at = name.n;
    while (at && name.p[at - 1] != '/' && name.p[at - 1] != '\\')
        at--;
    name = str_sub(name, at, name.n);
    while (name.n && name.p[0] == '.')
        name = str_sub(name, 1, name.n);
    name = str_sub(name, 0, FILE_NAME_MAX);
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        buf_addc(path, c < ' ' || c == 0x7f ? '_' : (char)c);
    }
    if (!name.n)
        buf_addz(path, "download");
}

/* Finds FOLDER/NAME, or NAME (1) if that exists. */
static int free_path(const struct webtext *w, struct buf *path)
{
    struct buf name = BUF_INIT(4096);
    field_name(buf_str(&w->disposition), &name);
    if (!name.n)
        url_name(str_of(w->ask.url), &name);
    for (int i = 0; i < SAME_NAME_MAX; i++) {
        buf_reset(path);
        buf_addf(path, "%s/", w->spec.downloads);
        size_t from = path->n;
        put_name(path, buf_str(&name));
        long dot = -1;
        for (size_t k = from + 1; k < path->n; k++)
            dot = path->p[k] == '.' ? (long)k : dot;
        if (i) {
            struct buf ending = BUF_INIT(4096);
            if (dot > 0) {
                buf_adds(&ending, str_sub(buf_str(path), (size_t)dot, path->n));
                buf_truncate(path, (size_t)dot);
            }
            buf_addf(path, " (%d)", i);
            buf_adds(path, buf_str(&ending));
            buf_release(&ending);
        }
        if (access(buf_z(path), F_OK) < 0)
            break;
    }
    buf_release(&name);
    return path->n ? 0 : -1;
}

int webtext_save(const struct webtext *w, const struct job_child *c, struct err *e)
{
    struct buf path = BUF_INIT(PATH_MAX), plain = BUF_INIT(WEBBODY_PLAIN_MAX);
    struct webbody b = {.bytes = buf_str(&w->body),
                        .encoding = buf_str(&w->encoding),
                        .url = str_of(w->ask.url)};
    struct files_put put = {.mode = 0644, .parents = true};
    struct str bytes;
    int rc = webbody_unpack(&b, &plain, &bytes, e);
    if (rc == 0 && free_path(w, &path) < 0)
        rc = err_set(e, ERR_LIMIT, "cannot keep %.200s: its name is too long",
                     w->ask.url);
    rc = rc < 0 ? rc : files_replace(buf_z(&path), bytes, &put, e);
    if (rc == 0 && job_put(c, buf_str(&path)) < 0)
        rc = err_set(e, ERR_IO, "cannot report where the download is");
    buf_release(&path);
    buf_release(&plain);
    return rc;
}
