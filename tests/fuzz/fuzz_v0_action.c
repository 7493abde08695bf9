/* SPDX-License-Identifier: MIT */
/*
 * A body of /execute_action, as JSON: it is an action whose strings are in
 * order, or a refusal with a status and words. And its texts, which are shown
 * to people in answers: whatever they hold, what is written is JSON again.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "front/v0/action.h"
#include "front/v0/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_json(struct buf *b)
{
    struct json *j = json_parse(buf_str(b), NULL);
    BUG_ON(!json_is_object(j));
    json_free(j);
    buf_reset(b);
}

static void check_answers(struct str s)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    struct v0_metadata m = {.exit_code = -1, .hostname = s, .prefix = s};
    BUG_ON(v0_put_run(&b, s, s, true, &m) < 0);
    check_json(&b);
    BUG_ON(v0_put_read(&b, s, false, s) < 0);
    check_json(&b);
    BUG_ON(v0_put_error_observation(&b, s) < 0);
    check_json(&b);
    BUG_ON(v0_put_error(&b, 500, s) < 0);
    check_json(&b);
    BUG_ON(v0_truncate(&b, s) < 0);
    size_t kept = b.n;
    BUG_ON(kept > s.n);
    struct buf again = BUF_INIT(SIZE_MAX);
    BUG_ON(v0_truncate(&again, buf_str(&b)) < 0 || again.n != kept);
    buf_release(&again);
    buf_release(&b);
}

static void check_action(const struct v0_action *a)
{
    BUG_ON(a->name.n == 0);
    BUG_ON(a->has_timeout && !(a->timeout > 0 && a->timeout <= V0_TIMEOUT_MAX));
    BUG_ON(a->read.has_range && a->read.odd_range);
    struct str all[] = {a->run.command, a->run.cwd, a->read.path, a->write.path,
                        a->write.content};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        BUG_ON(!utf8_valid(all[i]) || str_chr(all[i], '\0') >= 0);
        check_answers(all[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n(data, n);
    check_answers(s);
    struct json *body = json_parse(s, NULL);
    if (!body)
        return 0;
    struct v0_action a;
    struct err e = ERR_INIT;
    int status = 0;
    if (v0_action_decode(body, &a, &status, &e) == 0) {
        check_action(&a);
    } else {
        BUG_ON((status != 422 && status != 500) || e.code == ERR_NONE || !e.text[0]);
        BUG_ON(!utf8_valid(str_of(e.text)));
    }
    json_free(body);
    return 0;
}
