// SPDX-License-Identifier: MIT
//
// Resolves after 50 ms without a change of the document, or within a frame and 5 ms if
// nothing changes at all; after 200 ms at the latest.

function quietLoaded() {
    return new Promise(r => {
        let t;
        const wait = ms => {
                clearTimeout(t);
                t = setTimeout(end, ms);
            },
            o = new MutationObserver(() => wait(50)),
            end = () => {
                o.disconnect();
                r();
            };
        o.observe(document, {
            subtree: true,
            childList: true,
            attributes: true,
            characterData: true,
        });
        requestAnimationFrame(() => t || wait(5));
        setTimeout(end, 200);
    });
}
