// SPDX-License-Identifier: MIT
//
// Returns "" if the element can be acted on, "late" if that took more than one look, "!…"
// for an immediate error, else, after ms, what is missing. It returns at once if the
// element has left the page. need is the sum of enum need
// (act.c). An element is stable if its box is the same in two frames; without frames, 100
// ms count as one.

async function ready([need], [ms]) {
    const e = this,
        blocks = ['center', 'end', 'start'],
        gone = 'element was detached from the DOM, retrying',
        end = performance.now() + ms;
    const frame = () =>
        new Promise(r => {
            requestAnimationFrame(r);
            setTimeout(r, 100);
        });
    const box = () => {
        const r = e.getBoundingClientRect();
        return [r.x, r.y, r.width, r.height].join();
    };
    const tag = n => {
        let s = '<' + n.tagName.toLowerCase();
        for (const a of n.attributes)
            s += ' ' + a.name + '="' + a.value.slice(0, 60) + '"';
        const text = (n.textContent || '').trim().slice(0, 50);
        return s + '>' + text + '</' + n.tagName.toLowerCase() + '>';
    };
    const look = async () => {
        if (!e.isConnected) return gone;
        if (need & 1) {
            const r = e.getBoundingClientRect();
            if (
                !(r.width > 0 && r.height > 0) ||
                getComputedStyle(e).visibility !== 'visible'
            )
                return 'element is not visible';
        }
        if (need & 8 && (e.matches(':disabled') || e.closest('[aria-disabled="true"]')))
            return 'element is not enabled';
        if (need & 16) {
            const n = e.tagName;
            if (!['INPUT', 'TEXTAREA', 'SELECT'].includes(n) && !e.isContentEditable)
                return (
                    '!Error: Element is not an <input>, <textarea>, <select> or ' +
                    '[contenteditable] and does not have a role allowing [aria-readonly]'
                );
            if (e.readOnly) return 'element is not editable';
        }
        // A page may ask for slow scrolling; then it is there before.
        if (need & 34 && getComputedStyle(e.ownerDocument.documentElement).scrollBehavior === 'smooth')
            e.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' });
        if (need & 34) e.scrollIntoViewIfNeeded(true);
        if (need & 2) {
            const a = box();
            await frame();
            if (a !== box()) return 'element is not stable';
        }
        if (need & 4) {
            const r =
                [...e.getClientRects()].find(r => r.width * r.height > 0.99) ||
                e.getBoundingClientRect();
            const w = e.ownerDocument.defaultView;
            const x = (Math.max(r.left, 0) + Math.min(r.right, w.innerWidth)) / 2,
                y = (Math.max(r.top, 0) + Math.min(r.bottom, w.innerHeight)) / 2;
            const h =
                e.getRootNode().elementFromPoint(x, y) ||
                e.ownerDocument.elementFromPoint(x, y);
            if (!h) return 'element is outside of the viewport';
            if (h !== e && !e.contains(h)) {
                const l = h.closest('label');
                if (
                    !(l && l.control === e) &&
                    !(e.control && e.control === h) &&
                    !(h.shadowRoot && h.shadowRoot.contains(e))
                ) {
                    // It may be under a header that stays where it is.
                    const c = h.getBoundingClientRect(),
                        small = c.width * c.height < 0.5 * w.innerWidth * w.innerHeight,
                        block = ms && need & 34 && small && blocks.shift();
                    if (block) e.scrollIntoView({ block, behavior: 'instant' });
                    return tag(h) + ' intercepts pointer events';
                }
            }
        }
        return '';
    };
    for (let late = ''; ; late = 'late') {
        const why = await look();
        if (!why) return late;
        // Perhaps while its frames were compared.
        if (!e.isConnected) return gone;
        if (why[0] === '!' || performance.now() >= end) return why;
        await new Promise(r => setTimeout(r, 20));
    }
}
