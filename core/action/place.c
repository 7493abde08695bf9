/* SPDX-License-Identifier: MIT */
/* Where a session is, and whose it is, for what is done beside its shell. */
#include "front/v0/own.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>

/* The group of a user, and the others that it is in. */
static void set_groups(const struct v0 *v, struct v0_place *p)
{
    struct passwd *pw = getpwuid(p->uid);
    const struct user *bare = &v->en->nameless;
    int n = V0_GROUPS_MAX;
    p->gid = pw ? pw->pw_gid : bare->name[0] && bare->uid == p->uid ? bare->gid : p->uid;
    if (pw)
        snprintf(p->home, sizeof(p->home), "%s", pw->pw_dir);
    if (!pw || getgrouplist(pw->pw_name, p->gid, p->groups, &n) < 0)
        n = 0;
    p->groups_n = (size_t)n;
    if (n == 0)
        p->groups[p->groups_n++] = p->gid;
}

int v0_place(struct v0 *v, struct str session, struct v0_place *p, struct err *e)
{
    struct session *s = session_find(v->en, session);
    const char *cwd = s && session_cwd(s)[0] ? session_cwd(s)
                      : v->cwd[0]            ? v->cwd
                                             : v->en->home;
    struct buf login = BUF_INIT(8192);
    struct str user = v0_user(v);
    int rc = 0;
    *p = (struct v0_place){.uid = v->en->uid, .gid = v->en->gid};
    snprintf(p->cwd, sizeof(p->cwd), "%s", cwd);
    snprintf(p->home, sizeof(p->home), "%s", v->en->home);
    if (s)
        p->uid = session_uid(s);
    else if (user.n > 0)
        rc = engine_user(v->en, user, &p->uid, &p->gid, &login, e);
    p->as_user = rc == 0 && v->en->uid == 0 && p->uid != v->en->uid;
    if (p->as_user)
        set_groups(v, p);
    buf_release(&login);
    return rc;
}
