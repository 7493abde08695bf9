// SPDX-License-Identifier: MIT
//
// Returns "yes" when the text or a match of the selector is visible, "" if that takes
// longer than ms, "!…" for an invalid selector. Case is ignored and blanks are folded;
// open shadow trees are searched, too.

async function shows(text, selector, ms) {
    const end = performance.now() + ms,
        fold = s => (s || '').replace(/\s+/g, ' ').trim().toLowerCase(),
        want = fold(text);
    const roots = d => {
        const all = [d];
        for (let i = 0; i < all.length; i++)
            for (const e of all[i].querySelectorAll('*'))
                if (e.shadowRoot) all.push(e.shadowRoot);
        return all;
    };
    const words = r => {
        const b = r.body || r.documentElement;
        if (b) return b.innerText === undefined ? b.textContent : b.innerText;
        return [...r.children]
            .map(e => (['STYLE', 'SCRIPT'].includes(e.tagName) ? '' : e.innerText || ''))
            .join(' ');
    };
    const shown = e => {
        const r = e.getBoundingClientRect();
        return (
            r.width > 0 && r.height > 0 && getComputedStyle(e).visibility === 'visible'
        );
    };
    for (;;) {
        for (const r of roots(document)) {
            if (text && fold(words(r)).includes(want)) return 'yes';
            if (selector)
                try {
                    if ([...r.querySelectorAll(selector)].some(shown)) return 'yes';
                } catch (x) {
                    if (!text) return '!' + x.message;
                }
        }
        if (performance.now() >= end) return '';
        await new Promise(r => setTimeout(r, 50));
    }
}
