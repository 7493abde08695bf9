/* SPDX-License-Identifier: MIT */
/* What cdp.c and link.c share. */
#ifndef OD_CDP_OWN_H
#define OD_CDP_OWN_H

#include "cdp/cdp.h"

struct cdp_link;

/* Takes a whole message; may take it out of the buffer. */
void cdp_message(struct cdp *c, struct buf *whole);

/* link.c */
/* Sends as much of c->out as it can. */
void cdp_link_write(struct cdp *c);
/* cdp_turn for a connection over a link. */
int cdp_link_turn(struct cdp *c, int64_t end_ms);
void cdp_link_free(struct cdp_link *k);

#endif
