/* SPDX-License-Identifier: MIT */
/*
 * What of mbedTLS is compiled: TLS 1.2 and 1.3, both roles, with certificates
 * (ECDSA and RSA), and hashes. It takes the place of the archive's own
 * mbedtls/mbedtls_config.h, so that the library and who includes its headers
 * agree without an option.
 *
 * Left out: threads (there are none), sockets (net/ has its own), what is no
 * longer used on the Internet (CBC with TLS 1.0, DHE, static RSA, PSK without
 * certificates, DES, MD5, MD4, Camellia, ARIA), DTLS, renegotiation, self tests.
 */
#ifndef OD_BUILD_MBEDTLS_CONFIG_H
#define OD_BUILD_MBEDTLS_CONFIG_H

/* The platform: musl on Linux. Certificates have dates, so time is needed. */
#define MBEDTLS_HAVE_ASM
#define MBEDTLS_HAVE_TIME
#define MBEDTLS_HAVE_TIME_DATE
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_FS_IO
#define MBEDTLS_VERSION_C

/* Randomness: getrandom(2), through a DRBG. */
#define MBEDTLS_ENTROPY_C
#define MBEDTLS_CTR_DRBG_C
#define MBEDTLS_HMAC_DRBG_C

/* Hashes. SHA-1 is for the WebSocket handshake (RFC 6455 §4.2.2), not for trust. */
#define MBEDTLS_MD_C
#define MBEDTLS_SHA1_C
#define MBEDTLS_SHA224_C
#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA384_C
#define MBEDTLS_SHA512_C
#define MBEDTLS_HKDF_C

/* Ciphers: AES-GCM, with the processor's help where it has it, and ChaCha20. */
#define MBEDTLS_AES_C
#define MBEDTLS_AESNI_C
#define MBEDTLS_AESCE_C
#define MBEDTLS_CIPHER_C
#define MBEDTLS_GCM_C
#ifdef __x86_64__
#define MBEDTLS_GCM_ALT /* core/net/tls_gcm.c, ten times as fast */
#endif
#define MBEDTLS_CHACHA20_C
#define MBEDTLS_POLY1305_C
#define MBEDTLS_CHACHAPOLY_C

/* AES-CBC is for encrypted private keys and for TLS 1.2 peers without GCM. */
#define MBEDTLS_CIPHER_MODE_CBC
#define MBEDTLS_CIPHER_PADDING_PKCS7

/* Keys and signatures. */
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECP_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_ECP_DP_SECP384R1_ENABLED
#define MBEDTLS_ECP_DP_SECP521R1_ENABLED
#define MBEDTLS_ECP_DP_CURVE25519_ENABLED
#define MBEDTLS_ECP_NIST_OPTIM
#define MBEDTLS_ECDH_C
/* X25519 by Project Everest's proved code, which the archive contains: ten times as fast. */
#define MBEDTLS_ECDH_VARIANT_EVEREST_ENABLED
#define MBEDTLS_ECDSA_C
#define MBEDTLS_ECDSA_DETERMINISTIC
#define MBEDTLS_RSA_C
#define MBEDTLS_PKCS1_V15
#define MBEDTLS_PKCS1_V21
#define MBEDTLS_PK_C
#define MBEDTLS_PK_PARSE_C
#define MBEDTLS_PK_WRITE_C
#define MBEDTLS_PK_PARSE_EC_EXTENDED

/* Certificates: read, checked, and made, for a server that has none. */
#define MBEDTLS_ASN1_PARSE_C
#define MBEDTLS_ASN1_WRITE_C
#define MBEDTLS_OID_C
#define MBEDTLS_BASE64_C
#define MBEDTLS_PEM_PARSE_C
#define MBEDTLS_PEM_WRITE_C
#define MBEDTLS_X509_USE_C
#define MBEDTLS_X509_CRT_PARSE_C
#define MBEDTLS_X509_CREATE_C
#define MBEDTLS_X509_CRT_WRITE_C

/* Without it no RSA certificate can be used with TLS 1.3: RFC 8446 §4.2.3. */
#define MBEDTLS_X509_RSASSA_PSS_SUPPORT

/*
 * PSA: the part of the library that TLS 1.3 uses for ECDH and hashes. USE_PSA_CRYPTO would
 * use it for signatures and records, too. It is left out because each signature would import
 * the key again, which doubles the time of an RSA signature.
 */
#define MBEDTLS_PSA_CRYPTO_C
/* Every handshake has keys in PSA's store; without this it holds 32 of them. */
#define MBEDTLS_PSA_KEY_STORE_DYNAMIC

/* TLS. The compatibility mode is the one that passes middleboxes (RFC 8446 §D.4). */
#define MBEDTLS_SSL_TLS_C
#define MBEDTLS_SSL_CLI_C
#define MBEDTLS_SSL_SRV_C
#define MBEDTLS_SSL_PROTO_TLS1_2
#define MBEDTLS_SSL_PROTO_TLS1_3
#define MBEDTLS_SSL_TLS1_3_COMPATIBILITY_MODE
#define MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL_ENABLED
#define MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL_ENABLED
#define MBEDTLS_KEY_EXCHANGE_ECDHE_RSA_ENABLED
#define MBEDTLS_KEY_EXCHANGE_ECDHE_ECDSA_ENABLED
#define MBEDTLS_SSL_SESSION_TICKETS
#define MBEDTLS_SSL_TICKET_C
#define MBEDTLS_SSL_CACHE_C
#define MBEDTLS_SSL_KEEP_PEER_CERTIFICATE
#define MBEDTLS_SSL_SERVER_NAME_INDICATION
#define MBEDTLS_SSL_ALPN
#define MBEDTLS_SSL_ENCRYPT_THEN_MAC
#define MBEDTLS_SSL_EXTENDED_MASTER_SECRET
#define MBEDTLS_SSL_MAX_FRAGMENT_LENGTH

#endif
