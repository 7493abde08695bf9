// SPDX-License-Identifier: MIT
//
// Resolves when the page shows a word or a field and nothing in it is marked as loading
// or busy, after ms at the latest; at once for a page without scripts.

function filled(ms) {
    return new Promise(r => {
        const end = performance.now() + ms,
            d = document;
        if (!d.body || !d.scripts.length) return r();
        const content =
            'input,select,textarea,button,canvas,video,embed,object,img,svg,iframe';
        const big = (e, n) => {
                const b = e.getBoundingClientRect();
                return b.width * b.height > n;
            },
            roots = t => {
                const all = [t];
                for (let i = 0; i < all.length; i++)
                    for (const e of all[i].querySelectorAll('*'))
                        if (e.shadowRoot) all.push(e.shadowRoot);
                return all;
            },
            words = t =>
                t.body
                    ? t.body.innerText || ''
                    : [...t.children].map(e => e.innerText || '').join(' '),
            has = t =>
                words(t).trim() ||
                [...t.querySelectorAll(content)].some(e => {
                    if (e.tagName === 'IFRAME')
                        try {
                            return (
                                !e.contentDocument || roots(e.contentDocument).some(has)
                            );
                        } catch {
                            return true;
                        }
                    return big(
                        e,
                        ['IMG', 'svg', 'CANVAS'].includes(e.tagName) ? 40000 : 0,
                    );
                }),
            waits = /^\W*(loading|please wait|fetching|initiali[sz]ing)\b.{0,30}$/i,
            busy = t =>
                [...t.querySelectorAll('[aria-busy=true]')].some(e => big(e, 0)) ||
                words(t)
                    .split('\n', 200)
                    .some(l => waits.test(l.trim()));
        const look = () => {
            const all = roots(d);
            if ((all.some(has) && !all.some(busy)) || performance.now() >= end)
                return r();
            setTimeout(look, 50);
        };
        look();
    });
}
