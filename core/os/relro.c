/* SPDX-License-Identifier: MIT */
#include "os/relro.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The linker's name for the first byte of the program in memory. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

void relro_apply(void)
{
    const ElfW(Ehdr) *head = (const void *)__ehdr_start;
    const ElfW(Phdr) *p = (const void *)(__ehdr_start + head->e_phoff);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = UINTPTR_MAX;
    /* The program begins at its first segment, whose address may not be 0. */
    for (int i = 0; i < head->e_phnum; i++) {
        if (p[i].p_type == PT_LOAD && p[i].p_vaddr < first)
            first = p[i].p_vaddr;
    }
    for (int i = 0; i < head->e_phnum; i++) {
        if (p[i].p_type != PT_GNU_RELRO)
            continue;
        uintptr_t at = (uintptr_t)__ehdr_start + p[i].p_vaddr - first;
        uintptr_t from = at & ~(page - 1), to = (at + p[i].p_memsz) & ~(page - 1);
        mprotect((void *)from, to - from, PROT_READ);
    }
}
