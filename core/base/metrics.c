/* SPDX-License-Identifier: MIT */
#include "base/metrics.h"

static void put(struct buf *out, const char *name, const char *kind, const char *help,
                double value)
{
    buf_addf(out, "# HELP od_%s %s\n# TYPE od_%s %s\nod_%s %.17g\n", name, help, name,
             kind, name, value);
}

void metrics_gauge(struct buf *out, const char *name, const char *help, double value)
{
    put(out, name, "gauge", help, value);
}

void metrics_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
    put(out, name, "counter", help, (double)value);
}
