/* SPDX-License-Identifier: MIT */
/*
 * Our own kernel: its source goes to a plain python3 over the socket that becomes
 * its wire, so nothing is written anywhere. Its lines are passed on as they come.
 */
#include "base/limits.h"
#include "engine/kernel_host_own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "kernel_python.h" /* kernel_core_gz, kernel_extra_gz, made of our files */
#include "proto/zip_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LENGTHS = 18, SOURCES_MAX = 256 << 10 };

/*
 * Reads the two lengths and the two sources from descriptor 0, puts that elsewhere
 * and nothing in its place, and runs the first.
 */
static const char boot[] = "import os\n"
                           "def take(n):\n"
                           "    b = b''\n"
                           "    while len(b) < n:\n"
                           "        d = os.read(0, n - len(b))\n"
                           "        if not d:\n"
                           "            os._exit(1)\n"
                           "        b += d\n"
                           "    return b.decode()\n"
                           "a, b = map(int, take(18).split())\n"
                           "a, b = take(a), take(b)\n"
                           "fd = os.dup(0)\n"
                           "try:\n"
                           "    os.dup2(os.open('/dev/null', os.O_RDWR), 0)\n"
                           "except OSError:\n"
                           "    r, w = os.pipe()\n"
                           "    os.close(w)\n"
                           "    os.dup2(r, 0)\n"
                           "exec(compile(a, '<od kernel>', 'exec'),\n"
                           "     {'FD': fd, 'EXTRA': b, '__name__': 'od_kernel'})\n";

char **host_embedded_argv(const struct host *h)
{
    char **v = xcalloc(4, sizeof(*v));
    v[0] = xstrdup(h->spec->interpreter);
    v[1] = xstrdup("-c");
    v[2] = xstrdup(boot);
    return v;
}

/* What it says to us and not to the engine: {"host":"cell"}. */
static bool for_us(struct host *h, struct str line)
{
    if (!str_eq(line, STR("{\"host\":\"cell\"}")))
        return false;
    host_begun(h);
    return true;
}

static void look_at(struct host *h, struct str line)
{
    if (line.n < 2000 && str_find(line, STR("\"msg_type\":\"status\"")) >= 0 &&
        str_find(line, STR("\"execution_state\":\"idle\"")) >= 0)
        host_idle(h);
}

static void on_data(struct stream *s)
{
    struct host *h = container_of(s, struct host, link);
    while (s->in.n > 0 && !s->paused) {
        long nl = str_chr(buf_str(&s->in), '\n');
        size_t n = nl < 0 ? s->in.n : (size_t)nl + 1;
        struct str line = str_sub(buf_str(&s->in), 0, n);
        if (nl < 0 && n < s->in.max && !h->overlong)
            break;
        if (nl < 0 && !h->overlong)
            host_say(h, "note", "a message of the kernel is too long, and was left out");
        if (nl >= 0 && !h->overlong && !for_us(h, str_sub(line, 0, n - 1))) {
            look_at(h, line);
            jmsg_clean(s->in.p, n - 1);
            buf_adds(&h->pending, line);
            host_flush(h);
        }
        h->overlong = nl < 0;
        buf_consume(&s->in, n);
        if (!host_room(h))
            host_embedded_pause(h, true);
    }
    if (s->in.n == 0 && s->in.cap > LIMIT_ZMTP_IN)
        buf_release(&s->in);
    if (h->linked && !s->paused)
        stream_resume(s);
}

static void on_room(struct stream *s) { (void)s; }

static void on_end(struct stream *s, int errnum)
{
    struct host *h = container_of(s, struct host, link);
    (void)errnum; /* its exit tells more */
    host_embedded_stop(h);
}

static const struct stream_events events = {on_data, on_room, on_end, NULL};

void host_embedded_start(struct host *h, int fd)
{
    struct buf sources = BUF_INIT(SOURCES_MAX);
    char lengths[LENGTHS + 1];
    if (stream_open(&h->link, h->loop, fd, LIMIT_KERNEL_MESSAGE, LIMIT_ZMTP_OUT,
                    &events) < 0) {
        close(fd);
        return;
    }
    h->linked = true;
    h->overlong = false;
    BUG_ON(zip_text(&sources, str_n(kernel_core_gz, sizeof(kernel_core_gz))) < 0);
    size_t core = sources.n;
    BUG_ON(zip_text(&sources, str_n(kernel_extra_gz, sizeof(kernel_extra_gz))) < 0);
    snprintf(lengths, sizeof(lengths), "%8zu %8zu ", core, sources.n - core);
    buf_add(&h->link.out, lengths, LENGTHS);
    buf_adds(&h->link.out, buf_str(&sources));
    stream_flush(&h->link);
    buf_release(&sources);
}

void host_embedded_send(struct host *h, struct str line)
{
    if (!h->linked || stream_write(&h->link, line) < 0 ||
        stream_write(&h->link, STR("\n")) < 0)
        host_say(h, "note", "a request was lost: the kernel does not take it");
}

void host_embedded_pause(struct host *h, bool pause)
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

void host_embedded_stop(struct host *h)
{
    if (h->linked)
        stream_close(&h->link);
    h->linked = h->overlong = false;
}
