/* SPDX-License-Identifier: MIT */
/*
 * Dialogs of pages: alert, confirm, prompt. While a dialog is open, its page answers
 * neither input nor scripts (cdp.held). It is dismissed at once, as in Playwright, or
 * stays open for the caller (browser.asks).
 */
#include "browser/driver/driver.h"

#include <stdio.h>

static void answer(struct browser *b, struct str session, bool accept, struct str text)
{
    struct json *p = json_object();
    json_put_bool(p, "accept", accept);
    if (accept && text.p)
        json_put_str(p, "promptText", text);
    cdp_tell(&b->cdp, session, "Page.handleJavaScriptDialog", p);
}

static void note_dismissed(struct browser *b, struct str type, struct str text)
{
    browser_note(b, "the page's dialog (%.*s) was dismissed: %.*s", STR_ARG(type),
                 (int)(text.n > 800 ? 800 : text.n), text.p);
}

void browser_on_dialog(struct browser *b, struct str session, const struct json *p)
{
    struct str type = json_str(p, "type", ""), text = json_str(p, "message", "");
    struct target *t = browser_session(b, session);
    bool leave = str_eq(type, STR("beforeunload"));
    if (!leave && b->asks && browser_within(b, t) && session.n < BROWSER_ID) {
        snprintf(b->dialog.session, sizeof(b->dialog.session), "%.*s", STR_ARG(session));
        snprintf(b->dialog.type, sizeof(b->dialog.type), "%.*s", STR_ARG(type));
        buf_reset(&b->dialog.text);
        buf_reset(&b->dialog.fill);
        buf_adds(&b->dialog.text, str_sub(text, 0, b->dialog.text.max));
        struct str given = json_str(p, "defaultPrompt", "");
        buf_adds(&b->dialog.fill, str_sub(given, 0, b->dialog.fill.max));
        b->cdp.held = true;
        return;
    }
    answer(b, session, leave, (struct str){0});
    if (leave)
        browser_note(b, "the page asked before it was left (beforeunload), and was left");
    else
        note_dismissed(b, type, text);
}

void browser_dialog_over(struct browser *b, struct str session)
{
    if (!b->dialog.type[0] || !str_eq(session, str_of(b->dialog.session)))
        return;
    b->dialog.type[0] = b->dialog.session[0] = '\0';
    b->cdp.held = false;
}

void browser_answer_dialog(struct browser *b, bool accept)
{
    char session[BROWSER_ID];
    bool prompt = str_eq(str_of(b->dialog.type), STR("prompt"));
    if (!b->dialog.type[0])
        return;
    memcpy(session, b->dialog.session, sizeof(session));
    answer(b, str_of(session), accept,
           prompt ? str_of(buf_z(&b->dialog.fill)) : (struct str){0});
    browser_dialog_over(b, str_of(session));
}

void browser_dismiss_dialog(struct browser *b)
{
    if (!b->dialog.type[0])
        return;
    note_dismissed(b, str_of(b->dialog.type), buf_str(&b->dialog.text));
    browser_answer_dialog(b, false);
}
