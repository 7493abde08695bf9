/* SPDX-License-Identifier: MIT */
#include "front/events/delta.h"

#include "action/log.h"
#include "base/enc.h"
#include "base/utf8.h"

size_t delta_piece(const struct actions *all, struct str bytes, bool base64, bool last)
{
    size_t n = bytes.n < DELTA_MAX ? bytes.n : DELTA_MAX;
    if (base64)
        return n;
    size_t whole = utf8_cut(bytes, n);
    n = whole > 0 || (!last && bytes.n < 4) ? whole : n;
    return last && n == bytes.n ? n : n - actions_secret_tail(all, str_sub(bytes, 0, n));
}

void delta_put(struct buf *out, const struct actions *all, const struct delta_of *d,
               struct str bytes)
{
    buf_addf(out,
             "{\"observation\":\"delta\",\"cause\":%llu,\"session\":\"%s\",\"content\":",
             (unsigned long long)d->cause, d->session);
    if (d->base64) {
        buf_addc(out, '"');
        enc_base64(out, bytes);
        buf_addc(out, '"');
    } else {
        json_quote(out, bytes);
    }
    buf_addf(out, ",\"extras\":{\"from\":%llu,\"to\":%llu%s%s%s}}",
             (unsigned long long)d->from, (unsigned long long)d->to,
             d->gap ? ",\"gap\":true" : "", d->after ? ",\"after\":true" : "",
             d->base64 ? ",\"encoding\":\"base64\"" : "");
    if (!d->base64)
        actions_mask(all, out);
}
