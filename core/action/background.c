/* SPDX-License-Identifier: MIT */
/* Background commands (background.h). The keeper has a line for each, in the order of
 * their ids. */
#include "action/background.h"

#include "action/outside_own.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char backgrounds_key[] = "events/trails";

const struct background *backgrounds_next(const struct actions *all,
                                          const struct background *t)
{
    const struct list *next = t ? t->node.next : all->backgrounds.next;
    return next == &all->backgrounds ? NULL : list_entry(next, struct background, node);
}

static void put_line(struct buf *b, const struct background *t)
{
    buf_addf(b, "%llu %llu %llu %s %s ", (unsigned long long)t->cause,
             (unsigned long long)t->end, (unsigned long long)t->from, t->session,
             t->command);
    if (t->client_id)
        json_quote(b, str_of(t->client_id)); /* which may have a newline */
    buf_addc(b, '\n');
}

static void keep(struct actions *all)
{
    struct buf b = BUF_INIT(LIMIT_BLOB_MAX);
    for (const struct background *t = NULL; (t = backgrounds_next(all, t));)
        put_line(&b, t);
    keeper_client_put(all->en->keeper, str_of(backgrounds_key), buf_str(&b));
    buf_release(&b);
}

static void background_free(struct background *t)
{
    list_del(&t->node);
    free(t->client_id);
    free(t);
}

void background_add(const struct action *a, uint64_t end, uint64_t from)
{
    struct actions *all = a->all;
    struct background *t = xnew(struct background);
    t->cause = a->id;
    t->end = end;
    t->from = from;
    memcpy(t->session, a->session, sizeof(t->session));
    memcpy(t->command, a->command, sizeof(t->command));
    t->client_id = a->client_id ? xstrdup(a->client_id) : NULL;
    list_add_tail(&all->backgrounds, &t->node);
    keep(all);
    actions_tell_trail(all);
}

/* Writes the event; c NULL: how it ended is not known. */
static void end(struct actions *all, struct background *t, const struct command_seen *c)
{
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT(LIMIT_EVENT_MAX), text = BUF_INIT(LIMIT_EVENT_MAX);
    struct json *extras = json_object();
    bool known = c && !c->failed;
    buf_addf(&b, "{\"cause\":%llu,\"session\":", (unsigned long long)t->cause);
    json_quote(&b, str_of(t->session));
    if (t->client_id) {
        buf_addz(&b, ",\"client_id\":");
        json_quote(&b, str_of(t->client_id));
    }
    if (known) {
        uint64_t to = c->to > t->from ? c->to : t->from;
        buf_addf(&b, ",\"output\":{\"from\":%llu,\"to\":%llu}",
                 (unsigned long long)t->from, (unsigned long long)to);
        run_put_output(all, t->session, t->from, to, &text, extras);
        run_put_end(extras, c->duration_ms, c->signo, c->shell_ended);
    } else {
        buf_addz(&text, "How the command ended is not known: its session is gone");
    }
    /* event_members reads the beginning of the line, so these members come first. */
    buf_addz(&b, ",\"observation\":\"ended\",\"exit_code\":");
    if (known)
        buf_addf(&b, "%d,\"content\":", c->exit);
    else
        buf_addz(&b, "null,\"content\":");
    json_quote(&b, buf_str(&text));
    buf_addz(&b, ",\"extras\":");
    json_print(&b, extras);
    buf_addc(&b, '}');
    if (!log_append(all, &b, &e))
        log_error("the end of a command is not in the event log: %s", e.text);
    json_free(extras);
    buf_release(&text);
    buf_release(&b);
    background_free(t);
    keep(all);
}

void background_ended(struct actions *all, const struct command_seen *c)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->backgrounds) {
        struct background *t = list_entry(it, struct background, node);
        if (strcmp(t->command, c->id) == 0 &&
            strcmp(t->session, session_name(c->session)) == 0)
            end(all, t, c);
    }
}

/* ---- after a restart ---- */

static void load_one(struct actions *all, struct str line)
{
    struct background *t = xnew(struct background);
    uint64_t *numbers[] = {&t->cause, &t->end, &t->from};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        str_to_u64(str_cut(&line, ' '), numbers[i]);
    struct str session = str_cut(&line, ' '), command = str_cut(&line, ' ');
    if (session.n <= ACTION_SESSION_MAX)
        memcpy(t->session, session.p, session.n);
    if (command.n <= LIMIT_ID)
        memcpy(t->command, command.p, command.n);
    struct buf client = BUF_INIT(ACTION_CLIENT_MAX);
    if (line.n > 0 && event_unquote(line, &client) == 0)
        t->client_id = xstrndup(client.p, client.n);
    buf_release(&client);
    list_add_tail(&all->backgrounds, &t->node);
}

void backgrounds_load(struct actions *all)
{
    struct buf *b = map_get(&all->en->states, str_of(backgrounds_key));
    struct str rest = b ? buf_str(b) : STR("");
    while (rest.n > 0) {
        struct str line = str_cut(&rest, '\n');
        if (line.n > 0)
            load_one(all, line);
    }
}

void backgrounds_loaded(struct actions *all)
{
    struct list *it, *tmp;
    list_each (it, tmp, &all->backgrounds) {
        struct background *t = list_entry(it, struct background, node);
        struct session *s = session_find(all->en, str_of(t->session));
        struct command_seen c;
        bool there = s && session_command(s, t->command, &c);
        if (!there || c.ended)
            end(all, t, there ? &c : NULL);
    }
}
