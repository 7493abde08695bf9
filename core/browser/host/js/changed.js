// SPDX-License-Identifier: MIT
//
// Resolves 100 ms after the first change of the document, after ms at the latest.

function changed(ms) {
    return new Promise(r => {
        const o = new MutationObserver(() => {
            o.disconnect();
            setTimeout(r, 100);
        });
        o.observe(document, {
            subtree: true,
            childList: true,
            attributes: true,
            characterData: true,
        });
        setTimeout(() => {
            o.disconnect();
            r();
        }, ms);
    });
}
