/* SPDX-License-Identifier: MIT */
/* Any bytes as a form, at once and byte by byte: the same happens. */
#include "base/buf.h"
#include "base/log.h"
#include "http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int on_part(void *arg, const struct multipart_part *p)
{
    struct buf *out = arg;
    buf_addc(out, '[');
    buf_adds(out, p->name);
    buf_addc(out, '|');
    buf_adds(out, p->filename);
    buf_addc(out, ']');
    return 0;
}

static int on_data(void *arg, struct str bytes) { return buf_adds(arg, bytes); }
static int on_end(void *arg) { return buf_addc(arg, '$'); }

static const struct multipart_events events = {on_part, on_data, on_end};

static int pass(const uint8_t *data, size_t n, size_t step, struct buf *out)
{
    struct err e = ERR_INIT;
    struct multipart *m = multipart_new(STR("multipart/form-data; boundary=b"), &events,
                                        out, &e);
    int r = 0;
    for (size_t at = 0; r == 0 && at < n; at += step)
        r = multipart_feed(m, str_sub(str_n(data, n), at, step), &e);
    if (r == 0)
        r = multipart_finish(m, &e);
    multipart_free(m);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf whole = BUF_INIT(1 << 22), parts = BUF_INIT(1 << 22);
    int a = pass(data, n, n ? n : 1, &whole), b = pass(data, n, 1, &parts);
    BUG_ON(a != b || (a == 0 && !str_eq(buf_str(&whole), buf_str(&parts))));
    buf_release(&whole);
    buf_release(&parts);
    return 0;
}
