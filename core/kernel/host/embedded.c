/* SPDX-License-Identifier: MIT */
/*
 * Our own kernel: its source goes to a plain python3 over the socket that it then uses
 * for messages, so no file has to be written; compiled code is cached if there is a
 * folder for it. Its lines are passed on unchanged.
 */
#include "base/enc.h"
#include "base/hash.h"
#include "base/limits.h"
#include "kernel/host/own.h"

#include "base/xalloc.h"
#include "kernel/host/python/boot.py.gz.h"
#include "kernel/host/python/core.py.gz.h"
#include "kernel/host/python/extra.py.gz.h"
#include "archive/zip_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTHS = 27, TEXTS_MAX = 256 << 10 };

static void add_text(struct buf *out, const unsigned char *gz, size_t n)
{
    zip_text(out, str_n(gz, n));
}

char **host_embedded_argv(const struct kernel_host *h)
{
    struct buf boot = BUF_INIT(TEXTS_MAX);
    char **v = xcalloc(4, sizeof(*v));
    add_text(&boot, boot_py_gz, sizeof(boot_py_gz));
    v[0] = xstrdup(h->spec->interpreter);
    v[1] = xstrdup("-c");
    v[2] = xstrdup(buf_z(&boot));
    buf_release(&boot);
    return v;
}

/* A line for us and not for the engine: {"host":"cell"}. */
static bool for_us(struct kernel_host *h, struct str line)
{
    if (!str_eq(line, STR("{\"host\":\"cell\"}")))
        return false;
    host_begun(h);
    return true;
}

static void look_at(struct kernel_host *h, struct str line)
{
    if (h->begun && line.n < 2000 &&
        str_find(line, STR("\"msg_type\":\"status\"")) >= 0 &&
        str_find(line, STR("\"execution_state\":\"idle\"")) >= 0)
        host_idle(h);
}

static void on_data(struct stream *s)
{
    struct kernel_host *h = container_of(s, struct kernel_host, link);
    while (s->in.n > 0 && !s->paused) {
        long nl = str_chr(str_sub(buf_str(&s->in), h->searched, s->in.n), '\n');
        size_t n = nl < 0 ? s->in.n : h->searched + (size_t)nl + 1;
        h->alive = true;
        h->searched = nl < 0 ? n : 0;
        struct str line = str_sub(buf_str(&s->in), 0, n);
        if (nl < 0 && n < s->in.max && !h->overlong)
            break;
        if (nl < 0 && !h->overlong)
            host_say(h, "note", "a message of the kernel is too long, and was left out");
        if (nl >= 0 && !h->overlong && !for_us(h, str_sub(line, 0, n - 1))) {
            look_at(h, line);
            jmsg_clean(s->in.p, n - 1);
            size_t at = h->pending.n;
            buf_adds(&h->pending, line);
            host_whole(&h->pending, at);
            host_flush(h);
        }
        h->overlong = nl < 0;
        h->searched = 0;
        buf_consume(&s->in, n);
        if (!host_room(h))
            host_embedded_pause(h, true);
    }
    if (s->in.n == 0 && s->in.cap > LIMIT_ZMTP_IN)
        buf_release(&s->in);
    if (h->linked && !s->paused)
        stream_resume(s);
}

static void on_room(struct stream *s)
{
    host_say(container_of(s, struct kernel_host, link), "room", NULL);
}

static void on_end(struct stream *s, int errnum)
{
    struct kernel_host *h = container_of(s, struct kernel_host, link);
    (void)errnum; /* its exit status is reported instead */
    host_embedded_stop(h);
}

static const struct stream_events events = {on_data, on_room, on_end, NULL};

/* The key of the code compiled from these sources. */
static void add_known(struct buf *out)
{
    struct hash hash;
    uint8_t sum[HASH_SHA256_SIZE];
    hash_begin_sha256(&hash);
    hash_add(&hash, str_n(core_py_gz, sizeof(core_py_gz)));
    hash_add(&hash, str_n(extra_py_gz, sizeof(extra_py_gz)));
    hash_end(&hash, sum);
    enc_hex(out, str_n(sum, sizeof(sum)));
}

void host_embedded_start(struct kernel_host *h, int fd)
{
    struct buf texts = BUF_INIT(TEXTS_MAX);
    char lengths[LENGTHS + 1];
    if (stream_open(&h->link, h->loop, fd, LIMIT_KERNEL_MESSAGE, ZMTP_QUEUE, &events) <
        0) {
        close(fd);
        return;
    }
    h->link.low = ZMTP_FULL;
    h->linked = true;
    h->alive = false;
    h->overlong = false;
    h->searched = 0;
    add_text(&texts, core_py_gz, sizeof(core_py_gz));
    size_t core = texts.n;
    add_text(&texts, extra_py_gz, sizeof(extra_py_gz));
    size_t both = texts.n;
    add_known(&texts);
    buf_addf(&texts, " %.*s", STR_ARG(h->keep));
    snprintf(lengths, sizeof(lengths), "%8zu %8zu %8zu ", core, both - core,
             texts.n - both);
    buf_add(&h->link.out, lengths, LENGTHS);
    buf_adds(&h->link.out, buf_str(&texts));
    stream_flush(&h->link);
    buf_release(&texts);
}

void host_embedded_send(struct kernel_host *h, struct str line)
{
    host_sent(h, &h->link,
              h->linked && stream_write(&h->link, line) == 0 &&
                  stream_write(&h->link, STR("\n")) == 0);
}

void host_embedded_pause(struct kernel_host *h, bool pause)
{
    if (!h->linked)
        return;
    if (pause) {
        stream_pause(&h->link);
        return;
    }
    stream_resume(&h->link);
    on_data(&h->link);
}

void host_embedded_stop(struct kernel_host *h)
{
    if (h->linked)
        stream_close(&h->link);
    h->linked = h->overlong = false;
}
