/* SPDX-License-Identifier: MIT */
/* The variables with which a kernel finds the module of the skills. */
#include "skill/python.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include "t.h"

TEST(the_callers_folder_of_modules_stays_after_ours)
{
    struct engine *en = xnew(struct engine);
    char *none[] = {NULL}, want[300];
    en->env = none;
    snprintf(en->state_dir, sizeof(en->state_dir), "%s", t_dir());
    snprintf(en->socket, sizeof(en->socket), "%s/sock", t_dir());
    snprintf(want, sizeof(want), "PYTHONPATH=%s/python:/given", t_dir());
    for (int fill = 0; fill < 300; fill++) { /* env grows at any of its lines */
        struct buf env = BUF_INIT(LIMIT_SPAWN_MAX);
        buf_addf(&env, "PYTHONPATH=/given%cFILL=%*s%c", 0, fill, "", 0);
        skill_python_env(en, &env);
        struct str rest = buf_str(&env), last = {0};
        while (rest.n > 0)
            last = str_cut(&rest, 0);
        CHECK(str_eq(last, str_of(want)));
        buf_release(&env);
    }
    free(en);
}

T_MAIN
