// SPDX-License-Identifier: MIT
//
// Focuses a field and selects its content, so that inserted text replaces it. Returns "",
// "done" if the value is already set, "type" if it is longer than the field, one of several
// for a code whose script leads from one to the next, or "!…" for an element that takes no
// text.

function prepareFill([value]) {
    const e = this,
        t = (e.type || '').toLowerCase(),
        n = e.tagName;
    if (n === 'SELECT')
        return '!Error: Element is not an <input>, <textarea> or [contenteditable] element';
    if (n === 'INPUT') {
        if (
            [
                'button',
                'checkbox',
                'file',
                'image',
                'radio',
                'reset',
                'submit',
                'hidden',
            ].includes(t)
        )
            return '!Error: Input of type "' + t + '" cannot be filled';
        if (
            [
                'color',
                'date',
                'time',
                'datetime-local',
                'month',
                'range',
                'week',
            ].includes(t)
        ) {
            e.focus();
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(
                e,
                value.trim(),
            );
            if (e.value !== value.trim()) return '!Error: Malformed value';
            e.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
            e.dispatchEvent(new Event('change', { bubbles: true }));
            return 'done';
        }
        if (t === 'number' && value.trim() && isNaN(Number(value)))
            return '!Error: Cannot type text into input[type=number]';
    }
    e.focus();
    if (n === 'INPUT' || n === 'TEXTAREA') {
        e.select();
        if (e.maxLength > 0 && e.maxLength < 4 && value.length > e.maxLength) return 'type';
    } else {
        const r = e.ownerDocument.createRange();
        r.selectNodeContents(e);
        const s = e.ownerDocument.defaultView.getSelection();
        s.removeAllRanges();
        s.addRange(r);
    }
    return '';
}
