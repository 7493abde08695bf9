/* SPDX-License-Identifier: MIT */
/* The answers of V0's routes, as data for GET /openapi.json. */
#include "base/member.h"
#include "front/v0/own.h"
#include "http/httpd.h"

#define MEMBERS(...) ((const struct member[]){__VA_ARGS__, {0}})
#define OBJECT(...) \
    (&(const struct member){.type = MEMBER_OBJECT, .members = MEMBERS(__VA_ARGS__)})
#define STRING(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_STRING, .about = sentence \
    }
#define COUNT(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_INT, .about = sentence \
    }
#define NUMBER(member_name, sentence) \
    { \
        .name = member_name, .type = MEMBER_NUMBER, .about = sentence \
    }

const struct route_answer v0_answers_alive[] = {
    {.status = 200, .about = "The server is up", .value = OBJECT(STRING("status", "ok"))},
    {0}};

static const struct member ready_members[] = {
    {.name = "status",
     .type = MEMBER_STRING,
     .choices = "ready initializing",
     .about = "Whether the sandbox is prepared"},
    {.name = "problem",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "What could not be prepared"},
    {.name = "plugins",
     .type = MEMBER_OBJECTS,
     .optional = true,
     .members = MEMBERS(STRING("name", "The plugin"),
                        STRING("state", "The state of its preparation"),
                        {.name = "problem",
                         .type = MEMBER_STRING,
                         .optional = true,
                         .about = "Why it failed"}),
     .about = "The requested plugins"},
    {0}};
static const struct member ready = {.type = MEMBER_OBJECT, .members = ready_members};

const struct route_answer v0_answers_ready[] = {
    {.status = 200, .about = "The sandbox is prepared", .value = &ready},
    {.status = 503, .about = "It is not prepared yet", .value = &ready},
    {0}};

static const struct member memory[] = {COUNT("rss", "Bytes in memory"),
                                       COUNT("vms", "Bytes of address space"),
                                       NUMBER("percent", "Percentage of the machine's"),
                                       {0}};
static const struct member disk[] = {COUNT("total", "Bytes of /"),
                                     COUNT("used", "Bytes that are used"),
                                     COUNT("free", "Bytes available"),
                                     NUMBER("percent", "Percentage used"),
                                     {0}};
static const struct member io[] = {COUNT("read_bytes", "Bytes read from disks"),
                                   COUNT("write_bytes", "Bytes written"),
                                   {0}};
static const struct member resources[] = {
    NUMBER("cpu_percent", "Of one processor, since the last request"),
    {.name = "memory",
     .type = MEMBER_OBJECT,
     .members = memory,
     .about = "The worker's memory"},
    {.name = "disk",
     .type = MEMBER_OBJECT,
     .members = disk,
     .about = "The file system of /"},
    {.name = "io",
     .type = MEMBER_OBJECT,
     .members = io,
     .about = "The bytes it transferred"},
    {0}};

const struct route_answer v0_answers_server_info[] = {
    {.status = 200,
     .about = "The figures",
     .value = OBJECT(NUMBER("uptime", "Seconds since the start"),
                     NUMBER("idle_time", "Seconds since the last action"),
                     {.name = "resources",
                      .type = MEMBER_OBJECT,
                      .members = resources,
                      .about = "The resources that the server uses"})},
    {0}};

const struct route_answer v0_answers_action[] = {
    {.status = 200, .about = "The observation", .schema = "V0Observation"}, {0}};

const struct route_answer v0_answers_upload[] = {
    {.status = 200,
     .about = "The file was stored",
     .value = OBJECT(
         STRING("filename", "The name of the file"),
         STRING("destination", "Its folder"),
         {.name = "recursive", .type = MEMBER_BOOL, .about = "Whether it was unpacked"})},
    {0}};

const struct route_answer v0_answers_download[] = {
    {.status = 200, .type = "application/zip", .about = "The file or folder in a zip"},
    {.status = 200, .type = "application/octet-stream"},
    {.status = 206, .type = "application/octet-stream", .about = "A range of the file"},
    {0}};

const struct route_answer v0_answers_list[] = {
    {.status = 200,
     .about = "The names, those of folders with a / at the end",
     .value = &(const struct member){.type = MEMBER_STRINGS}},
    {0}};

const struct route_answer v0_answers_token[] = {
    {.status = 200,
     .about = "There is no VS Code",
     .value = OBJECT(
         {.name = "token", .type = MEMBER_STRING, .nullable = true, .about = "null"})},
    {0}};

const struct route_answer v0_answers_mcp[] = {
    {.status = 200,
     .about = "The list was read",
     .value = OBJECT(STRING("detail", "A sentence"),
                     STRING("router_error_log", "Servers that were not started"))},
    {0}};
