/* SPDX-License-Identifier: MIT */
/* What only relocations write, and what the program writes. */
#include "os/relro.h"

#include "t.h"

/*
 * A pointer has a relocation, so this is not in memory that the file maps read-only. Not
 * static: the compiler would look through it.
 */
extern const char *const words[];
const char *const words[] = {"one", "two"};
static const char *variable = "one";

static void write_to(const char *const *word)
{
    signal(SIGSEGV, SIG_DFL); /* not a sanitizer's */
    *(const char *volatile *)(uintptr_t)word = "three";
}

TEST(a_table_of_pointers_cannot_be_written)
{
    relro_apply();
    T_DIES(SIGSEGV, write_to(&words[1]));
    CHECK_STR(words[1], "two");
}

TEST(a_variable_can)
{
    relro_apply();
    write_to(&variable);
    CHECK_STR(variable, "three");
}

T_MAIN
