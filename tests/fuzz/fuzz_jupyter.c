/* SPDX-License-Identifier: MIT */
/*
 * Frames of Jupyter clients, the first byte choosing their form: one that is taken becomes
 * a line for the kernel's host, which has the same parts, and a frame again.
 */
#include "base/jsontext.h"
#include "base/limits.h"
#include "base/log.h"
#include "front/jupyter/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_same(const struct nb_message *a, const struct nb_message *b)
{
    BUG_ON(!str_eq(str_trim(a->header), str_trim(b->header)));
    BUG_ON(a->buffers.n != b->buffers.n || !str_eq(a->channel, b->channel));
}

static void check_line(const struct nb_message *m, bool v1)
{
    struct buf line = BUF_INIT(64 << 20), frame = BUF_INIT(64 << 20);
    struct buf space = BUF_INIT(64 << 20);
    struct nb_message read, again;
    bool text;
    BUG_ON(nb_put_line(&line, m) < 0);
    BUG_ON(memchr(line.p, '\n', line.n) != line.p + line.n - 1);
    struct str json = str_trim(buf_str(&line));
    BUG_ON(!jsontext_valid(json));
    nb_line(&read, json);
    BUG_ON(!str_eq(read.channel, m->channel) || read.buffers.n != m->buffers.n);
    BUG_ON(nb_frame(&frame, &read, v1, &text) < 0);
    BUG_ON(nb_unframe(&again, buf_str(&frame), text, v1, &space) < 0);
    check_same(&read, &again);
    buf_release(&line);
    buf_release(&frame);
    buf_release(&space);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf space = BUF_INIT(LIMIT_JUPYTER_IN * 2);
    struct nb_message m;
    if (n == 0)
        return 0;
    bool text = data[0] & 1, v1 = data[0] & 2;
    if (nb_unframe(&m, str_n(data + 1, n - 1), text, v1, &space) == 0) {
        /* As its reader does: a name that is not known is refused. */
        m.channel = STR("shell");
        check_line(&m, v1 && !text);
    }
    buf_release(&space);
    return 0;
}
