/* SPDX-License-Identifier: MIT */
/* Memory for a turn: nobody has what somebody has. */
#include "base/scratch.h"

#include "t.h"

#include <string.h>

TEST(each_is_its_own)
{
    char *got[5];
    for (int i = 0; i < 5; i++) {
        got[i] = scratch_take();
        memset(got[i], 'a' + i, SCRATCH);
    }
    for (int i = 0; i < 5; i++)
        CHECK(got[i][0] == 'a' + i && got[i][SCRATCH - 1] == 'a' + i);
    for (int i = 0; i < 5; i++)
        scratch_give(got[i]);
}

TEST(what_was_given_back_is_had_again)
{
    char *a = scratch_take(), *b = scratch_take();
    scratch_give(a);
    char *c = scratch_take();
    CHECK(c == a && c != b);
    scratch_give(b);
    scratch_give(c);
}

T_MAIN
