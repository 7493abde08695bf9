/* SPDX-License-Identifier: MIT */
/* A browser's messages, whole and byte by byte: the same answers and events come of it.
 */
#include "base/log.h"
#include "cdp/cdp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void on_event(void *owner, struct str session, struct str method,
                     const struct json *params)
{
    struct buf *seen = owner;
    buf_addf(seen, "%.*s %.*s ", STR_ARG(session), STR_ARG(method));
    if (params)
        json_print(seen, params);
}

static void run(struct str bytes, size_t piece, struct buf *seen)
{
    struct cdp c;
    struct err e = ERR_INIT;
    cdp_open(&c, -1, -1, on_event, seen);
    for (int i = 0; i < 4; i++) /* two of each kind: 1 to 4 */
        (i < 2 ? cdp_send : cdp_send_big)(&c, STR("S"), "Some.call", NULL);
    for (size_t i = 0; i < bytes.n; i += piece)
        cdp_take(&c, str_sub(bytes, i, piece));
    for (int id = 1; id <= 2; id++) {
        struct json *j = cdp_wait(&c, id, 0, &e);
        if (j)
            json_print(seen, j);
        else
            buf_addf(seen, "%d %s ", id, e.text);
        json_free(j);
    }
    for (int id = 3; id <= 4; id++) {
        struct buf big = BUF_INIT(0);
        if (cdp_wait_big(&c, id, 0, &big, &e) == 0)
            buf_adds(seen, buf_str(&big));
        else
            buf_addf(seen, "%d %s ", id, e.text);
        buf_release(&big);
    }
    cdp_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf whole = BUF_INIT(16 << 20), split = BUF_INIT(16 << 20);
    run(str_n(data, n), n ? n : 1, &whole);
    run(str_n(data, n), 1, &split);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&split)));
    buf_release(&whole);
    buf_release(&split);
    return 0;
}
