/* SPDX-License-Identifier: MIT */
/* Access control lists as archives have them (SCHILY.acl.access, SCHILY.acl.default). */
#ifndef OD_CHECKPOINT_ACL_H
#define OD_CHECKPOINT_ACL_H

#include "base/buf.h"
#include "base/err.h"

/*
 * Appends an ACL as the kernel keeps it (linux/posix_acl_xattr.h) from the text that tar
 * and star write: "user::rw-,user:NAME:r--:1000,group::r--,mask::r--,other::---", or with
 * line ends in place of the commas. The number is the fourth part, or the second. Whether
 * the list is one that the kernel takes is not checked. Returns 0; or -1 and sets *e
 * (UNSUPPORTED) if an entry is of no known kind, or its user or group has no number. An
 * ACL that does not fit leaves out marked as full.
 */
int acl_read(struct buf *out, struct str text, struct err *e);

#endif
