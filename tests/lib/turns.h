/* SPDX-License-Identifier: MIT */
/* Turns of a loop, for unit tests of what works on one. */
#ifndef OD_TESTS_TURNS_H
#define OD_TESTS_TURNS_H

#include "io/loop.h"

#include "t.h"

static struct loop *turns_loop;
static int turns_left;

static void turns_on_turn(struct task *t)
{
    if (--turns_left > 0)
        task_defer(turns_loop, t);
    else
        loop_stop(turns_loop);
}

/* Runs the loop for n turns. */
static void turns_of(struct loop *l, int n)
{
    struct task t;
    task_init(&t, turns_on_turn);
    turns_loop = l;
    turns_left = n;
    task_defer(l, &t);
    CHECK_INT(loop_run(l), 0);
}

#endif
