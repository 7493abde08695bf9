/* SPDX-License-Identifier: MIT */
#include "term/question.h"

#include <string.h>

enum { GROUND, ESCAPE, SEQUENCE, STRING, STRING_ESC };

/* Takes a byte of a sequence or string. Returns whether a possible question ended. */
static bool step(struct question_scan *q, unsigned char c)
{
    bool asked = false;
    switch (q->at) {
    case ESCAPE:
        q->marked = false;
        q->at = c == '[' ? SEQUENCE : c == ']' || c == 'P' ? STRING : GROUND;
        break;
    case SEQUENCE:
        if (c >= 0x40 && c < 0x7f) {
            asked = memchr("cnt", c, 3) || (q->marked && (c == 'p' || c == 'q'));
            q->at = GROUND;
        } else if (c == '$' || c == '>') {
            q->marked = true;
        } else if (c == '\030' || c == '\032' || c >= 0x7f) {
            q->at = GROUND;
        }
        break;
    case STRING:
        if (c == '\a' || c == '\030' || c == '\032') {
            asked = c == '\a' && q->marked;
            q->at = GROUND;
        } else if (c == '?' || c == 'q') {
            q->marked = true;
        }
        break;
    case STRING_ESC:
        asked = c == '\\' && q->marked;
        q->at = GROUND;
        if (c != '\\') { /* ESC began something new */
            q->at = ESCAPE;
            return step(q, c);
        }
        break;
    }
    return asked;
}

bool question_seen(struct question_scan *q, struct str bytes)
{
    bool asked = false;
    for (size_t i = 0; i < bytes.n; i++) {
        if (q->at == GROUND) {
            const char *esc = memchr(bytes.p + i, '\033', bytes.n - i);
            if (!esc)
                break;
            i = (size_t)(esc - bytes.p);
        }
        unsigned char c = (unsigned char)bytes.p[i];
        if (c == '\033')
            q->at = q->at == STRING ? STRING_ESC : ESCAPE;
        else
            asked |= step(q, c);
    }
    return asked;
}
