/* SPDX-License-Identifier: MIT */
/*
 * The action language of strangers. What was found, printed as calls again, is found
 * again and prints the same.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "webpage/browse_action.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* -1: there was no call. Names need not be known. */
static int print(struct str text, struct buf *out, bool ended)
{
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    int r = browse_parse(&t, text, &e, &why);
    BUG_ON(r < 0 && (!e.text[0] || !why.text[0]));
    for (size_t i = 0; i < t.n; i++) {
        struct browse_bound b;
        BUG_ON(t.calls[i].at >= text.n);
        buf_addf(out, "%.*s(", STR_ARG(t.calls[i].name));
        for (const struct browse_value *v = t.calls[i].args; v; v = v->next) {
            BUG_ON(v->kind == BROWSE_STR && !utf8_valid(v->text));
            buf_addf(out, "%.*s%s", STR_ARG(v->name), v->name.n ? "=" : "");
            browse_repr(out, v);
            buf_addz(out, ",");
        }
        buf_addz(out, ")\n");
        if (r == 0)
            browse_bind(&b, &t.calls[i], &e);
    }
    r = t.n > 0 || !ended ? 0 : -1;
    browse_text_release(&t);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf once = BUF_INIT(64 << 20), twice = BUF_INIT(64 << 20);
    if (n < 4096 && utf8_valid(str_n(data, n)) &&
        print(str_n(data, n), &once, true) == 0) {
        print(buf_str(&once), &twice, false);
        BUG_ON(once.n < 4096 && !str_eq(buf_str(&once), buf_str(&twice)));
    } else {
        print(str_n(data, n), &once, true);
    }
    buf_release(&once);
    buf_release(&twice);
    return 0;
}
