/* SPDX-License-Identifier: MIT */
/* Addresses as people write them, and listening on them. */
#include "net/addr.h"

#include "t.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

static const char *printed(const struct addr *a)
{
    static struct buf b = BUF_INIT(ADDR_TEXT_MAX);
    buf_reset(&b);
    addr_print(a, &b);
    return buf_z(&b);
}

static struct addr parsed(const char *text)
{
    struct addr a;
    struct err e = ERR_INIT;
    if (addr_parse(&a, str_of(text), &e) < 0)
        T_FAIL("%s: %s", text, e.text);
    return a;
}

TEST(what_is_written_is_what_is_printed)
{
    static const struct {
        const char *text, *printed;
        bool loopback;
    } rows[] = {
        {"3000", "127.0.0.1:3000", true},
        {"0", "127.0.0.1:0", true},
        {"65535", "127.0.0.1:65535", true},
        {"127.0.0.1:3000", "127.0.0.1:3000", true},
        {"127.9.9.9:1", "127.9.9.9:1", true},
        {"localhost:3000", "127.0.0.1:3000", true},
        {"0.0.0.0:80", "0.0.0.0:80", false},
        {"10.0.0.1:3000", "10.0.0.1:3000", false},
        {"128.0.0.1:3000", "128.0.0.1:3000", false},
        {"[::1]:3000", "[::1]:3000", true},
        {"[::]:3000", "[::]:3000", false},
        {"[fe80::1]:3000", "[fe80::1]:3000", false},
        {"[::ffff:127.0.0.1]:5", "[::ffff:127.0.0.1]:5", true},
        {"[::ffff:10.0.0.1]:5", "[::ffff:10.0.0.1]:5", false},
        {"unix:/run/od.sock", "unix:/run/od.sock", true},
        {"@od", "@od", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct addr a = parsed(rows[i].text);
        CHECK_STR(printed(&a), rows[i].printed);
        if (addr_is_loopback(&a) != rows[i].loopback)
            T_FAIL("%s: loopback is %d", rows[i].text, !rows[i].loopback);
        CHECK_INT(addr_is_unix(&a), strchr("u@", rows[i].text[0]) != NULL);
    }
}

TEST(the_longest_unix_name_fits)
{
    char text[120] = "unix:/";
    memset(text + 6, 'x', 106);
    struct addr a = parsed(text);
    CHECK_STR(printed(&a), text);
    text[112] = 'x';
    struct err e = ERR_INIT;
    CHECK_INT(addr_parse(&a, str_of(text), &e), -1);
    CHECK(strstr(e.text, "107 bytes"));
}

TEST(what_is_no_address_is_refused_with_a_sentence)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "a port is a number"},
        {"65536", "a port is a number"},
        {"-1", "a port is a number"},
        {"+1", "a port is a number"},
        {"0x50", "a port is a number"},
        {" 80", "a port is a number"},
        {"127.0.0.1", "a port is a number"},
        {"127.0.0.1:", "a port is a number"},
        {"127.0.0.1:http", "a port is a number"},
        {":3000", "0.0.0.0 before the colon"},
        {"example.com:80", "names are not looked up"},
        {"localhost.:80", "names are not looked up"},
        {"127.1:80", "not an IP address"},
        {"256.0.0.1:80", "not an IP address"},
        {"::1:3000", "not an IP address"},
        {"[::1:3000", "not an IP address"},
        {"[]:3000", "not an IP address"},
        {"[127.0.0.1]:3000", "not an IP address"},
        {"unix:", "must begin with a slash"},
        {"unix:sock", "must begin with a slash"},
        {"unix:/", "no name"},
        {"@", "no name"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct addr a;
        struct err e = ERR_INIT;
        if (addr_parse(&a, str_of(rows[i].text), &e) == 0)
            T_FAIL("\"%s\" was taken", rows[i].text);
        if (!strstr(e.text, rows[i].why) || !str_starts(str_of(e.text), str_of(rows[i].text)))
            T_FAIL("\"%s\": %s", rows[i].text, e.text);
        CHECK_INT(e.code, ERR_INVALID);
    }
}

static int listen_at(const char *text, struct addr *real)
{
    struct addr a = parsed(text);
    struct err e = ERR_INIT;
    int fd = addr_listen(&a, &e);
    if (fd < 0)
        T_FAIL("%s", e.text);
    CHECK_INT(addr_of(fd, real), 0);
    return fd;
}

static bool can_dial(const struct addr *a)
{
    int fd = socket(a->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && connect(fd, (const struct sockaddr *)&a->ss, a->len) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

TEST(a_free_port_is_found_and_told)
{
    struct addr real;
    int fd = listen_at("127.0.0.1:0", &real);
    CHECK(!str_ends(str_of(printed(&real)), STR(":0")));
    CHECK(can_dial(&real));
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    CHECK(!can_dial(&real));
}

TEST(a_busy_port_is_said_and_a_port_just_left_is_free)
{
    struct addr real;
    struct err e = ERR_INIT;
    int fd = listen_at("127.0.0.1:0", &real);
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK_INT(connect(peer, (struct sockaddr *)&real.ss, real.len), 0);
    int conn;
    T_WAIT((conn = accept(fd, NULL, NULL)) >= 0);
    CHECK_INT(addr_listen(&real, &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK(strstr(e.text, printed(&real)) && strstr(e.text, "another program listens there"));
    close(conn); /* our side first: it stays in TIME_WAIT */
    close(peer);
    close(fd);
    fd = addr_listen(&real, &e);
    CHECK(fd >= 0);
    close(fd);
}

TEST(an_address_of_nobody)
{
    struct addr a = parsed("192.0.2.1:0");
    struct err e = ERR_INIT;
    CHECK_INT(addr_listen(&a, &e), -1);
    CHECK(strstr(e.text, "192.0.2.1:0") && strstr(e.text, "no interface of this machine"));
}

TEST(a_port_of_roots)
{
    if (geteuid() != 0)
        T_SKIP("root only: it becomes somebody else");
    int fd = open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_RDONLY);
    char least[8] = "";
    if (fd >= 0 && read(fd, least, 7) > 0 && strtol(least, NULL, 10) < 1024)
        T_SKIP("ports below 1024 are anybody's here");
    CHECK_INT(setuid(12345), 0);
    struct addr a = parsed("127.0.0.1:81");
    struct err e = ERR_INIT;
    CHECK_INT(addr_listen(&a, &e), -1);
    CHECK_INT(e.code, ERR_DENIED);
    CHECK(strstr(e.text, "127.0.0.1:81") && strstr(e.text, "below 1024"));
}

TEST(every_interface_of_ipv6_takes_ipv4_too)
{
    struct addr real, a = parsed("[::]:0");
    struct err e = ERR_INIT;
    int fd = addr_listen(&a, &e);
    if (fd < 0)
        T_SKIP("no IPv6");
    CHECK_INT(addr_of(fd, &real), 0);
    struct addr four = parsed("127.0.0.1:0");
    ((struct sockaddr_in *)&four.ss)->sin_port = ((struct sockaddr_in6 *)&real.ss)->sin6_port;
    CHECK(can_dial(&four));
}

TEST(a_unix_socket_is_its_owners_and_a_dead_one_is_replaced)
{
    char text[300];
    snprintf(text, sizeof(text), "unix:%s/s", t_dir());
    struct addr real, a = parsed(text);
    struct err e = ERR_INIT;
    int fd = listen_at(text, &real);
    CHECK_STR(printed(&real), text);
    struct stat st;
    CHECK_INT(stat(text + 5, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
    CHECK_INT(addr_listen(&a, &e), -1);
    CHECK_INT(e.code, ERR_EXISTS);
    CHECK(strstr(e.text, text + 5));
    close(fd);
    fd = listen_at(text, &real);
    CHECK(can_dial(&real));
    close(fd);
}

TEST(an_abstract_socket)
{
    char text[64];
    snprintf(text, sizeof(text), "@od-test-%ld", (long)getpid());
    struct addr real;
    int fd = listen_at(text, &real);
    CHECK_STR(printed(&real), text);
    CHECK(can_dial(&real));
    close(fd);
}

T_MAIN
