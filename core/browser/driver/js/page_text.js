// SPDX-License-Identifier: MIT
//
// Returns the text of the page: innerText, with shadow trees and frames of the same site in
// their places. A document other than HTML has its text without layout, a picture its type
// and size.

function pageText() {
    const type = document.contentType,
        img = document.images[0];
    if (type.startsWith('image/') && img)
        return [
            'Type: ' + type,
            'Size: ' + img.naturalWidth + ' x ' + img.naturalHeight + ' pixels\n',
        ].join('\n');
    const deep = e => e.shadowRoot || e.tagName === 'IFRAME' || e.tagName === 'SLOT',
        blank = new Set([
            'SCRIPT',
            'STYLE',
            'NOSCRIPT',
            'TEMPLATE',
            'SELECT',
            'TEXTAREA',
        ]),
        within = e => [...e.querySelectorAll('*')].some(deep);
    const kids = l => [...l].map(say).join(''),
        say = n => {
            if (n.nodeType === 3) return n.data.replace(/\s+/g, ' ');
            if (n.nodeType !== 1 || blank.has(n.tagName)) return '';
            const w = n.ownerDocument.defaultView,
                s = w && w.getComputedStyle(n);
            if (!s || s.display === 'none') return '';
            let t;
            if (n.tagName === 'IFRAME') {
                let d = null;
                try {
                    d = n.contentDocument;
                } catch {
                    // A frame of another site.
                }
                t = d && d.body ? say(d.body) : '';
            } else if (n.shadowRoot) t = kids(n.shadowRoot.childNodes);
            else if (n.tagName === 'SLOT') {
                const a = n.assignedNodes();
                t = kids(a.length ? a : n.childNodes);
            } else if (n.tagName === 'BR') t = '\n';
            else if (within(n)) t = kids(n.childNodes);
            else t = n.innerText || '';
            return s.display.startsWith('inline') || s.display === 'contents'
                ? t
                : '\n' + t + '\n';
        };
    const b = document.body || document.documentElement;
    if (!b) return '';
    if (b.innerText === undefined) return b.textContent;
    if (within(b))
        try {
            return say(b)
                .replace(/[ \t]*\n[ \t]*/g, '\n')
                .replace(/\n{3,}/g, '\n\n')
                .trim();
        } catch {
            // The page's own scripts prevent it: use the text without shadow trees.
        }
    return b.innerText;
}
