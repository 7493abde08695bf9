/* SPDX-License-Identifier: MIT */
/*
 * An intrusive, circular, doubly linked list. The node is embedded in its
 * owner and in one list at a time; a node that is in no list points to itself, so
 * removing is idempotent.
 */
#ifndef OD_BASE_LIST_H
#define OD_BASE_LIST_H

#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>

#define container_of(ptr, type, member) \
    ((type *)((char *)(ptr) - offsetof(type, member)))

struct list {
    struct list *next, *prev;
};

#define LIST_INIT(name) {&(name), &(name)}

static inline void list_init(struct list *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list *l) { return l->next == l; }
static inline void list_add_tail(struct list *head, struct list *n)
{
    ASSERT(!n->next || list_empty(n)); /* in no list; a zeroed node needs no list_init */
    n->prev = head->prev;
    n->next = head;
    head->prev->next = n;
    head->prev = n;
}
static inline void list_del(struct list *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    list_init(n);
}
#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)
/* Safe against removal of `pos` itself in the body. */
#define list_each(pos, tmp, head) \
    for (pos = (head)->next, tmp = pos->next; pos != (head); \
         pos = tmp, tmp = pos->next)

#endif
