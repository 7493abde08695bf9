/* SPDX-License-Identifier: MIT */
#include "front/backend/words.h"

#include <string.h>

bool backend_same_words(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;;) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (!*a || *a != *b)
            return *a == *b;
        a++;
        b++;
    }
}
