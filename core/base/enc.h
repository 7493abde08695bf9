/* SPDX-License-Identifier: MIT */
/* Base64 (RFC 4648 section 4) and hex. */
#ifndef OD_BASE_ENC_H
#define OD_BASE_ENC_H

#include "base/buf.h"

int enc_base64(struct buf *out, struct str bytes);      /* -1: buffer full */
/* Strict: padded, no white space. -1: malformed or buffer full; out unchanged. */
int dec_base64(struct buf *out, struct str text);
int enc_hex(struct buf *out, struct str bytes); /* lower case; -1: buffer full */

#endif
