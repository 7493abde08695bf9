// SPDX-License-Identifier: MIT
//
// Finds what the wheel scrolls at a point: an element, or the page. Returns its visible
// height, and what of its height is visible: "300 720-1020 of 3000".

function scrollBox(x, y) {
    let d = document,
        e = null;
    for (let at; (at = d.elementFromPoint(x, y)) && at !== e;) {
        e = at;
        for (let s; e.shadowRoot && (s = e.shadowRoot.elementFromPoint(x, y)) && s !== e;)
            e = s;
        if (e.tagName !== 'IFRAME' || !e.contentDocument) break;
        const r = e.getBoundingClientRect();
        x -= r.x + e.clientLeft;
        y -= r.y + e.clientTop;
        d = e.contentDocument;
    }
    const scrolls = n =>
        n !== d.documentElement &&
        n !== d.body &&
        n.scrollHeight > n.clientHeight + 1 &&
        /auto|scroll/.test(getComputedStyle(n).overflowY);
    while (e && !scrolls(e)) e = e.parentElement || e.getRootNode().host;
    e = e || d.scrollingElement || d.documentElement;
    const top = Math.round(e.scrollTop);
    return e.clientHeight + ' ' + top + '-' + (top + e.clientHeight) + ' of ' + e.scrollHeight;
}
