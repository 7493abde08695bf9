/* SPDX-License-Identifier: MIT */
/*
 * The local channel: the frames in a stream are the same whether it comes at
 * once or byte by byte, and written again they are the bytes that came.
 */
#include "base/log.h"
#include "ipc/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Moves the whole frames of `in` to `out` by way of the writers. -1: too long. */
static int pass(struct buf *in, struct buf *out)
{
    struct frame f;
    size_t used;
    int rc;
    while ((rc = frame_parse(buf_str(in), &f, &used)) > 0) {
        uint64_t offset;
        struct str bytes;
        BUG_ON(used != FRAME_HEAD + f.payload.n || used > in->n);
        if (frame_bytes(f.payload, &offset, &bytes) == 0)
            BUG_ON(frame_add_bytes(out, f.type, offset, bytes) < 0);
        else
            BUG_ON(frame_add(out, f.type, f.payload) < 0);
        buf_consume(in, used);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf in = BUF_INIT(n), whole = BUF_INIT(n), parts = BUF_INIT(n);
    BUG_ON(buf_add(&in, data, n) < 0);
    int at_once = pass(&in, &whole);
    BUG_ON(whole.n + in.n != n || (n && memcmp(buf_z(&whole), data, whole.n) != 0));

    buf_reset(&in);
    int one_by_one = 0;
    for (size_t i = 0; i < n && one_by_one == 0; i++) {
        BUG_ON(buf_addc(&in, (char)data[i]) < 0);
        one_by_one = pass(&in, &parts);
    }
    BUG_ON(at_once != one_by_one || !str_eq(buf_str(&whole), buf_str(&parts)));
    buf_release(&in);
    buf_release(&whole);
    buf_release(&parts);
    return 0;
}
