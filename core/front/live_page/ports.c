/* SPDX-License-Identifier: MIT */
/*
 * The ports that programs listen at. The kernel does not report when they change, so they
 * are read once a second, but only while a request waits for a change.
 */
#include "front/live_page/own.h"

#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/reverse_proxy/reverse_proxy.h"
#include "os/file.h"
#include "os/listening.h"
#include "os/procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 64 << 10,
    LOOK_MS = 1000,
    WAIT_LOOKS = 25, /* after these, the unchanged list is the answer */
    TAG_HEX = 16,
    EPHEMERAL = 32768, /* ports from here on are those that programs do not choose */
    WAITING_MAX = 64   /* more requests are answered at once */
};

struct ports_wait {
    struct list node; /* in page.waiting */
    struct live_page *p;
    struct req *req;
    unsigned looks;
    char tag[TAG_HEX + 1]; /* of the list that the client has */
};

static bool is_host(pid_t pid)
{
    char path[64];
    struct buf b = BUF_INIT(4096);
    struct err e = ERR_INIT;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    bool is = file_read(path, 4096, &b, &e) == 0 &&
              (str_starts(buf_str(&b), STR("od-kernel")) ||
               str_starts(buf_str(&b), STR("od-browser")));
    buf_release(&b);
    return is;
}

/*
 * Is it a port by which a host talks with its kernel or browser, or these with
 * themselves? An app in a kernel has a port that its code chose.
 */
static bool is_of_host(const struct listening *l)
{
    struct procfs_stat s;
    return l->port >= EPHEMERAL && l->pid &&
           (is_host(l->pid) || (procfs_stat(l->pid, &s) == 0 && is_host(s.ppid)));
}

/* Finds the ports of apps, without ours; tag: a string that changes when they do. */
static size_t find_apps(const struct live_page *p, struct listening all[LISTENING_MAX],
                        char tag[TAG_HEX + 1])
{
    size_t found = listening(all), n = 0;
    uint8_t hash[HASH_SHA256_SIZE];
    struct hash h;
    hash_begin_sha256(&h);
    for (size_t i = 0; i < found; i++) {
        if (reverse_proxy_is_ours(p->fronts, all[i].port) || is_of_host(&all[i]))
            continue;
        char line[64];
        int len = snprintf(line, sizeof(line), "%u %d %s\n", all[i].port, (int)all[i].pid,
                           all[i].comm);
        hash_add(&h, str_n(line, (size_t)len));
        all[n++] = all[i];
    }
    hash_end(&h, hash);
    for (size_t i = 0; i < TAG_HEX / 2; i++)
        snprintf(tag + 2 * i, 3, "%02x", hash[i]);
    return n;
}

static void answer(const struct live_page *p, struct req *r, const struct listening *all,
                   size_t n, const char *tag)
{
    struct json *j = json_object(), *list = json_array();
    struct buf b = BUF_INIT(LIST_MAX);
    for (size_t i = 0; i < n; i++) {
        struct json *row = json_object();
        char token[LOGIN_APP_HEX + 1], app[64];
        json_put_int(row, "port", all[i].port);
        if (all[i].pid)
            json_put_int(row, "pid", all[i].pid);
        if (all[i].comm[0])
            json_put_z(row, "program", all[i].comm);
        if (access_app_token(p->access, r, all[i].port, token) == 0) {
            snprintf(app, sizeof(app), "proxy/%u~%s/", all[i].port, token);
            json_put_z(row, "app", app);
            struct buf host = BUF_INIT(512);
            if (fronts_app_host(p->fronts, all[i].port, &host) == 0) {
                buf_addf(&host, "/~%s/", token);
                json_put_str(row, "host", buf_str(&host));
            }
            buf_release(&host);
        }
        json_push(list, row);
    }
    json_put(j, "ports", list);
    json_put_z(j, "tag", tag);
    json_print(&b, j);
    json_free(j);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 200, "application/json", &b);
}

/* ---- waiting requests ---- */

static void wait_end(struct ports_wait *w)
{
    list_del(&w->node);
    w->p->nwaiting--;
    free(w);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    wait_end(owner);
}

static void look_later(struct live_page *p);

static void look(struct live_page *p, bool last)
{
    struct listening all[LISTENING_MAX];
    struct list *it, *tmp;
    char tag[TAG_HEX + 1];
    size_t n = find_apps(p, all, tag);
    list_each (it, tmp, &p->waiting) {
        struct ports_wait *w = list_entry(it, struct ports_wait, node);
        struct req *r = w->req;
        if (!last && ++w->looks < WAIT_LOOKS && strcmp(w->tag, tag) == 0)
            continue;
        wait_end(w);
        answer(p, r, all, n, tag);
    }
    if (!list_empty(&p->waiting))
        look_later(p);
}

static void on_look(struct timer *t)
{
    look(container_of(t, struct live_page, look), false);
}

static void look_later(struct live_page *p)
{
    timer_begin(fronts_engine(p->fronts)->loop, &p->look, LOOK_MS, on_look);
}

void live_page_ports(struct req *r)
{
    struct live_page *p = req_arg(r);
    struct listening all[LISTENING_MAX];
    struct buf since = BUF_INIT(TAG_HEX + 1);
    char tag[TAG_HEX + 1];
    size_t n = find_apps(p, all, tag);
    req_query(r, "since", &since);
    bool same = str_eq(buf_str(&since), str_of(tag));
    buf_release(&since);
    if (!same || p->nwaiting >= WAITING_MAX) {
        answer(p, r, all, n, tag);
        return;
    }
    struct ports_wait *w = xnew(struct ports_wait);
    w->p = p;
    w->req = r;
    memcpy(w->tag, tag, sizeof(tag));
    req_own(r, w, on_gone);
    if (list_empty(&p->waiting))
        look_later(p);
    list_add_tail(&p->waiting, &w->node);
    p->nwaiting++;
}

void live_page_ports_init(struct live_page *p) { list_init(&p->waiting); }

void live_page_ports_end(struct live_page *p)
{
    if (!list_empty(&p->waiting))
        look(p, true);
    timer_stop(&p->look);
}
