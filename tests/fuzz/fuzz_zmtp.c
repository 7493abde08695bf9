/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a ZMTP peer's, at once and byte by byte, as each role (the first byte
 * chooses): the same is told, nothing longer than was allowed, one end at most.
 */
#include "base/log.h"
#include "kernel/host/zmtp.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MESSAGE_MAX = 1000, INPUT_MAX = 8192 };

static struct loop *loop;
static struct buf *told;
static bool ended;

static void on_ready(struct zmtp *z)
{
    (void)z;
    BUG_ON(ended);
    buf_addz(told, "R");
}

static void on_message(struct zmtp *z, const struct str *parts, int n)
{
    struct buf taken = BUF_INIT(0);
    size_t all = 0;
    BUG_ON(ended || n < 1 || n > ZMTP_PARTS_MAX);
    if (n > 1)
        zmtp_take(z, &taken);
    for (int i = 0; i < n; i++) {
        all += parts[i].n;
        buf_addf(told, "%zu:", parts[i].n);
        buf_adds(told, parts[i]);
    }
    BUG_ON(all > MESSAGE_MAX);
    buf_addz(told, ";");
    buf_release(&taken);
}

static void on_end(struct zmtp *z, const struct err *e)
{
    (void)z;
    BUG_ON(ended);
    ended = true;
    buf_addz(told, e->text);
}

static const struct zmtp_events events = {on_ready, on_message, NULL, on_end};

static void pass(enum zmtp_role role, struct str bytes, size_t step)
{
    struct zmtp z = {0};
    int p[2];
    BUG_ON(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p) < 0);
    BUG_ON(zmtp_start(&z, loop, p[0], role, "id", MESSAGE_MAX, &events) < 0);
    ended = false;
    while (bytes.n > 0 && !ended) {
        /* As the stream would: what is there is added, and told. */
        struct str some = str_sub(bytes, 0, step);
        BUG_ON(buf_adds(&z.s.in, some) < 0);
        bytes = str_sub(bytes, some.n, bytes.n);
        z.s.ev->on_data(&z.s);
    }
    zmtp_release(&z);
    close(p[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf once = BUF_INIT(1 << 20), bytes = BUF_INIT(1 << 20);
    if (n == 0 || n > INPUT_MAX)
        return 0;
    if (!loop)
        loop = loop_new();
    enum zmtp_role role = (enum zmtp_role)(data[0] % 3);
    told = &once;
    pass(role, str_n(data + 1, n - 1), INPUT_MAX);
    told = &bytes;
    pass(role, str_n(data + 1, n - 1), 1);
    BUG_ON(!str_eq(buf_str(&once), buf_str(&bytes)));
    buf_release(&once);
    buf_release(&bytes);
    return 0;
}
