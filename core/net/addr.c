/* SPDX-License-Identifier: MIT */
/* Addresses to listen on. */
#include "net/addr.h"

#include "net/sockpath.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, PORT_MAX = 65535, PORT_OF_ROOT = 1024 };

/* ---- reading ---- */

static int refuse(struct str text, const char *why, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%.*s is not an address to listen on: %s; it is written 3000, "
                   "127.0.0.1:3000, [::1]:3000, unix:/path or @name",
                   (int)(text.n < 200 ? text.n : 200), text.p, why);
}

static int parse_unix(struct addr *a, struct str text, struct str path, struct err *e)
{
    struct sockaddr_un *u = (struct sockaddr_un *)&a->ss;
    bool abstract = path.p[0] == '@';
    if (!abstract && path.p[0] != '/')
        return refuse(text, "the path must begin with a slash", e);
    if (path.n < 2 || memchr(path.p, 0, path.n))
        return refuse(text, "there is no name in it", e);
    if (path.n >= sizeof(u->sun_path))
        return refuse(text, "a socket's name has at most 107 bytes", e);
    u->sun_family = AF_UNIX;
    memcpy(u->sun_path, path.p, path.n);
    if (abstract)
        u->sun_path[0] = 0;
    a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n + !abstract);
    return 0;
}

/* Parses the address without its port; brackets mean IPv6. */
static int parse_host(struct addr *a, struct str host)
{
    char z[INET6_ADDRSTRLEN + 1];
    struct sockaddr_in *v4 = (struct sockaddr_in *)&a->ss;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&a->ss;
    bool brackets = str_starts(host, STR("[")) && str_ends(host, STR("]"));
    if (brackets)
        host = str_sub(host, 1, host.n - 2);
    if (str_eq(host, STR("localhost")))
        host = STR("127.0.0.1");
    if (host.n == 0 || host.n >= sizeof(z))
        return -1;
    memcpy(z, host.p, host.n);
    z[host.n] = 0;
    if (brackets) {
        v6->sin6_family = AF_INET6;
        a->len = sizeof(*v6);
        return inet_pton(AF_INET6, z, &v6->sin6_addr) == 1 ? 0 : -1;
    }
    v4->sin_family = AF_INET;
    a->len = sizeof(*v4);
    return inet_pton(AF_INET, z, &v4->sin_addr) == 1 ? 0 : -1;
}

int addr_parse(struct addr *a, struct str text, struct err *e)
{
    *a = (struct addr){.len = 0};
    if (str_starts(text, STR("unix:")))
        return parse_unix(a, text, str_sub(text, 5, text.n), e);
    if (str_starts(text, STR("@")))
        return parse_unix(a, text, text, e);
    struct str host = STR("127.0.0.1"), port = text;
    for (size_t i = text.n; i > 0; i--) {
        if (text.p[i - 1] != ':')
            continue;
        host = str_sub(text, 0, i - 1);
        port = str_sub(text, i, text.n);
        break;
    }
    uint64_t n;
    if (str_to_u64(port, &n) < 0 || n > PORT_MAX)
        return refuse(text, "a port is a number from 0 to 65535", e);
    if (host.n == 0)
        return refuse(text, "0.0.0.0 before the colon means every interface", e);
    if (parse_host(a, host) < 0)
        return refuse(text,
                      "before the port is not an IP address, and names are not looked up", e);
    if (a->ss.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&a->ss)->sin6_port = htons((uint16_t)n);
    else
        ((struct sockaddr_in *)&a->ss)->sin_port = htons((uint16_t)n);
    return 0;
}

/* ---- telling ---- */

bool addr_is_unix(const struct addr *a) { return a->ss.ss_family == AF_UNIX; }

static unsigned port_of(const struct addr *a)
{
    if (a->ss.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&a->ss)->sin6_port);
    return ntohs(((const struct sockaddr_in *)&a->ss)->sin_port);
}

bool addr_is_loopback(const struct addr *a)
{
    if (a->ss.ss_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)&a->ss)->sin_addr.s_addr) >> 24) ==
               127;
    if (a->ss.ss_family != AF_INET6)
        return addr_is_unix(a);
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&a->ss)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) ||
           (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

void addr_print(const struct addr *a, struct buf *out)
{
    char z[INET6_ADDRSTRLEN] = "";
    if (addr_is_unix(a)) {
        const struct sockaddr_un *u = (const struct sockaddr_un *)&a->ss;
        size_t n = a->len - offsetof(struct sockaddr_un, sun_path);
        if (n > 0 && u->sun_path[0] == 0)
            buf_addf(out, "@%.*s", (int)n - 1, u->sun_path + 1);
        else
            buf_addf(out, "unix:%.*s", (int)n, u->sun_path);
    } else if (a->ss.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&a->ss)->sin6_addr, z,
                  sizeof(z));
        buf_addf(out, "[%s]:%u", z, port_of(a));
    } else {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)&a->ss)->sin_addr, z, sizeof(z));
        buf_addf(out, "%s:%u", z, port_of(a));
    }
}

unsigned addr_port(const struct addr *a)
{
    return addr_is_unix(a) ? 0 : port_of(a);
}

int addr_of(int fd, struct addr *out)
{
    *out = (struct addr){.len = sizeof(out->ss)};
    return getsockname(fd, (struct sockaddr *)&out->ss, &out->len);
}

/* ---- listening ---- */

/* Listens by sockpath, which checks owners and replaces a dead server's socket. */
static int listen_unix(const char *name, struct err *e)
{
    char place[SOCKPATH_MAX];
    int fd = sockpath_listen(name, place, sizeof(place), e);
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}

static const char *hint(const struct addr *a, int why)
{
    if (why == EADDRINUSE)
        return "; another program listens there: end it, or choose another port";
    if (why == EACCES && port_of(a) < PORT_OF_ROOT)
        return "; ports below 1024 are root's: choose a higher one";
    if (why == EADDRNOTAVAIL)
        return "; no interface of this machine has that address";
    return "";
}

int addr_listen(const struct addr *a, struct err *e)
{
    struct buf text = BUF_INIT(ADDR_TEXT_MAX);
    int on = 1, off = 0, fd;
    addr_print(a, &text);
    if (addr_is_unix(a)) {
        const char *z = buf_z(&text);
        fd = listen_unix(z[0] == '@' ? z : z + strlen("unix:"), e);
        buf_release(&text);
        return fd;
    }
    fd = socket(a->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool any6 = a->ss.ss_family == AF_INET6 &&
                IN6_IS_ADDR_UNSPECIFIED(
                    &((const struct sockaddr_in6 *)&a->ss)->sin6_addr);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (any6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a->ss, a->len) < 0 ||
        listen(fd, BACKLOG) < 0) {
        int why = errno;
        err_set(e, why == EADDRINUSE ? ERR_EXISTS : err_from_errno(why),
                "cannot listen on %s: %s%s", buf_z(&text), strerror(why), hint(a, why));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    buf_release(&text);
    return fd;
}
