/* SPDX-License-Identifier: MIT */
/* Memory for one piece of output within a turn (scratch.h). */
#include "base/scratch.h"

#include "base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>

enum { KEPT = 2 };

static char kept[KEPT][SCRATCH];
static bool taken[KEPT];

char *scratch_take(void)
{
    for (int i = 0; i < KEPT; i++) {
        if (!taken[i]) {
            taken[i] = true;
            return kept[i];
        }
    }
    return xcalloc(1, SCRATCH);
}

void scratch_give(char *s)
{
    for (int i = 0; i < KEPT; i++) {
        if (s == kept[i]) {
            taken[i] = false;
            return;
        }
    }
    free(s);
}
