/* SPDX-License-Identifier: MIT */
/*
 * Formats of tmux: any text ends within its limits, and gives the same a second time.
 * After a NUL comes the value of the variable @v, which the text may expand again.
 */
#include "base/log.h"
#include "front/tmux/lang/format.h"
#include "front/tmux/lang/options.h"

#include <locale.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { OUT = 1 << 16 };

static struct str value; /* of @v */

static bool var(void *ctx, struct str name, struct buf *out)
{
    int *p = ctx;
    if (str_eq(name, STR("@v")))
        return buf_adds(out, value) == 0;
    if (str_eq(name, STR("@self")))
        return buf_addz(out, "#{E:@self}x") == 0;
    if (str_eq(name, STR("pane_id")))
        return buf_addf(out, "%%%d", *p) == 0;
    if (str_eq(name, STR("@t")))
        return buf_addz(out, "1700000000") == 0;
    return str_eq(name, STR("@u")) && buf_addz(out, "\xc3\xa4\xe6\x97\xa5 #[fg=red]x") == 0;
}

static void *each(void *ctx, enum tmux_loop kind, struct str sort, size_t i, bool *active)
{
    static int now[LOOP_CLIENTS + 1];
    const int *p = ctx;
    BUG_ON(kind > LOOP_CLIENTS || sort.n > 4096);
    if (i >= 3)
        return NULL;
    *active = i == 1;
    now[kind] = *p * 3 + (int)i;
    now[kind] %= 1000;
    return &now[kind];
}

static bool is_name(void *ctx, bool session, struct str name)
{
    (void)ctx;
    return session && name.n == 1;
}

static bool run_shell(void *ctx, struct str command, struct buf *out)
{
    (void)ctx;
    return buf_adds(out, command) == 0;
}

static unsigned search(void *ctx, struct str pattern, bool regex, bool fold)
{
    (void)ctx;
    return regex == fold ? (unsigned)pattern.n : 0;
}

static void expand(struct buf *out, struct str text, bool strftime)
{
    static const struct tmux_format_ops ops = {
        .var = var, .each = each, .name = is_name, .shell = run_shell, .search = search};
    int place = 1;
    struct tmux_format_how how = {
        .ops = &ops, .ctx = &place, .now = 1795831200, .strftime = strftime};
    tmux_format(out, text, &how);
    bool is = tmux_format_true(buf_str(out));
    if (!buf_full(out))
        BUG_ON(is != (out->n > 0 && !str_eq(buf_str(out), STR("0"))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    if (n > 4096)
        return 0;
    value = str_n(data, n);
    struct str text = str_cut(&value, '\0');
    struct buf a = BUF_INIT(OUT), b = BUF_INIT(OUT);
    expand(&a, text, n % 2);
    expand(&b, text, n % 2);
    BUG_ON(!str_eq(buf_str(&a), buf_str(&b)));
    tmux_format_width(text);
    tmux_fnmatch(value, text, n % 2);
    tmux_style_valid(text);
    tmux_colour_valid(text);
    buf_release(&a);
    buf_release(&b);
    return 0;
}
