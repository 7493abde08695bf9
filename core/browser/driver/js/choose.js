// SPDX-License-Identifier: MIT
//
// Selects the options of a list, each given by value, label or text, once they are there
// and enabled. Returns "", "made" for a list that the page has made of other elements, or,
// after ms, what is missing; "!…" is an immediate error.

async function choose(list, [ms]) {
    let e = this;
    if (e.tagName === 'LABEL' && e.control) e = e.control;
    if (e.tagName !== 'SELECT')
        return e.matches('[role=combobox],[role=listbox],[aria-haspopup=listbox]')
            ? 'made'
            : '!Error: Element is not a <select> element';
    const end = performance.now() + ms,
        off = o => o.disabled || o.closest('optgroup:disabled');
    for (let why; ;) {
        const want = [...list],
            hit = [];
        for (const o of e.options) {
            const i = want.findIndex(
                v => o.value === v || o.label === v || o.text.trim() === v,
            );
            if (i < 0) continue;
            hit.push(o);
            if (e.multiple) want.splice(i, 1);
            else {
                want.length = 0;
                break;
            }
        }
        why = want.length
            ? 'did not find some options'
            : hit.some(off)
              ? 'option being selected is not enabled'
              : '';
        if (!why) {
            for (const o of e.options) o.selected = hit.includes(o);
            e.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
            e.dispatchEvent(new Event('change', { bubbles: true }));
            return '';
        }
        if (performance.now() >= end) return why;
        await new Promise(r => setTimeout(r, 20));
    }
}
