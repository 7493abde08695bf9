/* SPDX-License-Identifier: MIT */
/*
 * A kernel that speaks ZMTP: its connection file, its channels, the first request.
 * Sockets are in a private folder if one can be made (nobody else can connect, and there
 * is no race for a port); otherwise TCP on the loopback address.
 */
#include "base/clock.h"
#include "base/enc.h"
#include "base/jsontext.h"
#include "base/limits.h"
#include "kernel/host/own.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { AGAIN_FIRST_MS = 5, AGAIN_MOST_MS = 200, NUDGE_MS = 500, IPC_PATH_MAX = 80 };
enum { BUFFERS_MAX = ZMTP_PARTS_MAX - JMSG_PARTS };

/* The numbers that jupyter_client gives the sockets of ipc; the last is the heartbeat. */
static const int ipc_number[5] = {1, 2, 3, 5, 4};
/* Before the number: jupyter_client's, and that of who writes it like a port (tslab). */
static const char marks[2] = "-:";

/* ---- the connection file ---- */

static bool uses_ipc(const struct kernel_host *h) { return h->dir[0] && !h->spec->tcp; }

bool host_zmtp_may_need_tcp(const struct kernel_host *h)
{
    bool is_up = false;
    for (int i = 0; i < CHANNELS; i++)
        is_up = is_up || h->channels[i].up;
    return !h->spec->embedded && uses_ipc(h) && !is_up;
}

static void make_dir(struct kernel_host *h)
{
    const char *const bases[] = {getenv("XDG_RUNTIME_DIR"),
                                 "/run",
                                 "/tmp",
                                 "/dev/shm",
                                 "/var/tmp",
                                 getenv("TMPDIR"),
                                 getenv("OD_STATE_DIR")};
    for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
        if (!bases[i] || bases[i][0] != '/' || strlen(bases[i]) > IPC_PATH_MAX)
            continue;
        snprintf(h->dir, sizeof(h->dir), "%s/od-kernel.XXXXXX", bases[i]);
        if (mkdtemp(h->dir))
            return;
    }
    h->dir[0] = 0;
}

/* Returns a free port; another program may take it before the kernel does. */
static uint16_t free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
              getsockname(fd, (struct sockaddr *)&a, &n) == 0;
    if (fd >= 0)
        close(fd);
    return ok ? ntohs(a.sin_port) : 0;
}

static void file_text(struct kernel_host *h, struct buf *out)
{
    static const char *const ports[] = {"shell_port", "iopub_port", "stdin_port",
                                        "control_port", "hb_port"};
    struct json *j = json_object();
    bool ipc = uses_ipc(h);
    char ip[PATH_MAX + 8];
    snprintf(ip, sizeof(ip), "%s/s", h->dir);
    json_put_z(j, "transport", ipc ? "ipc" : "tcp");
    json_put_z(j, "ip", ipc ? ip : "127.0.0.1");
    for (int i = 0; i < 5; i++)
        json_put_int(j, ports[i], ipc ? ipc_number[i] : h->ports[i]);
    json_put_z(j, "key", h->key);
    json_put_z(j, "signature_scheme", "hmac-sha256");
    json_put_z(j, "kernel_name", h->spec->name);
    json_print(out, j);
    json_free(j);
}

/* Makes the folder; if that fails, chooses ports and makes a file in memory. */
static void make_place(struct kernel_host *h)
{
    random_hex(h->key, sizeof(h->key) - 1);
    random_hex(h->session, sizeof(h->session) - 1);
    make_dir(h);
    if (h->dir[0]) {
        snprintf(h->file, sizeof(h->file), "%s/kernel.json", h->dir);
        return;
    }
    h->file_fd = memfd_create("kernel.json", MFD_CLOEXEC);
    snprintf(h->file, sizeof(h->file), "/proc/%d/fd/%d", (int)getpid(), h->file_fd);
}

int host_zmtp_prepare(struct kernel_host *h, struct err *e)
{
    struct buf text = BUF_INIT(8192);
    if (!h->dir[0] && h->file_fd < 0)
        make_place(h);
    for (int i = 0; i < 5 && !uses_ipc(h); i++) /* the last ones may be in TIME_WAIT */
        h->ports[i] = free_port();
    /* At each start: a kernel that ended may have emptied or removed the file. */
    int fd = h->file_fd >= 0
                 ? h->file_fd
                 : open(h->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    file_text(h, &text);
    /* ipykernel wants this mode, and one in memory has another. */
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0 &&
              pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n;
    if (!ok)
        err_sys(e, errno,
                "cannot write a connection file for the kernel %s (tried the folders "
                "XDG_RUNTIME_DIR, /run, /tmp, /dev/shm, /var/tmp, TMPDIR)",
                h->spec->name);
    if (fd >= 0 && fd != h->file_fd)
        close(fd);
    buf_release(&text);
    return ok ? 0 : -1;
}

static void remove_sockets(const struct kernel_host *h)
{
    char path[PATH_MAX + 32];
    for (int i = 2; h->dir[0] && i < 12; i++) {
        snprintf(path, sizeof(path), "%s/s%c%d", h->dir, marks[i % 2], i / 2);
        unlink(path);
    }
}

void host_zmtp_clean(struct kernel_host *h)
{
    if (h->file_fd >= 0)
        close(h->file_fd);
    h->file_fd = -1;
    if (!h->dir[0])
        return;
    remove_sockets(h);
    unlink(h->file);
    rmdir(h->dir);
    h->dir[0] = 0;
}

/* ---- messages from the kernel ---- */

bool host_is_of_cell(const struct kernel_host *h, struct str parent)
{
    static const struct str name = {"msg_id", 6};
    struct str cell = jsontext_plain(jsontext_get(str_of(h->parent), name));
    return cell.n == 0 || str_eq(jsontext_plain(jsontext_get(parent, name)), cell);
}

/* Returns the number of our own request that the message answers, or 0. */
static unsigned which_of_ours(const struct kernel_host *h, struct str parent)
{
    char mark[64];
    uint64_t number;
    snprintf(mark, sizeof(mark), "%s-host-", h->session);
    long at = str_find(parent, str_of(mark));
    if (at < 0)
        return 0;
    struct str rest = str_sub(parent, (size_t)at + strlen(mark), parent.n);
    return str_to_u64(str_cut(&rest, '"'), &number) == 0 ? (unsigned)number : 0;
}

static void on_answer_of_ours(struct kernel_host *h, enum host_channel from,
                              const struct jmsg *m)
{
    struct err e = ERR_INIT;
    struct json *header = json_parse(m->header, &e);
    if (from == CH_SHELL &&
        str_eq(json_str(header, "msg_type", ""), STR("kernel_info_reply"))) {
        h->answered = true;
        json_free(h->info);
        h->info = json_parse(m->content, &e);
    }
    json_free(header);
}

/* Finds out whether the kernel runs the cell. */
static void look_at_status(struct kernel_host *h, const struct jmsg *m)
{
    if (m->content.n > 200 || str_find(m->header, STR("\"status\"")) < 0)
        return;
    struct err e = ERR_INIT;
    struct json *c = json_parse(m->content, &e);
    struct str state = json_str(c, "execution_state", "");
    bool of_cell = host_is_of_cell(h, m->parent);
    if (of_cell && str_eq(state, STR("busy")))
        host_begun(h);
    else if (of_cell && str_eq(state, STR("idle")))
        host_idle(h);
    json_free(c);
}

static void on_message(struct zmtp *z, const struct str *parts, int n)
{
    struct channel *c = container_of(z, struct channel, z);
    struct kernel_host *h = c->h;
    enum host_channel from = (enum host_channel)(c - h->channels);
    struct jmsg m;
    struct err e = ERR_INIT;
    unsigned ours = 0;
    if (from == CH_IOPUB)
        h->heard = true;
    if (jmsg_parse(parts, n, str_of(h->key), &m, &e) < 0) {
        if (h->state == HOST_STARTING && e.code == ERR_DENIED) {
            host_failed(h, &e);
            return;
        }
        host_say(h, "note", e.text);
        m = (struct jmsg){0};
    } else if ((ours = which_of_ours(h, m.parent)) != 0) {
        on_answer_of_ours(h, from, &m);
    } else if (from == CH_IOPUB)
        look_at_status(h, &m);
    if (m.header.n)
        host_lost_take(h, from, &m, ours);
    if (h->state == HOST_STARTING && h->heard && h->answered) {
        timer_stop(&h->nudge);
        host_ready(h);
    }
    if (m.header.n && !ours)
        host_pass(h, from, &m, z);
    if (!host_room(h))
        host_zmtp_pause(h, true);
}

/* ---- connecting ---- */

static void connect_one(struct timer *t);

static void on_up(struct zmtp *z)
{
    struct channel *c = container_of(z, struct channel, z);
    struct kernel_host *h = c->h;
    c->up = true;
    c->wait_ms = AGAIN_FIRST_MS;
    if (c->broke) /* the numbers of messages in between are unknown */
        host_lost_reset(h);
    c->broke = false;
    if (h->state == HOST_READY)
        host_say(h, c - h->channels == CH_IOPUB ? "gap" : "room",
                 "the connection to the kernel broke and was made again");
    if (h->state == HOST_STARTING && h->channels[CH_SHELL].up &&
        h->channels[CH_IOPUB].up && !timer_active(&h->nudge))
        timer_begin(h->loop, &h->nudge, 0, h->nudge.fn);
}

static void on_down(struct zmtp *z, const struct err *e)
{
    struct channel *c = container_of(z, struct channel, z);
    struct kernel_host *h = c->h;
    c->broke = c->broke || c->up;
    c->up = false;
    if (h->state != HOST_STARTING && h->state != HOST_READY)
        return;
    if (e->code == ERR_INVALID || e->code == ERR_UNSUPPORTED || e->code == ERR_LIMIT ||
        e->code == ERR_DENIED) {
        if (h->state == HOST_STARTING) {
            host_failed(h, e);
            return;
        }
        host_say(h, "note", e->text);
    }
    timer_begin(h->loop, &c->again, c->wait_ms, connect_one);
    c->wait_ms = c->wait_ms * 2 < AGAIN_MOST_MS ? c->wait_ms * 2 : AGAIN_MOST_MS;
}

static void on_room(struct zmtp *z)
{
    host_say(container_of(z, struct channel, z)->h, "room", NULL);
}

static const struct zmtp_events events = {on_up, on_message, on_room, on_down};

int host_zmtp_dial(const struct kernel_host *h, int i)
{
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    struct sockaddr_in t = {.sin_family = AF_INET,
                            .sin_port = htons(h->ports[i]),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool ipc = uses_ipc(h);
    int fd = socket(ipc ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    0);
    if (fd < 0)
        return -1;
    int r = ipc ? -1 : connect(fd, (struct sockaddr *)&t, sizeof(t));
    for (int k = 0; ipc && r < 0 && k < 2 && (k == 0 || errno == ENOENT); k++) {
        snprintf(u.sun_path, sizeof(u.sun_path), "%.100s/s%c%d", h->dir, marks[k],
                 ipc_number[i]);
        r = connect(fd, (struct sockaddr *)&u, sizeof(u));
    }
    if (r < 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

static void connect_one(struct timer *t)
{
    struct channel *c = container_of(t, struct channel, again);
    struct kernel_host *h = c->h;
    int i = (int)(c - h->channels);
    int fd = host_zmtp_dial(h, i);
    if (fd >= 0 &&
        zmtp_start(&c->z, h->loop, fd, i == CH_IOPUB ? ZMTP_SUB : ZMTP_DEALER,
                   i == CH_IOPUB ? "" : h->session, LIMIT_KERNEL_MESSAGE, &events) == 0)
        return;
    if (fd >= 0)
        close(fd);
    timer_begin(h->loop, &c->again, c->wait_ms, connect_one);
    c->wait_ms = c->wait_ms * 2 < AGAIN_MOST_MS ? c->wait_ms * 2 : AGAIN_MOST_MS;
}

static void on_nudge(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, nudge);
    host_zmtp_ask(h, CH_SHELL, "kernel_info_request", "{}");
    timer_begin(h->loop, &h->nudge, NUDGE_MS, on_nudge);
}

void host_zmtp_start(struct kernel_host *h)
{
    h->heard = h->answered = false;
    host_lost_reset(h);
    h->nudge.fn = on_nudge;
    for (int i = 0; i < CHANNELS; i++) {
        struct channel *c = &h->channels[i];
        c->h = h;
        c->wait_ms = AGAIN_FIRST_MS;
        c->broke = false;
        timer_begin(h->loop, &c->again, AGAIN_FIRST_MS, connect_one);
    }
}

void host_zmtp_stop(struct kernel_host *h)
{
    timer_stop(&h->nudge);
    host_heart_stop(h);
    for (int i = 0; i < CHANNELS; i++) {
        timer_stop(&h->channels[i].again);
        zmtp_release(&h->channels[i].z);
        h->channels[i].up = false;
    }
    remove_sockets(h); /* a killed kernel leaves them, and the next could not bind */
}

void host_zmtp_pause(struct kernel_host *h, bool pause)
{
    for (int i = 0; i < CHANNELS && pause == h->full; i++) {
        if (pause)
            zmtp_pause(&h->channels[i].z);
        else
            zmtp_resume(&h->channels[i].z); /* which may fill it again */
    }
}

/* ---- messages to the kernel ---- */

static void send_parts(struct kernel_host *h, enum host_channel to, const struct jmsg *m)
{
    char sig[JMSG_SIGNATURE + 1];
    struct str parts[ZMTP_PARTS_MAX];
    jmsg_sign(m, str_of(h->key), sig, parts);
    for (int i = 0; i < m->nbuffers; i++)
        parts[JMSG_PARTS + i] = m->buffers[i];
    struct zmtp *z = &h->channels[to].z;
    host_sent(h, &z->s, zmtp_send(z, parts, JMSG_PARTS + m->nbuffers) == 0);
}

/* Decodes the buffers of a message one after the other into all. */
static bool take_buffers(const struct json *message, struct buf *all, size_t *ends,
                         int *n)
{
    const struct json *list = json_get(message, "buffers");
    bool ok = json_count(list) <= BUFFERS_MAX;
    for (const struct json *v = json_first(list); ok && v; v = json_next(v)) {
        ok = dec_base64(all, json_str_value(v, "")) == 0;
        ends[(*n)++] = all->n;
    }
    return ok && !buf_full(all);
}

void host_zmtp_send(struct kernel_host *h, enum host_channel to,
                    const struct json *message)
{
    static const char *const members[] = {"header", "parent_header", "metadata",
                                          "content"};
    struct buf b[4], raw = BUF_INIT(LIMIT_ZMTP_OUT);
    struct str part[4], buffers[BUFFERS_MAX];
    size_t ends[BUFFERS_MAX];
    int n = 0;
    bool whole = take_buffers(message, &raw, ends, &n);
    for (int i = 0; i < 4; i++) {
        const struct json *v = json_get(message, members[i]);
        buf_init(&b[i], LIMIT_ZMTP_OUT);
        if (v)
            json_print(&b[i], v);
        else
            buf_addz(&b[i], "{}");
        part[i] = buf_str(&b[i]);
        whole = whole && !buf_full(&b[i]);
    }
    for (int i = 0; whole && i < n; i++) {
        size_t from = i ? ends[i - 1] : 0;
        buffers[i] = str_sub(buf_str(&raw), from, ends[i] - from);
    }
    struct jmsg m = {part[0], part[1], part[2], part[3], buffers, n};
    if (whole)
        send_parts(h, to, &m);
    else
        host_say(h, "note", "a message to the kernel is too long, and was not sent");
    for (int i = 0; i < 4; i++)
        buf_release(&b[i]);
    buf_release(&raw);
}

void host_zmtp_ask(struct kernel_host *h, enum host_channel to, const char *type,
                   const char *content)
{
    struct buf b = BUF_INIT(512);
    unsigned number = ++h->asked;
    host_lost_asked(h, to, number);
    buf_addf(&b,
             "{\"msg_id\":\"%s-host-%u\",\"session\":\"%s\",\"username\":\"od\",\"date\":"
             "\"2000-01-01T00:00:00Z\",\"msg_type\":\"%s\",\"version\":\"5.3\"}",
             h->session, number, h->session, type);
    struct jmsg m = {buf_str(&b), STR("{}"), STR("{}"), str_of(content), NULL, 0};
    send_parts(h, to, &m);
    buf_release(&b);
}
