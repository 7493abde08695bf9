/* SPDX-License-Identifier: MIT */
/*
 * A file's bytes, whatever they are: text that nothing is done to becomes the same
 * bytes again, and a line that is put somewhere is there when they are read again.
 * The first two bytes say where.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "edit/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool load(struct edit_doc *d, struct str bytes)
{
    struct edit_failure f;
    doc_init(d);
    BUG_ON(buf_adds(&d->bytes, bytes) < 0);
    return doc_decode(d, &f, "f") == 0;
}

static void check_same(const struct edit_doc *d, size_t at)
{
    struct edit_doc now;
    doc_init(&now);
    BUG_ON(doc_splice(d, &(struct doc_place){at, at, STR("")}, 1, &now) < 0);
    BUG_ON(!str_eq(buf_str(&now.bytes), buf_str(&d->bytes)));
    BUG_ON(!str_eq(doc_plain(&now), doc_plain(d)));
    doc_release(&now);
}

static void check_added(const struct edit_doc *d, size_t at)
{
    static const struct str added = {"\nline\xe2\x82\xac\n", 9};
    struct str was = doc_plain(d), is;
    struct edit_doc now, again;
    struct buf taken = BUF_INIT(EDIT_TEXT_MAX);
    doc_init(&now);
    BUG_ON(doc_splice(d, &(struct doc_place){at, at, added}, 1, &now) < 0);
    is = doc_plain(&now);
    BUG_ON(is.n != was.n + added.n || !str_eq(str_sub(is, at, added.n), added));
    BUG_ON(!str_eq(str_sub(is, 0, at), str_sub(was, 0, at)));
    BUG_ON(!str_eq(str_sub(is, at + added.n, is.n), str_sub(was, at, was.n)));
    /* What was text stays text, unless its beginning is mostly control characters. */
    if (load(&again, buf_str(&now.bytes))) {
        BUG_ON(!str_eq(doc_plain(&again), is));
        doc_take(&now, &taken);
        BUG_ON(!str_eq(doc_plain(&again), buf_str(&taken)));
    }
    buf_release(&taken);
    doc_release(&again);
    doc_release(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct edit_doc d;
    size_t place = n >= 2 ? (size_t)data[0] << 8 | data[1] : 0;
    if (load(&d, n >= 2 ? str_n(data + 2, n - 2) : str_n(NULL, 0))) {
        struct str plain = doc_plain(&d);
        BUG_ON(!utf8_valid(plain) || str_chr(plain, '\r') >= 0);
        size_t at = utf8_cut(plain, plain.n > 0 ? place % (plain.n + 1) : 0);
        check_same(&d, at);
        check_added(&d, at);
    }
    doc_release(&d);
    return 0;
}
