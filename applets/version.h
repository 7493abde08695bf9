/* SPDX-License-Identifier: MIT */
/*
 * Facts about this build. build/build-info.sh writes the definition, in an object of its
 * own, so that after a new commit nothing else is compiled.
 */
#ifndef OD_VERSION_H
#define OD_VERSION_H

struct build_info {
    const char *version;
    const char *commit; /* "" unless the tree was exactly that commit */
    const char *target, *mode, *compiler, *flags;
    const char *libraries; /* names and versions, joined by ", " */
};
extern const struct build_info build_info;

#endif
