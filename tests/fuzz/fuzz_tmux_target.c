/* SPDX-License-Identifier: MIT */
/*
 * Targets in a small world, which the first two bytes change: what is found belongs
 * together, a refusal has tmux's words, and a quiet one has none.
 */
#include "base/log.h"
#include "front/tmux/lang/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { SESSIONS = 3, LINKS = 7, WINDOWS = 5, PANES = 8 };

static char session_at_[SESSIONS], link_at_[LINKS], window_at_[WINDOWS], pane_at_[PANES];
static size_t sessions; /* how many there are */
static unsigned seed;

static const char *const session_names[SESSIONS] = {"alpha", "alpine", "3"};
static const struct {
    int session, index, window;
} link_rows[LINKS] = {{0, 0, 0}, {0, 1, 1}, {0, 5, 2}, {1, 0, 3},
                      {1, 1, 1}, {2, 0, 4}, {2, INT32_MAX, 0}};
static const char *const window_names[WINDOWS] = {"first", "second", "third", "first",
                                                  "x*"};
static const struct {
    int window;
    unsigned x, y, sx, sy;
} pane_rows[PANES] = {{0, 0, 0, 80, 24},  {1, 0, 0, 40, 11}, {1, 41, 0, 39, 11},
                      {1, 0, 12, 80, 12}, {2, 0, 0, 80, 24}, {3, 0, 0, 80, 24},
                      {4, 0, 0, 40, 24},  {4, 41, 0, 39, 24}};

static int nth(const char *base, const void *p) { return (int)((const char *)p - base); }

static bool session_at(void *ctx, size_t i, struct target_session *out)
{
    (void)ctx;
    if (i >= sessions)
        return false;
    *out = (struct target_session){.session = &session_at_[i],
                                   .id = (unsigned)i,
                                   .name = str_of(session_names[i]),
                                   .attached = (seed >> i) & 1,
                                   .activity = (int64_t)(seed >> i),
                                   .created = (int64_t)i};
    return true;
}

static bool link_at(void *ctx, void *session, size_t i, struct target_link *out)
{
    (void)ctx;
    for (int k = 0; k < LINKS; k++) {
        if (link_rows[k].session != nth(session_at_, session) || i-- > 0)
            continue;
        int w = link_rows[k].window;
        *out = (struct target_link){&link_at_[k], &window_at_[w], link_rows[k].index,
                                    (unsigned)w, str_of(window_names[w])};
        return true;
    }
    return false;
}

static bool pane_at(void *ctx, void *window, size_t i, struct target_pane *out)
{
    int index = (int)(seed & 1);
    (void)ctx;
    for (int k = 0; k < PANES; k++, index++) {
        if (pane_rows[k].window != nth(window_at_, window)) {
            index--;
            continue;
        }
        if (i-- > 0)
            continue;
        *out = (struct target_pane){.pane = &pane_at_[k],
                                    .id = (unsigned)k,
                                    .index = index,
                                    .x = pane_rows[k].x,
                                    .y = pane_rows[k].y,
                                    .sx = pane_rows[k].sx,
                                    .sy = pane_rows[k].sy,
                                    .visible = !(seed & 2) || k % 2,
                                    .recent = (unsigned)k};
        return true;
    }
    return false;
}

static const int current_of[SESSIONS] = {1, 3, 5};
static const int active_of[WINDOWS] = {0, 2, 4, 5, 6};

static void *current_link(void *ctx, void *session)
{
    (void)ctx;
    return &link_at_[current_of[nth(session_at_, session)]];
}

static void *last_link(void *ctx, void *session, size_t i)
{
    (void)ctx;
    return nth(session_at_, session) == 0 && i == 0 ? &link_at_[0] : NULL;
}

static void *active_pane(void *ctx, void *window)
{
    (void)ctx;
    return &pane_at_[active_of[nth(window_at_, window)]];
}

static void *last_pane(void *ctx, void *window)
{
    (void)ctx;
    return nth(window_at_, window) == 1 ? &pane_at_[1] : NULL;
}

static void size_of(void *ctx, void *window, unsigned *sx, unsigned *sy)
{
    (void)ctx;
    (void)window;
    *sx = 80;
    *sy = 24;
}

static void *client_of(void *ctx, struct str name)
{
    (void)ctx;
    return str_eq(name, STR("/dev/pts/3")) && sessions > 1 ? &session_at_[1] : NULL;
}

static const struct target_view view = {.session = session_at,
                                        .link = link_at,
                                        .pane = pane_at,
                                        .current_link = current_link,
                                        .last_link = last_link,
                                        .active_pane = active_pane,
                                        .last_pane = last_pane,
                                        .size = size_of,
                                        .client = client_of};

/* What is found is one place; only a window that need not be there may be missing. */
static void check_found(const struct target_state *s, bool index)
{
    BUG_ON(!s->session || s->index < -1);
    int session = nth(session_at_, s->session);
    BUG_ON(session < 0 || session >= (int)sessions);
    if (!s->link) {
        BUG_ON(!index || s->index < 0 || s->pane);
        return;
    }
    int link = nth(link_at_, s->link);
    BUG_ON(link < 0 || link >= LINKS || link_rows[link].session != session);
    BUG_ON(!s->window || !s->pane);
    BUG_ON(nth(window_at_, s->window) != link_rows[link].window);
    int pane = nth(pane_at_, s->pane);
    BUG_ON(pane < 0 || pane >= PANES);
    BUG_ON(pane_rows[pane].window != link_rows[link].window);
}

static void find(struct str text, enum target_type type, unsigned flags,
                 const struct target_state *at, const struct target_state *mouse)
{
    struct target_state found, marked = {0};
    struct buf why = BUF_INIT(1 << 16);
    if (sessions > 1)
        marked = (struct target_state){&session_at_[1], &link_at_[3], &window_at_[3],
                                       &pane_at_[5], -1};
    int rc = target_find(&found, text, type, flags, at,
                         seed & 4 && sessions > 1 ? &marked : NULL, mouse, &view, &why);
    BUG_ON(rc == 0 && why.n > 0);
    BUG_ON(rc < 0 && text.n < 1000 && (why.n > 0) == !!(flags & TARGET_QUIET));
    if (rc == 0)
        check_found(&found, flags & TARGET_WINDOW_INDEX);
    buf_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct target_state nowhere = {.index = -1};
    if (n < 2)
        return 0;
    seed = data[0];
    sessions = data[1] % (SESSIONS + 1);
    struct str text = str_n(data + 2, n - 2);
    struct target_state at = {&session_at_[0], &link_at_[1], &window_at_[1], &pane_at_[2],
                              -1};
    for (unsigned flags = 0; flags < 64; flags++) {
        for (int type = TARGET_SESSION; type <= TARGET_PANE; type++) {
            find(text, (enum target_type)type, flags, sessions ? &at : &nowhere, NULL);
            find(text, (enum target_type)type, flags, &nowhere, sessions ? &at : NULL);
        }
    }
    return 0;
}
