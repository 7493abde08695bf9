/* SPDX-License-Identifier: MIT */
/* The intrusive list: order, removal while walking, removal twice. */
#include "base/list.h"

#include "t.h"

struct item {
    int v;
    struct list node;
};

/* The values in order as decimal digits. */
static int digits(struct list *head)
{
    struct list *pos, *tmp;
    int v = 0;
    list_each(pos, tmp, head)
        v = v * 10 + list_entry(pos, struct item, node)->v;
    return v;
}

TEST(order_is_that_of_adding)
{
    struct list head = LIST_INIT(head);
    struct item a = {.v = 1}, b = {.v = 2}, c = {.v = 3};
    CHECK(list_empty(&head));
    CHECK_INT(digits(&head), 0);
    list_add_tail(&head, &a.node);
    list_add_tail(&head, &b.node);
    list_add_tail(&head, &c.node);
    CHECK_INT(digits(&head), 123);
    CHECK_INT(list_first(&head, struct item, node)->v, 1);
    CHECK(!list_empty(&head));
}

TEST(removal_anywhere_and_twice)
{
    struct list head = LIST_INIT(head);
    struct item it[4] = {0};
    for (int i = 0; i < 4; i++) {
        it[i].v = i + 1;
        list_add_tail(&head, &it[i].node);
    }
    list_del(&it[1].node);
    CHECK_INT(digits(&head), 134);
    list_del(&it[1].node);
    CHECK_INT(digits(&head), 134);
    CHECK(list_empty(&it[1].node));
    list_del(&it[0].node);
    list_del(&it[3].node);
    CHECK_INT(digits(&head), 3);
    list_add_tail(&head, &it[1].node);
    CHECK_INT(digits(&head), 32);
    list_del(&it[2].node);
    list_del(&it[1].node);
    CHECK(list_empty(&head));
}

TEST(the_current_one_may_go_while_walking)
{
    struct list head, *pos, *tmp;
    struct item it[6] = {0};
    list_init(&head);
    for (int i = 0; i < 6; i++) {
        it[i].v = i + 1;
        list_add_tail(&head, &it[i].node);
    }
    list_each(pos, tmp, &head)
        if (list_entry(pos, struct item, node)->v % 2 == 0)
            list_del(pos);
    CHECK_INT(digits(&head), 135);
    list_each(pos, tmp, &head)
        list_del(pos);
    CHECK(list_empty(&head));
}

T_MAIN
