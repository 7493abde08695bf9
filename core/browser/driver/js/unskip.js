// SPDX-License-Identifier: MIT
//
// Shows what Chromium skips because it is off the screen ("content-visibility: auto"): a
// skipped part has neither a text nor a place in the accessibility tree. Returns a function
// that takes that back.

function unskip() {
    const roots = [document],
        shown = [];
    for (let i = 0; i < roots.length; i++)
        for (const e of roots[i].querySelectorAll('*')) {
            if (e.shadowRoot) roots.push(e.shadowRoot);
            if (e.tagName === 'IFRAME' && e.contentDocument) roots.push(e.contentDocument);
            if (!e.style || getComputedStyle(e).contentVisibility !== 'auto') continue;
            shown.push([e, e.getAttribute('style')]);
            e.style.setProperty('content-visibility', 'visible', 'important');
        }
    return () => {
        for (const [e, style] of shown)
            if (style === null) e.removeAttribute('style');
            else e.setAttribute('style', style);
    };
}
