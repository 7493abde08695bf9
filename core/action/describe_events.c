/* SPDX-License-Identifier: MIT */
/*
 * JSON Schemas of the events in the log (describe.h), made from the lists of the kinds.
 * log.c writes the members that every event begins with.
 */
#include "action/describe.h"

#include "base/member.h"

#include <stdio.h>

static const struct member range[] = {
    {.name = "from", .type = MEMBER_INT, .about = "The offset of the first byte"},
    {.name = "to", .type = MEMBER_INT, .about = "The offset after the last byte"},
    {0}};

#define EVENT_ID \
    {.name = "id", .type = MEMBER_INT, .about = "Its number in the log"}, \
    { \
        .name = "timestamp", .type = MEMBER_STRING, .about = "When it was logged" \
    }
#define EVENT_OF \
    {.name = "session", .type = MEMBER_STRING, .about = "The session"}, \
    { \
        .name = "client_id", .type = MEMBER_STRING, .optional = true, \
        .about = "The name that the client gave the action" \
    }
#define EVENT_CUT \
    {.name = "cut", \
     .type = MEMBER_INT, \
     .optional = true, \
     .about = "How many bytes it had before it was shortened"}, \
    { \
        .name = "masked", .type = MEMBER_INT, .optional = true, \
        .about = "How many secrets in it were replaced" \
    }
#define CONTENT \
    { \
        .name = "content", .type = MEMBER_STRING, .about = "The text" \
    }

/* The members that every observation begins with (line.c). */
static const struct member head[] = {
    EVENT_ID,
    {.name = "cause", .type = MEMBER_INT, .about = "The id of its action"},
    EVENT_OF,
    {.name = "output",
     .type = MEMBER_OBJECT,
     .optional = true,
     .members = range,
     .about = "The range of its session's output that it reports"},
    EVENT_CUT,
    {0}};

/* Events without a cause may have no session, either. */
static const struct member notice_head[] = {
    EVENT_ID,
    {.name = "session",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The session; missing if it concerns the whole server"},
    EVENT_CUT,
    {0}};

static const struct member error_beside[] = {
    {.name = "message", .type = MEMBER_STRING, .about = "Why the action failed"}, {0}};

static const struct member error_extras[] = {
    {.name = "error_id", .type = MEMBER_STRING, .about = "Empty; V0's errors have it"},
    {.name = "status",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The HTTP status of V0's answer"},
    {.name = "code",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "What kind of error it is, as in Error"},
    {0}};

static const struct observation error = {.name = "error",
                                         .beside = error_beside,
                                         .extras = error_extras,
                                         .about = "The action failed"};

/* Events that belong to no action: eventlog/line.c, eventlog/eventlog.c, part.c. */
static const struct member gap_extras[] = {
    {.name = "reason",
     .type = MEMBER_STRING,
     .choices = "retention damage refused",
     .about = "Why the events are missing"},
    {.name = "from",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The id of the first missing event"},
    {.name = "to", .type = MEMBER_INT, .optional = true, .about = "The id of the last"},
    {.name = "count",
     .type = MEMBER_INT,
     .optional = true,
     .about = "How many events had no room"},
    {.name = "refused_from",
     .type = MEMBER_INT,
     .optional = true,
     .about = "The first of them since the server began"},
    {.name = "refused_to", .type = MEMBER_INT, .optional = true, .about = "The last one"},
    {0}};

static const struct member plugin_extras[] = {
    {.name = "plugin", .type = MEMBER_STRING, .about = "Its name"},
    {.name = "kind",
     .type = MEMBER_STRING,
     .choices = "started output cached installed failed",
     .about = "What its setup did"},
    {0}};

/* What people do: front/screen, front/events/files_http.c. */
#define BY_A_PERSON \
    {.name = "of", \
     .type = MEMBER_STRING, \
     .about = "What they use: terminal, browser or files"}, \
    { \
        .name = "viewer", .type = MEMBER_STRING, .about = "The person's name" \
    }

static const struct member control_extras[] = {
    BY_A_PERSON,
    {.name = "drives",
     .type = MEMBER_BOOL,
     .about = "True: it is theirs from now on; false: they gave it back"},
    {.name = "how",
     .type = MEMBER_STRING,
     .optional = true,
     .choices = "take steal give back lapse resize shell",
     .about = "Of a terminal: how it changed hands, or that its size changed"},
    {0}};

static const struct member human_extras[] = {
    BY_A_PERSON,
    {.name = "inputs",
     .type = MEMBER_INT,
     .optional = true,
     .about = "How many inputs there were within a second, without their contents"},
    {.name = "bytes",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Of a terminal: how many bytes were typed within a second"},
    {.name = "path",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Of files: the file that they uploaded"},
    {.name = "size", .type = MEMBER_INT, .optional = true, .about = "Its size in bytes"},
    {0}};

static const struct member waits_extras[] = {
    BY_A_PERSON,
    {.name = "action", .type = MEMBER_INT, .about = "The action that waits"},
    {0}};

static const struct member refused_extras[] = {
    {.name = "what",
     .type = MEMBER_STRING,
     .choices = "connect send name listen socket secret write",
     .about = "What the program asked for"},
    {.name = "to",
     .type = MEMBER_STRING,
     .about = "HOST:PORT, a name, a port, a kind of socket, or a folder or file"},
    {.name = "why", .type = MEMBER_STRING, .about = "The reason"},
    {.name = "allowed", .type = MEMBER_STRING, .about = "The reach rules, shortened"},
    {.name = "rule",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The line that would have allowed it, if one would: of reach and listen "
              "for fence_allow, of write for the file of rules"},
    {.name = "learned",
     .type = MEMBER_BOOL,
     .optional = true,
     .about = "It was done all the same: the server learns (--fence-learn)"},
    {.name = "pid", .type = MEMBER_INT, .about = "The process"},
    {.name = "program",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "Its name, unless it had ended"},
    {.name = "within",
     .type = MEMBER_ANY,
     .about = "The processes above it, nearest first"},
    {.name = "more",
     .type = MEMBER_INT,
     .optional = true,
     .about = "How many refusals before this one were not said: there were too many"},
    {0}};

static const struct member devtools_extras[] = {
    {.name = "event",
     .type = MEMBER_STRING,
     .choices = "joined left opened navigated closed",
     .about = "What the client did: the last three to a tab"},
    {.name = "client", .type = MEMBER_INT, .about = "The client's number"},
    {.name = "key", .type = MEMBER_STRING, .about = "The name of its key, or empty"},
    {.name = "target",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The tab, by its id in the DevTools protocol"},
    {.name = "url", .type = MEMBER_STRING, .optional = true, .about = "Its address"},
    {0}};

static const struct observation others[] = {{.name = "control",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = control_extras,
                                             .about = "The terminal or browser "
                                                      "changed hands"},
                                            {.name = "devtools",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = devtools_extras,
                                             .about = "A DevTools client of a browser"},
                                            {.name = "human_input",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = human_extras,
                                             .about = "A person typed or clicked"},
                                            {.name = "waits",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = waits_extras,
                                             .about = "An action waits for a person"},
                                            {.name = "refused",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = refused_extras,
                                             .about = "The fence refused a program "
                                                      "something on the network"},
                                            {.name = "gap",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = gap_extras,
                                             .about = "Events that are not in the log"},
                                            {.name = "plugin",
                                             .notice = true,
                                             .causeless = true,
                                             .extras = plugin_extras,
                                             .about = "The setup of a plugin"},
                                            {0}};

/* event: with the members that it begins with in the log. */
static struct json *observation_schema(const struct observation *o, bool event)
{
    static const struct member content[] = {CONTENT, {0}};
    struct json *j = members_schema(!event ? NULL : o->causeless ? notice_head : head);
    struct member name = {
        .name = "observation", .type = MEMBER_STRING, .choices = o->name};
    struct member extras = {
        .name = "extras", .type = MEMBER_OBJECT, .members = o->extras};
    members_add(j, (const struct member[]){name, {0}});
    members_add(j, o->beside);
    members_add(j, content);
    members_add(j, (const struct member[]){extras, {0}});
    if (o->about)
        json_put_z(j, "description", o->about);
    return j;
}

/* Returns the observation of a kind without `gives`, which has no extras. */
static struct observation plain(const struct action_kind *k)
{
    return (struct observation){.name = k->name};
}

static void push_ends(struct json *any, const struct action_kind *k, bool event)
{
    struct observation only[2] = {plain(k), {0}};
    const struct observation *o = k->gives ? k->gives : only;
    for (; o->name; o++) {
        if (!o->notice)
            json_push(any, observation_schema(o, event));
    }
}

struct json *action_observation_schema(const struct action_kind *k, bool event)
{
    struct json *j = json_object(), *any = json_array();
    push_ends(any, k, event);
    if (event && k == &action_run)
        push_ends(any, &action_run_until, event);
    json_put_z(j, "title", k->name);
    json_put_z(j, "description", k->takes->about);
    json_put(j, "anyOf", any);
    return j;
}

struct json *action_error_schema(bool event) { return observation_schema(&error, event); }

struct json *action_result_schema(const struct action_kind *k)
{
    return members_schema(k->gives ? k->gives->extras : NULL);
}

static void put_notices(struct json *all, struct json *refs, const struct observation *o)
{
    for (; o && o->name; o++) {
        char name[80];
        snprintf(name, sizeof(name), "%s_event", o->name);
        if (o->notice && !json_has(all, name)) {
            json_put(all, name, observation_schema(o, true));
            json_push_str(refs, str_of(name));
        }
    }
}

void action_notices(struct json *all, struct json *refs)
{
    const struct action_kind *k;
    for (size_t i = 0; (k = action_kind_at(i)); i++)
        put_notices(all, refs, k->gives);
    put_notices(all, refs, action_run_until.gives);
    put_notices(all, refs, others);
}

struct json *action_event_schema(void)
{
    static const struct member event[] = {
        EVENT_ID,
        {.name = "key", .type = MEMBER_STRING, .about = "Names the action for the log"},
        EVENT_OF,
        {.name = "source",
         .type = MEMBER_STRING,
         .optional = true,
         .about = "The interface it came through: v0, exec, mcp …; or who asked"},
        {.name = "action", .type = MEMBER_STRING, .about = "Its kind"},
        {.name = "args",
         .type = MEMBER_OBJECT,
         .optional = true,
         .about = "Its arguments, as they were sent"},
        {.name = "timeout",
         .type = MEMBER_NUMBER,
         .optional = true,
         .about = "Its time limit in seconds"},
        {.name = "uid",
         .type = MEMBER_INT,
         .optional = true,
         .about = "Of od exec: the user who asked"},
        {.name = "pid",
         .type = MEMBER_INT,
         .optional = true,
         .about = "Of od exec: the process that asked"},
        EVENT_CUT,
        {0}};
    return members_schema(event);
}

struct json *action_other_event_schema(void)
{
    static const struct member event[] = {
        EVENT_ID,
        {.name = "cause",
         .type = MEMBER_INT,
         .optional = true,
         .about = "The id of the action that it is about"},
        {.name = "session",
         .type = MEMBER_STRING,
         .optional = true,
         .about = "The session"},
        {.name = "client_id",
         .type = MEMBER_STRING,
         .optional = true,
         .about = "The name that the client gave the action"},
        {.name = "output",
         .type = MEMBER_OBJECT,
         .optional = true,
         .members = range,
         .about = "The range of its session's output that it reports"},
        {.name = "observation", .type = MEMBER_STRING, .about = "Its kind"},
        {.name = "exit_code",
         .type = MEMBER_INT,
         .optional = true,
         .nullable = true,
         .about = "Of a command that has ended"},
        {.name = "waiting",
         .type = MEMBER_OBJECT,
         .optional = true,
         .about = "Of a command that goes on"},
        {.name = "message",
         .type = MEMBER_STRING,
         .optional = true,
         .about = "Of errors and V0's: a sentence"},
        {.name = "success",
         .type = MEMBER_BOOL,
         .optional = true,
         .about = "Of V0's commands"},
        {.name = "content", .type = MEMBER_STRING, .about = "The text"},
        {.name = "extras", .type = MEMBER_OBJECT, .about = "Members of its kind"},
        EVENT_CUT,
        {0}};
    return members_schema(event);
}
