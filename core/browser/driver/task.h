/* SPDX-License-Identifier: MIT */
/*
 * A task of MiniWoB in a browser: a page whose script poses a problem as a text, and
 * decides whether actions in the page solve it. It is set up and judged as in
 * browsergym-miniwob 0.13.3.
 *
 *   waiting --browser_task_begin--> begun: has a text, and a reward for each step since
 *
 * It begins only once, even across processes. If its page is gone or not the active one,
 * a step has no reward.
 */
#ifndef OD_BROWSER_DRIVER_TASK_H
#define OD_BROWSER_DRIVER_TASK_H

#include "browser/driver/driver.h"

enum {
    TASK_WIDTH = 500, /* of its viewport */
    TASK_HEIGHT = 320,
    TASK_KEPT_MAX = 8 << 10
};

struct browser_task {
    struct str url; /* borrowed: of the page; "": there is no task */
    bool begun;
    char tab[BROWSER_ID]; /* the tab that shows it */
    struct buf place;     /* owned: its address, as the page has it */
    struct buf goal;      /* owned: the text of the problem */
    struct buf rewards;   /* owned: of each step so far, "0" or "1" */
};

void browser_task_init(struct browser_task *t, struct str url);
/*
 * The state for the next process: none if the task was not begun, or the state is longer
 * than TASK_KEPT_MAX. The second call restores it into a task that was not begun.
 */
void browser_task_keep(const struct browser_task *t, struct buf *out);
void browser_task_take(struct browser_task *t, struct str kept);
void browser_task_release(struct browser_task *t);
/*
 * Opens the page in the active tab, removes the parts for people (the clock, the
 * rewards, the words), and begins the episode with a random seed. Returns -1 and sets
 * *e; the call can be repeated.
 */
int browser_task_begin(struct browser_task *t, struct browser *b, struct err *e);
/*
 * Called after a step: waits for the end of the episode, half a second at most, and adds
 * the step's reward.
 */
void browser_task_judge(struct browser_task *t, struct browser *b);

#endif
