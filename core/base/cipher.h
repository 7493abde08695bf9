/* SPDX-License-Identifier: MIT */
/* AES in the mode CBC (FIPS 197, SP 800-38A 6.2), by the library of TLS. */
#ifndef OD_BASE_CIPHER_H
#define OD_BASE_CIPHER_H

#include "base/str.h"

enum { CIPHER_BLOCK = 16 };

/*
 * Encrypts or decrypts n bytes, whole blocks, without padding; out has room for n and may
 * be in. The key has 16 or 32 bytes.
 */
void cipher_aes_cbc(bool encrypt, struct str key, const uint8_t iv[CIPHER_BLOCK],
                    const void *in, size_t n, void *out);

#endif
