/* SPDX-License-Identifier: MIT */
/*
 * OD_BROWSE_DENY with a Chromium: the process between Chromium and the network, what it
 * has refused, and its end.
 */
#include "browser/driver/js.h"
#include "browser/driver/driver.h"
#include "browser/driver/proxy.h"
#include "http/url.h"
#include "http/url_join.h"
#include "net/addr.h"
#include "os/spawn.h"
#include "os/sys.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTES = 16, HEARD = 1000, END_MS = 1000 };
enum { LISTENER = 3, NEWS }; /* descriptors of the process */

const char *browser_denied(void)
{
    const char *list = getenv("OD_BROWSE_DENY");
    return list && list[0] ? list : NULL;
}

/* ---- the process ---- */

static int listen_here(uint16_t *port, struct err *e)
{
    struct addr a;
    if (addr_parse(&a, STR("127.0.0.1:0"), e) < 0)
        return -1;
    int fd = addr_listen(&a, e);
    if (fd >= 0 && addr_of(fd, &a) < 0) {
        err_sys(e, errno, "cannot find the port of the browser's proxy");
        close(fd);
        return -1;
    }
    *port = ntohs(((const struct sockaddr_in *)&a.ss)->sin_port);
    return fd;
}

int browser_deny_start(struct browser *b, struct err *e)
{
    struct denied list = {.n = 0};
    int news[2] = {-1, -1};
    b->deny = (struct browser_deny){.fd = -1};
    if (!browser_denied())
        return 0;
    if (denied_parse(&list, str_of(browser_denied()), e) < 0)
        return -1;
    int listener = listen_here(&b->deny.port, e);
    if (listener < 0)
        return -1;
    int how = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;
    pid_t pid = socketpair(AF_UNIX, how, 0, news) < 0
                    ? -1
                    : spawn_copy((int[]){listener, news[1]}, 2);
    if (pid == 0) {
        prctl(PR_SET_NAME, "od-proxy", 0, 0, 0);
        browser_proxy_serve(LISTENER, NEWS, &list);
        _exit(0);
    }
    if (pid < 0) {
        err_sys(e, errno, "cannot start what keeps the browser from denied addresses");
        close(news[0]);
    } else {
        b->deny.pid = pid;
        b->deny.fd = news[0];
    }
    close(news[1]);
    close(listener);
    return pid < 0 ? -1 : 0;
}

/* Closing our end makes the process end; it is killed if that takes long. */
void browser_deny_end(struct browser *b)
{
    if (b->deny.pid <= 0)
        return;
    close(b->deny.fd);
    struct pollfd p = {sys_pidfd(b->deny.pid), POLLIN, 0};
    if (p.fd >= 0) {
        while (poll(&p, 1, END_MS) < 0 && errno == EINTR)
            ;
        close(p.fd);
    }
    kill(b->deny.pid, SIGKILL);
    while (waitpid(b->deny.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    b->deny.pid = 0;
    b->deny.fd = -1;
}

/* ---- refusals ---- */

static bool was_noted(const struct browser *b, const char *text)
{
    for (const struct json *n = json_first(b->notes); n; n = json_next(n)) {
        if (str_eq(json_str_value(n, ""), str_of(text)))
            return true;
    }
    return false;
}

static void note(struct browser *b, const struct err *e)
{
    if (was_noted(b, e->text))
        return;
    if (b->deny.noted < NOTES)
        browser_note(b, "%s", e->text);
    else if (b->deny.noted == NOTES)
        browser_note(b, "and more addresses are denied");
    b->deny.noted += b->deny.noted <= NOTES;
}

/*
 * Notes a refusal, and whether it explains the failed navigation: other tabs, and
 * Chromium itself, connect meanwhile, too.
 */
static void take(struct browser *b, const char *host, const struct err *e)
{
    int fit = strcmp(host, b->deny.host) == 0 ? BROWSER_DENY_IT
              : e->code == ERR_DENIED         ? BROWSER_DENY_LISTED
                                              : BROWSER_DENY_OTHER;
    if (e->code == ERR_DENIED)
        note(b, e);
    if (e->code == ERR_NONE) {
        b->deny.probed = true;
    } else if (fit >= (int)b->deny.fit) {
        b->deny.fit = fit;
        b->deny.why = *e;
    }
}

/* Takes one message. Returns 1; 0 if there is none now; -1 if the process has ended. */
static int hear_one(struct browser *b)
{
    char message[1024];
    struct err e;
    ssize_t n = recv(b->deny.fd, message, sizeof(message) - 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return -1;
    message[n] = '\0';
    char *zero = memchr(message, '\0', (size_t)n);
    err_set(&e, (enum err_code)message[0], "%s", zero && zero > message ? zero + 1 : "");
    take(b, message + 1, &e);
    return 1;
}

void browser_deny_hear(struct browser *b)
{
    int rc = 0;
    for (int i = 0; b->deny.pid > 0 && i < HEARD && (rc = hear_one(b)) > 0; i++)
        ;
    if (rc >= 0 || b->cdp.ended)
        return;
    b->deny.lost = true;
    cdp_end(&b->cdp, ERR_GONE,
            "the process that keeps the browser from denied addresses (--deny, "
            "OD_BROWSE_DENY) has ended, and so the browser is ended too");
}

int browser_deny_check(struct browser *b, struct err *e)
{
    if (b->deny.pid <= 0)
        return 0;
    struct json *j = browser_run_script(b, deny_probe_js,
                                        "'http://" BROWSER_PROXY_PROBE "/'", e);
    if (!j)
        return -1;
    json_free(j);
    browser_deny_hear(b);
    return b->deny.probed
               ? 0
               : err_set(e, ERR_UNSUPPORTED,
                         "cannot keep this browser from denied addresses (--deny, "
                         "OD_BROWSE_DENY): it does not use the proxy that it was given; "
                         "look for a policy of this machine (ProxySettings), or for "
                         "--proxy-server among the flags that its own script adds");
}

static bool is_of_the_web(struct str url)
{
    static const char *const schemes[] = {"http", "https", "file", "data", "blob"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (url_scheme_is(url, schemes[i]))
            return true;
    }
    return str_chr(url, ':') < 0 || str_eq(url, STR("about:blank"));
}

bool browser_deny_begin(struct browser *b, struct str url)
{
    struct url u;
    struct buf whole = BUF_INIT(URL_JOIN_MAX);
    browser_deny_hear(b);
    b->deny.fit = BROWSER_DENY_NOTHING;
    b->deny.host[0] = '\0';
    /* The host in the form in which Chromium sends it to the proxy. */
    if (url_join(&whole, STR("about:blank"), url) == 0 &&
        url_parse(&u, buf_str(&whole), NULL) == 0 && u.host.n < sizeof(b->deny.host))
        snprintf(b->deny.host, sizeof(b->deny.host), "%.*s", STR_ARG(u.host));
    buf_release(&whole);
    return b->deny.pid <= 0 || is_of_the_web(str_trim(url));
}

/* Returns the error that Chromium reports without a proxy. */
static const char *plain_name(const struct err *e)
{
    return e->code == ERR_NOTFOUND  ? "net::ERR_NAME_NOT_RESOLVED"
           : e->code == ERR_GONE    ? "net::ERR_CONNECTION_REFUSED"
           : e->code == ERR_TIMEOUT ? "net::ERR_CONNECTION_TIMED_OUT"
                                    : NULL;
}

void browser_deny_explain(struct browser *b, struct str error, struct str url,
                          struct buf *out)
{
    browser_deny_hear(b);
    bool ours = b->deny.fit && str_starts(error, STR("net::ERR_SOCKS_CONNECTION"));
    const char *name = ours && b->deny.fit == BROWSER_DENY_IT ? plain_name(&b->deny.why)
                                                              : NULL;
    if (b->deny.lost) {
        buf_addz(out, b->cdp.why.text);
        return;
    }
    buf_adds(out, name ? str_of(name) : str_sub(error, 0, 100));
    buf_addf(out, " at %.*s", (int)(url.n > 200 ? 200 : url.n), url.p);
    if (ours)
        buf_addf(out, ": %.200s", b->deny.why.text);
}
