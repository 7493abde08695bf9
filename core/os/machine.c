/* SPDX-License-Identifier: MIT */
#include "os/machine.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct str machine_read(const char *path, char *space, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, space, size) : -1;
    if (fd >= 0)
        close(fd);
    return str_n(space, n > 0 ? (size_t)n : 0);
}

uint64_t machine_field(struct str text, const char *name)
{
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), key = str_cut(&line, ':');
        uint64_t v;
        line = str_trim(line);
        if (str_eq(key, str_of(name)) && str_to_u64(str_cut(&line, ' '), &v) == 0)
            return v;
    }
    return 0;
}

/* The first line of /proc/stat: user nice system idle iowait irq softirq steal
 * (proc_stat(5)). */
static void look_at_cpus(struct machine *m)
{
    char space[512];
    struct str text = machine_read("/proc/stat", space, sizeof(space));
    struct str line = str_cut(&text, '\n');
    uint64_t ticks;
    str_cut(&line, ' ');
    line = str_trim(line);
    for (int i = 0; i < 8 && str_to_u64(str_cut(&line, ' '), &ticks) == 0; i++) {
        m->cpu_total += ticks;
        m->cpu_busy += i == 3 || i == 4 ? 0 : ticks;
    }
}

void machine_measure(struct machine *m)
{
    char space[4096];
    struct statvfs s = {0};
    *m = (struct machine){0};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    m->cpus = cpus > 0 ? (unsigned)cpus : 1;
    look_at_cpus(m);
    struct str text = machine_read("/proc/meminfo", space, sizeof(space));
    m->mem_total = machine_field(text, "MemTotal") << 10;
    m->mem_available = machine_field(text, "MemAvailable") << 10;
    m->mem_cache = machine_field(text, "Cached") << 10;
    if (statvfs("/", &s) == 0) {
        m->disk_total = (uint64_t)s.f_blocks * s.f_frsize;
        m->disk_used = (uint64_t)(s.f_blocks - s.f_bfree) * s.f_frsize;
    }
}

double machine_busy(const struct machine *before, const struct machine *now)
{
    uint64_t total = now->cpu_total - before->cpu_total;
    uint64_t busy = now->cpu_busy - before->cpu_busy;
    return now->cpu_total > before->cpu_total && busy <= total
               ? 100.0 * (double)busy / (double)total
               : 0;
}
