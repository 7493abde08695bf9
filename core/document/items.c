/* SPDX-License-Identifier: MIT */
#include "document/items.h"

enum { LETTERS_MAX = 20 };

static void put_roman(struct buf *out, int n, char lower)
{
    /* Of 0 to 9, from the digits for one, five and ten. */
    static const char forms[] = "  0 00 000 01 1 10 100 1000 02 ";
    for (int place = 6, one = 1000; place >= 0; place -= 2, one /= 10) {
        const char *p = forms;
        for (int digit = n / one % 10; digit > 0; digit--)
            p = strchr(p + 1, ' ');
        while (*++p != ' ')
            buf_addc(out, (char)("IVXLCDM"[place + *p - '0'] | lower));
    }
}

void items_number(struct buf *out, char format, int n)
{
    char lower = format & 0x20, kind = format | 0x20;
    if (kind == 'i' && n > 0 && n < 4000)
        put_roman(out, n, lower);
    else if (kind == 'a' && n > 0 && n <= 26 * LETTERS_MAX)
        for (int i = 0; i <= (n - 1) / 26; i++)
            buf_addc(out, (char)(('A' + (n - 1) % 26) | lower));
    else if (format == 'o' && n > 0)
        buf_addf(out, "%d%.2s", n,
                 "thstndrd" + (n / 10 % 10 != 1 && n % 10 < 4 ? n % 10 * 2 : 0));
    else if (format != '_')
        buf_addf(out, format == '0' ? "%02d" : "%d", n);
}

/* Moves to the next number of a level. Those above it have begun, those below begin
 * again. */
static void count(struct items *l, int level, int *numbers)
{
    for (int i = 0; i < ITEMS_LEVELS; i++) {
        struct items_level *v = &l->levels[i];
        if (i == level && numbers[i] && !v->again) {
            numbers[i]++;
        } else if (i == level || (i < level && !numbers[i])) {
            numbers[i] = v->start + 1;
            v->again = false;
        } else if (i > level && (!v->after || level < v->after - 1)) {
            numbers[i] = 0;
        }
    }
}

bool items_next(struct items *l, int level, struct buf *out)
{
    int *numbers = l ? (l->counted ? l->counted : l)->numbers : NULL;
    const struct items_level *v = l ? &l->levels[level] : NULL;
    size_t from = out->n;
    if (l)
        count(l, level, numbers);
    if (!l || v->format <= '-') {
        buf_addz(out, "- ");
        return false;
    }
    for (const char *p = v->text ? v->text : ""; *p; p++) {
        int i = *p == '%' ? p[1] - '1' : -1;
        if (i < 0 || i > level) {
            buf_addc(out, *p);
            continue;
        }
        items_number(out, v->legal ? '1' : l->levels[i].format, numbers[i] - 1);
        p++;
    }
    buf_addz(out, out->n > from ? " " : "");
    return true;
}
