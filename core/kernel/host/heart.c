/* SPDX-License-Identifier: MIT */
/*
 * The heartbeat of a kernel with ZMTP (messaging document 5.3, "Heartbeat for
 * kernels"): a thread of the kernel sends back what it receives there, also while a cell
 * computes. A process that is stopped, or hangs as a whole, does not, and never exits.
 *
 * The host sends a heartbeat only while a cell runs, since only then a caller waits. A
 * kernel that has one thread for both (IRkernel) answers after the cell: until it has
 * answered during a cell, its silence means nothing. A Python kernel always has the
 * thread.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "kernel/host/own.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_MS = 1000, BEAT_MS = 3000 };

static void tell(struct kernel_host *h, bool silent)
{
    struct json *j = json_object();
    char text[160];
    h->heart.silent = silent;
    if (silent)
        snprintf(text, sizeof(text),
                 "the kernel has not answered its heartbeat for %d s: its process is "
                 "stopped, or hangs; a restart ends it",
                 LIMIT_KERNEL_HEART_MS / 1000);
    else
        snprintf(text, sizeof(text), "the kernel answers its heartbeat again");
    json_put_z(j, "host", "heart");
    json_put_bool(j, "silent", silent);
    json_put_z(j, "text", text);
    host_line(h, j);
}

static void ask(struct kernel_host *h)
{
    static const struct str ping = {"ping", 4};
    if (zmtp_send(&h->heart.z, &ping, 1) < 0)
        return;
    h->heart.asked_ms = h->heart.asked_ms ? h->heart.asked_ms : clock_ms();
    h->heart.in_cell = true;
}

static void on_up(struct zmtp *z)
{
    struct kernel_host *h = container_of(z, struct kernel_host, heart.z);
    h->heart.up = true;
    ask(h);
}

static void on_answer(struct zmtp *z, const struct str *parts, int n)
{
    struct kernel_host *h = container_of(z, struct kernel_host, heart.z);
    (void)parts;
    (void)n;
    h->heart.asked_ms = 0;
    h->heart.own_thread = h->heart.own_thread || (h->busy && h->heart.in_cell);
    if (h->heart.silent)
        tell(h, false);
}

static void on_down(struct zmtp *z, const struct err *e)
{
    struct kernel_host *h = container_of(z, struct kernel_host, heart.z);
    (void)e; /* the other channels report why, or the kernel's exit does */
    h->heart.up = h->heart.dialled = false;
    h->heart.asked_ms = 0;
}

static const struct zmtp_events events = {on_up, on_answer, NULL, on_down};

static void dial(struct kernel_host *h)
{
    int fd = host_zmtp_dial(h, HEART_SOCKET);
    if (fd >= 0 && zmtp_start(&h->heart.z, h->loop, fd, ZMTP_REQ, "", 4096, &events) == 0)
        h->heart.dialled = true;
    else if (fd >= 0)
        close(fd);
    /* A stopped kernel accepts the connection and sends nothing. */
    h->heart.asked_ms = h->heart.dialled ? clock_ms() : 0;
}

static void on_beat(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, heart.beat);
    int64_t asked = h->heart.asked_ms;
    if (h->state != HOST_READY || !h->busy)
        return;
    if (!h->heart.dialled)
        dial(h);
    else if (h->heart.up && asked == 0)
        ask(h);
    else if (asked && !h->heart.silent && h->heart.own_thread &&
             clock_ms() - asked >= LIMIT_KERNEL_HEART_MS)
        tell(h, true);
    timer_begin(h->loop, t, BEAT_MS, on_beat);
}

void host_heart_begin(struct kernel_host *h)
{
    if (h->spec->embedded)
        return;
    h->heart.own_thread = h->heart.own_thread || strcmp(h->spec->language, "python") == 0;
    timer_begin(h->loop, &h->heart.beat, FIRST_MS, on_beat);
}

void host_heart_rest(struct kernel_host *h)
{
    timer_stop(&h->heart.beat);
    h->heart.in_cell = false;
}

void host_heart_stop(struct kernel_host *h)
{
    timer_stop(&h->heart.beat);
    zmtp_release(&h->heart.z);
    h->heart.up = h->heart.dialled = h->heart.own_thread = h->heart.silent = false;
    h->heart.asked_ms = 0;
}
