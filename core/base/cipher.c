/* SPDX-License-Identifier: MIT */
#include "base/cipher.h"

#include "base/log.h"

#include <mbedtls/aes.h>

void cipher_aes_cbc(bool encrypt, struct str key, const uint8_t iv[CIPHER_BLOCK],
                    const void *in, size_t n, void *out)
{
    mbedtls_aes_context aes;
    const unsigned char *bytes = (const unsigned char *)key.p;
    unsigned char chain[CIPHER_BLOCK];
    BUG_ON(n % CIPHER_BLOCK || (key.n != 16 && key.n != 32));
    memcpy(chain, iv, sizeof(chain));
    mbedtls_aes_init(&aes);
    int rc = encrypt ? mbedtls_aes_setkey_enc(&aes, bytes, (unsigned)key.n * 8)
                     : mbedtls_aes_setkey_dec(&aes, bytes, (unsigned)key.n * 8);
    if (rc == 0)
        rc = mbedtls_aes_crypt_cbc(
            &aes, encrypt ? MBEDTLS_AES_ENCRYPT : MBEDTLS_AES_DECRYPT, n, chain, in, out);
    BUG_ON(rc != 0);
    mbedtls_aes_free(&aes);
}
