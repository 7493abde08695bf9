/* SPDX-License-Identifier: MIT */
/*
 * CRC-32 as in zip, gzip and PNG (reflected polynomial 0xedb88320, all bits of the start
 * value and of the result inverted). It finds accidental damage, and does not stop
 * someone who forges bytes.
 */
#ifndef OD_BASE_CRC_H
#define OD_BASE_CRC_H

#include "base/str.h"

/*
 * Continues a CRC over the next bytes. crc is the result for the bytes before them, 0 at
 * the beginning. Returns the new result.
 */
uint32_t crc_add(uint32_t crc, struct str bytes);

#endif
