/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the files that TLS is given: a certificate with its key, whom
 * clients' certificates are signed by, whom to trust. Refused ones have a sentence.
 */
#include "base/buf.h"
#include "base/log.h"
#include "io/stream.h"
#include "net/tls.h"
#include "net/trust.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *no_env(const char *name)
{
    (void)name;
    return NULL;
}

static void as_server(const struct tls_files *f)
{
    struct err e = ERR_INIT;
    struct tls_server *t = tls_server_new(f, &e);
    BUG_ON(!t && (e.code == ERR_NONE || !e.text[0]));
    tls_server_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char path[40];
    struct err e = ERR_INIT;
    int fd = memfd_create("pem", MFD_CLOEXEC);
    BUG_ON(fd < 0 || write(fd, data, n) != (ssize_t)n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    as_server(&(struct tls_files){.cert = path});
    as_server(&(struct tls_files){.cert = path, .key = path, .ca = path});
    struct trust *t = trust_new(&(struct trust_where){.ca = path, .env = no_env}, &e);
    BUG_ON(!t && (e.code == ERR_NONE || !e.text[0]));
    BUG_ON(t && trust_count(t) == 0);
    trust_free(t);
    close(fd);
    return 0;
}
