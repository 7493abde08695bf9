/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from a program: a terminal that gets the painted screen in the middle, and
 * the plain form from there on, shows what one shows that got all of it: cells, cursor,
 * pen and modes. The same holds after a change of size (byte 0xff, rows, columns), where
 * who stays gets a painted screen, too. The first four bytes choose the size, the place,
 * and the pieces.
 */
#include "../lib/pictures.h"

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(struct watcher *a, struct watcher *b, const char *when)
{
    const char *why = watchers_differ(a, b);
    if (!why)
        return;
    fprintf(stderr, "BUG: %s: %s\n", when, why);
    abort();
}

static void gets_painted(struct watcher *w, struct picture *p)
{
    struct buf paint = BUF_INIT(64 << 20);
    picture_paint(p, &paint, NULL, NULL);
    if (!utf8_valid(buf_str(&paint)))
        abort();
    watcher_gets(w, buf_str(&paint));
    buf_release(&paint);
}

static void resized(struct watcher *w, int rows, int cols)
{
    vterm_set_size(w->vt, rows, cols);
    w->rows = rows;
    w->cols = cols;
}

/* Returns how many bytes of s the change of size has: 0 if there is none. */
static size_t resize(struct picture *p, struct watcher *both[2], bool there, struct str s)
{
    struct buf out = BUF_INIT(1 << 20);
    int rows, cols;
    if (s.n < 3 || (unsigned char)s.p[0] != 0xff)
        return 0;
    picture_resize(p, (unsigned char)s.p[1] % 16, (unsigned char)s.p[2] % 40, &out);
    picture_size(p, &rows, &cols);
    for (int i = 0; i < 2; i++) {
        resized(both[i], rows, cols);
        watcher_gets(both[i], buf_str(&out));
    }
    gets_painted(both[0], p);
    if (there)
        gets_painted(both[1], p);
    buf_release(&out);
    return 3;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int all_rows[] = {1, 2, 5, 12}, all_cols[] = {2, 3, 13, 30};
    struct watcher stays, comes, *both[2] = {&stays, &comes};
    struct buf out = BUF_INIT(64 << 20);
    bool there = false;
    int rows, cols;
    if (size < 4 || size > 2048)
        return 0;
    struct str s = str_n((const char *)data + 4, size - 4);
    struct picture *p = picture_new(all_rows[data[0] & 3], all_cols[data[0] >> 2 & 3]);
    size_t at = s.n * data[1] / 255, step = 1 + data[2] % 16;
    picture_size(p, &rows, &cols);
    watcher_open(&stays, rows, cols);
    watcher_open(&comes, rows, cols);
    if (data[3] & 1)
        watcher_gets(&comes, STR("left \033[7mover\033[?1047h\033[3;4r\033[4h"));
    for (size_t i = 0; i < s.n;) {
        if (i >= at && !there) {
            gets_painted(&comes, p);
            same(&stays, &comes, "painted");
            there = true;
        }
        size_t n = resize(p, both, there, str_sub(s, i, s.n));
        while (n == 0 || (n < step && i + n < s.n && data[4 + i + n] != 0xff))
            n++;
        i += n;
        if (n == 3 && data[4 + i - 3] == 0xff)
            continue;
        picture_feed(p, str_sub(s, i - n, n), &out);
        if (!utf8_valid(buf_str(&out)) || out.n > n * PICTURE_GROWTH + PICTURE_GROWTH)
            abort();
        watcher_gets(&stays, buf_str(&out));
        if (there)
            watcher_gets(&comes, buf_str(&out));
        buf_reset(&out);
    }
    if (!there)
        gets_painted(&comes, p);
    same(&stays, &comes, "at the end");
    watcher_probe(&stays);
    watcher_probe(&comes);
    same(&stays, &comes, "written to");
    vterm_free(stays.vt);
    vterm_free(comes.vt);
    picture_free(p);
    buf_release(&out);
    return 0;
}
