/* SPDX-License-Identifier: MIT */
/*
 * GET /server_info: uptime, idle time and resources of the server. A figure that cannot
 * be read (no /proc) is 0.
 */
#include "front/v0/own.h"

#include "base/clock.h"
#include "os/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/times.h>
#include <unistd.h>

static double percent(double part, double whole)
{
    return whole > 0 ? 100.0 * part / whole : 0;
}

/* Returns the percentage of one processor that was used since the last request. */
static double cpu_percent(struct v0 *v)
{
    struct tms t;
    int64_t now = clock_ms();
    if (times(&t) == (clock_t)-1)
        return 0;
    double used = (double)(t.tms_utime + t.tms_stime) * 1000.0 /
                  (double)sysconf(_SC_CLK_TCK);
    double p = percent(used - v->cpu_ms, (double)(now - v->cpu_at_ms));
    v->cpu_ms = used;
    v->cpu_at_ms = now;
    return p;
}

static struct json *memory(void)
{
    char space[4096];
    struct json *j = json_object();
    struct str text = machine_read("/proc/self/statm", space, sizeof(space));
    uint64_t pages[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        str_to_u64(str_cut(&text, ' '), &pages[i]);
    int64_t page = sysconf(_SC_PAGESIZE);
    uint64_t total =
        machine_field(machine_read("/proc/meminfo", space, sizeof(space)), "MemTotal")
        << 10;
    json_put_int(j, "rss", (int64_t)pages[1] * page);
    json_put_int(j, "vms", (int64_t)pages[0] * page);
    json_put_num(j, "percent", percent((double)pages[1] * (double)page, (double)total));
    return j;
}

static struct json *disk(void)
{
    struct statvfs s = {0};
    struct json *j = json_object();
    (void)statvfs("/", &s);
    int64_t unit = (int64_t)s.f_frsize, used = (int64_t)(s.f_blocks - s.f_bfree);
    json_put_int(j, "total", (int64_t)s.f_blocks * unit);
    json_put_int(j, "used", used * unit);
    json_put_int(j, "free", (int64_t)s.f_bavail * unit);
    json_put_num(j, "percent", percent((double)used, (double)used + (double)s.f_bavail));
    return j;
}

static struct json *io(void)
{
    char space[1024];
    struct json *j = json_object();
    struct str text = machine_read("/proc/self/io", space, sizeof(space));
    json_put_int(j, "read_bytes", (int64_t)machine_field(text, "read_bytes"));
    json_put_int(j, "write_bytes", (int64_t)machine_field(text, "write_bytes"));
    return j;
}

void v0_server_info(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct json *j = json_object(), *resources = json_object();
    int64_t now = clock_ms();
    json_put_num(j, "uptime", (double)(now - v->en->started_ms) / 1000.0);
    json_put_num(j, "idle_time", (double)(now - v->asked_ms) / 1000.0);
    json_put_num(resources, "cpu_percent", cpu_percent(v));
    json_put(resources, "memory", memory());
    json_put(resources, "disk", disk());
    json_put(resources, "io", io());
    json_put(j, "resources", resources);
    v0_answer_json(r, 200, j);
}
