/* SPDX-License-Identifier: MIT */
/*
 * Which names a client without a key may use for this server in the Host field, and which
 * names belong to apps of the sandbox (--preview-host).
 *
 * A page at http://evil.example/ can reach this server under its own name, by changing
 * the address of that name to ours (DNS rebinding). To the browser both are one site, so
 * it adds neither Origin nor Sec-Fetch-Site; but the Host field still has the page's
 * name.
 */
#ifndef OD_ACCESS_HOSTS_H
#define OD_ACCESS_HOSTS_H

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
 * options: {"insecure_open": bool, "allow_hosts": [a value of --allow-host, …],
 * "preview_host": the value of --preview-host}, all optional; used only during the call.
 */
void hosts_init(struct hosts *h, const struct json *options);
void hosts_release(struct hosts *h);
/*
 * May host, a Host field's value, be used? Always accepted are names of this machine
 * (host_is_plain) and those of --allow-host; with --insecure-open also names outside of
 * the public DNS, which containers and pods use for each other: a single label, and names
 * under local, internal, svc, cluster.local and home.arpa.
 */
bool hosts_has(const struct hosts *h, struct str host);
/* Is host an address, localhost or a name under it? DNS cannot make these point at us. */
bool host_is_plain(struct str host);
/* Is host a name without a dot, or one of a private network (NAME.svc.cluster.local)? */
bool host_is_private(struct str host);
/* Is word valid for --allow-host? NAME, .DOMAIN, *.DOMAIN or *. */
bool hosts_may_add(struct str word);

/* Is word valid for --preview-host? PORT-NAME or PORT.NAME. */
bool hosts_may_preview(struct str word);
/*
 * Is host that of an app, such as 3000-box.example.org? Sets *port to the app's port, or
 * to 0 if the number is not a port. Other names below the same domain are not an app's.
 */
bool hosts_app(const struct hosts *h, struct str host, uint16_t *port);

#endif
