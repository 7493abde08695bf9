// SPDX-License-Identifier: MIT
//
// Returns the document as HTML. The content of open shadow trees, slots and frames of the
// same site is at its visible place, in a copy without scripts, where nothing of it runs.

function pageHtml() {
    const e = document.documentElement;
    if (!e) return '';
    if (
        !document.querySelector('iframe') &&
        ![...document.querySelectorAll('*')].some(n => n.shadowRoot)
    )
        return e.outerHTML;
    const d = document.implementation.createHTMLDocument(''),
        body = n => {
            try {
                return n.contentDocument.body;
            } catch {
                return null;
            }
        },
        copy = n => {
            const framed = n.tagName === 'IFRAME' && body(n),
                assigned = n.tagName === 'SLOT' ? n.assignedNodes() : [],
                c =
                    framed || n.shadowRoot
                        ? d.createElement('div')
                        : d.importNode(n, false);
            for (const k of (framed || n.shadowRoot || {}).childNodes ||
                (assigned.length ? assigned : n.childNodes))
                c.append(copy(k));
            return c;
        };
    try {
        return copy(e).outerHTML;
    } catch {
        return e.outerHTML;
    }
}
