/* SPDX-License-Identifier: MIT */
/*
 * Archives of images by strangers: adding to one ends, with a result that is an image
 * with an od in it, or with a reason and nothing left behind.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "image/image.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char note[] = "\4\0\0\0\30\0\0\0\1\0\0\0od\0\0an od of an agent's box";

static void make_binary(struct image_binary *b)
{
    struct {
        Elf64_Ehdr h;
        char note[64];
    } f = {.h = {.e_machine = EM_X86_64}};
    struct err e = ERR_INIT;
    memcpy(f.h.e_ident, ELFMAG, SELFMAG);
    f.h.e_ident[EI_CLASS] = ELFCLASS64;
    f.h.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(f.note, note, sizeof(note));
    int fd = memfd_create("od", MFD_CLOEXEC);
    BUG_ON(fd < 0 || write(fd, &f, sizeof(f)) != sizeof(f));
    BUG_ON(image_binary_read(b, fd, "it", &e) < 0);
    close(fd);
}

static void say(void *arg, const char *line)
{
    bool *has = arg;
    *has = *has || strstr(line, "  od: 1 at /usr/local/bin/od, current");
    for (const char *p = line; *p; p++)
        BUG_ON((unsigned char)*p < ' ');
}

/* Headers whose sums are right, so that what they say is looked at. */
static void fix_sums(uint8_t *p, size_t n)
{
    for (; n >= 512; p += 512, n -= 512) {
        unsigned sum = 0;
        if (memcmp(p + 257, "ustar", 5) != 0)
            continue;
        memset(p + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
            sum += p[i];
        snprintf((char *)p + 148, 8, "%06o", sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct image_binary b;
    struct err e = ERR_INIT;
    bool has = false;
    char dir[] = "/tmp/od-fuzz-XXXXXX", in[64], out[64], part[80];
    BUG_ON(!mkdtemp(dir));
    snprintf(in, sizeof(in), "%s/in", dir);
    snprintf(out, sizeof(out), "%s/out", dir);
    snprintf(part, sizeof(part), "%s.t.part", out);
    int fd = open(in, O_WRONLY | O_CREAT | O_EXCL, 0600);
    uint8_t *copy = xcalloc(1, n + 1);
    if (n)
        memcpy(copy, data, n);
    fix_sums(copy, n);
    BUG_ON(fd < 0 || write(fd, copy, n) != (ssize_t)n);
    close(fd);
    free(copy);

    make_binary(&b);
    struct image_spec s = {.binaries = &b,
                           .binaries_n = 1,
                           .dest = "/usr/local/bin/od",
                           .version = "1",
                           .token = "t",
                           .say = say,
                           .arg = &has};
    s.verify = n % 2;
    s.as = n % 4 < 2 ? "tmux,script" : NULL;
    s.force = n % 8 < 4;
    int rc = image_add(&s, in, out, &e);
    if (rc < 0 && s.as && strstr(e.text, "is written, but not all links"))
        rc = 0;
    BUG_ON((rc < 0) != (access(out, F_OK) < 0) || access(part, F_OK) == 0);
    BUG_ON(rc < 0 && !e.text[0]);
    if (rc == 0) {
        has = false;
        BUG_ON(image_show(&s, out, &e) < 0 || !has);
    }
    image_binary_release(&b);
    unlink(in);
    unlink(out);
    rmdir(dir);
    return 0;
}
