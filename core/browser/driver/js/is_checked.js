// SPDX-License-Identifier: MIT
//
// Returns the state of a check box or the like: "on", "off", "radio" (on, and a click
// does not turn it off) or "none". For ms, it looks again until the state is the wanted
// one. A removed element counts as in the wanted state: the page has replaced it.

async function isChecked([want], [ms]) {
    let e = this;
    if (e.tagName === 'LABEL' && e.control) e = e.control;
    const r = e.getAttribute('role'),
        own = e.tagName === 'INPUT' && ['checkbox', 'radio'].includes(e.type);
    if (
        !own &&
        ![
            'checkbox',
            'radio',
            'switch',
            'menuitemcheckbox',
            'menuitemradio',
            'option',
            'treeitem',
        ].includes(r)
    )
        return 'none';
    for (const end = performance.now() + ms; ;) {
        if (!e.isConnected) return want;
        const on = own ? e.checked : e.getAttribute('aria-checked') === 'true';
        const is = on
            ? (own ? e.type : r) === 'radio' && want === 'off'
                ? 'radio'
                : 'on'
            : 'off';
        if (is === want || performance.now() >= end) return is;
        await new Promise(r => setTimeout(r, 20));
    }
}
