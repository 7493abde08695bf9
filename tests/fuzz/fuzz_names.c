/* SPDX-License-Identifier: MIT */
/*
 * Questions of programs to port 53: each is dropped or gets one answer of a bounded size
 * that repeats its id, and no name is looked up, as no rule allows one.
 */
#include "base/log.h"
#include "reach/names.h"
#include "reach/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const uint8_t *asked;
static int answers;

static void on_answer(void *arg, const struct names_asker *who, const void *bytes,
                      size_t n)
{
    const uint8_t *a = bytes;
    (void)arg;
    (void)who;
    BUG_ON(n < 12 || n > NAMES_ANSWER_MAX || !(a[2] & 0x80));
    BUG_ON(a[0] != asked[0] || a[1] != asked[1]);
    answers++;
}

static void on_refused(void *arg, const struct names_asker *who, struct str name)
{
    (void)arg;
    (void)who;
    BUG_ON(name.n > 253);
}

static void on_watch(void *arg, int fd, void *name, bool on)
{
    (void)arg;
    (void)fd;
    (void)name;
    (void)on;
    BUG_ON(true);
}

static const struct names_events events = {on_answer, on_refused, on_watch};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct resolver *names;
    const struct names_asker who = {.inode = 1};
    if (!names) {
        struct json *rules = json_array(), *o = json_object();
        json_put_z(o, "do", "reach");
        json_put_bool(o, "nothing", true);
        json_push(rules, o);
        names = names_open(reach_load(rules), &events, NULL);
        json_free(rules);
    }
    asked = data;
    answers = 0;
    names_ask(names, &who, data, n);
    BUG_ON(answers > 1);
    return 0;
}
