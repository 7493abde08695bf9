/* SPDX-License-Identifier: MIT */
/*
 * The process of the supervisor (reach/supervisor.h): the parent of a reaper, and so an
 * ancestor of all programs, which reading their memory may need, but outside of the scope
 * of their fence: no program can send it a signal. It gets listeners and added rules from
 * the reaper, says refusals to the keeper, and continues a reaper that was stopped. When
 * the reaper is gone it goes on for the programs that are left, and then ends.
 */
#ifndef OD_KEEPER_SUPERVISE_H
#define OD_KEEPER_SUPERVISE_H

#include <stdbool.h>

/*
 * Forks. The child returns as the reaper: the end of a pair for keepmsg.h's
 * KEEP_M_LISTENER and KEEP_M_RULES, which it owns and whose end means that no program may
 * be started any more. The parent becomes the supervisor and never returns. keeper: the
 * link to the keeper, which both use; rules: the file of supervisor_open, taken. *files
 * becomes whether programs need the filter for files (notify_install). Returns -1 if no
 * supervisor can be started.
 */
int supervise(int keeper, int rules, bool *files);

#endif
