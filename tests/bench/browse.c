/* SPDX-License-Identifier: MIT */
/*
 * browse FOLDER: our own end of a browser, on the pages of groups/browse.sh; beside
 * browse_cdp.mjs and browse_playwright.mjs, which do the same. Microseconds, medians.
 *
 *   launch        until a blank page can be spoken to
 *   visit         goto, accessibility tree, picture
 *   marked        tree and picture again, with marks drawn on it
 *   fill, click   one of them, of many in a text
 *   settle        what is waited for behind a text of actions
 *   big           the tree and the picture of the page of 5,000 elements
 *   peak          KiB more than before, of this process
 */
#include "common.h"

#include "browser/driver/browser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VISITS = 7, FILLS = 40, CLICKS = 20, BIGS = 3 };

static struct browser *b;

/* What is in /proc/self/status, in KiB. */
static long status_kib(const char *field)
{
    char line[256];
    long n = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof(line), f)) {
        if (strncmp(line, field, strlen(field)) == 0)
            n = strtol(line + strlen(field) + 1, NULL, 10);
    }
    if (f)
        fclose(f);
    return n;
}

static void see(bool shot, bool marks)
{
    struct browser_seen s;
    struct err e = ERR_INIT;
    struct browser_want want = {.tree = true, .shot = shot, .marks = marks};
    if (browser_see(b, &want, &s, &e) < 0)
        die("looking: %s", e.text);
    if (s.error.n)
        die("an action: %s", buf_z(&s.error));
    browser_seen_release(&s);
}

static void go(const char *folder, const char *page)
{
    char text[1024];
    snprintf(text, sizeof(text), "goto('file://%s/%s')", folder, page);
    browser_act(b, str_of(text));
}

/* One of many in a text, less what any text takes. */
static double per_action(const char *call, int count)
{
    struct buf text = BUF_INIT(1 << 20);
    for (int i = 0; i < count; i++)
        buf_addz(&text, call);
    double begin = now_us();
    browser_act(b, buf_str(&text));
    double took = now_us() - begin;
    begin = now_us();
    browser_act(b, STR("noop(0)"));
    double empty = now_us() - begin;
    buf_release(&text);
    see(false, false);
    return (took - empty) / count;
}

int main(int argc, char **argv)
{
    struct browser_opts o = {0};
    struct err e = ERR_INIT;
    double v[VISITS], begin = now_us();
    if (argc < 2)
        die("usage: browse FOLDER");
    b = browser_open(&o, &e);
    if (!b)
        die("starting: %s", e.text);
    printf("launch %.0f\n", now_us() - begin);
    for (int i = 0; i < VISITS; i++) {
        begin = now_us();
        go(argv[1], "small.html");
        see(true, false);
        v[i] = now_us() - begin;
    }
    printf("visit %.0f\n", quantile(v, VISITS, 0.5));
    for (int i = 0; i < VISITS; i++) {
        begin = now_us();
        see(true, true);
        v[i] = now_us() - begin;
    }
    printf("marked %.0f\n", quantile(v, VISITS, 0.5));
    printf("fill %.0f\n", per_action("fill('5', 'value of some words')\n", FILLS));
    printf("click %.0f\n", per_action("click('6')\n", CLICKS));
    begin = now_us();
    browser_act(b, STR("noop(0)"));
    printf("settle %.0f\n", now_us() - begin);
    long before = status_kib("VmRSS");
    go(argv[1], "big.html");
    for (int i = 0; i < BIGS; i++) {
        begin = now_us();
        see(true, false);
        v[i] = now_us() - begin;
    }
    printf("big %.0f\n", quantile(v, BIGS, 0.5));
    printf("peak %ld\n", status_kib("VmHWM") - before);
    browser_close(b);
    return 0;
}
