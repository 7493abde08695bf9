/* SPDX-License-Identifier: MIT */
/*
 * Which names a client without a key may call this server by, in the Host field, and
 * which names are those of apps of the sandbox (--preview-host).
 *
 * A page at http://evil.example/ reaches a server by a name of its own whose address it
 * changes to ours (DNS rebinding); to the browser both are one site, so it adds neither
 * Origin nor Sec-Fetch-Site. The Host field still has the page's name.
 */
#ifndef OD_FRONT_HOSTS_H
#define OD_FRONT_HOSTS_H

#include "base/json.h"
#include "base/str.h"

#include <stdint.h>

struct hosts {
    char **v; /* owned: NAME, .DOMAIN or * */
    size_t n;
    bool open; /* see hosts_has */
    char *app; /* owned: "-box.example.org" of --preview-host; NULL: it is not set */
};

/*
 * options: {"insecure_open": bool, "allow_hosts": [as --allow-host has it, …],
 * "preview_host": as --preview-host has it}, all optional; read once.
 */
void hosts_init(struct hosts *h, const struct json *options);
void hosts_release(struct hosts *h);
/*
 * May host, a Host field's value, be used? Always: this machine (host_is_plain) and what
 * --allow-host has. Where others reach us anyway (--insecure-open), also names that are
 * not the public DNS's, by which containers and pods call each other: a single label, and
 * names under local, internal, svc, cluster.local and home.arpa.
 */
bool hosts_has(const struct hosts *h, struct str host);
/* An address, localhost or a name under it: what DNS cannot be made to point at us. */
bool host_is_plain(struct str host);
/* A name without a dot, or one of a private network, such as NAME.svc.cluster.local? */
bool host_is_private(struct str host);
/* May word be given to --allow-host? NAME, .DOMAIN, *.DOMAIN or *. */
bool hosts_may_add(struct str word);

/* May word be given to --preview-host? PORT-NAME or PORT.NAME. */
bool hosts_may_preview(struct str word);
/*
 * Is host that of an app, as 3000-box.example.org? *port: where the app listens; 0: no
 * port has that number. Other names below the same domain are not an app's.
 */
bool hosts_app(const struct hosts *h, struct str host, uint16_t *port);

#endif
