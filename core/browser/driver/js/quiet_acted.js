// SPDX-License-Identifier: MIT
//
// Resolves a frame and 50 ms after DOMContentLoaded, or 200 ms after it if no frame is
// drawn: by then, the effects of an action are visible.

function quietActed() {
    return new Promise(r => {
        const go = () => {
            requestAnimationFrame(() => setTimeout(r, 50));
            setTimeout(r, 200);
        };
        if (document.readyState === 'loading') addEventListener('DOMContentLoaded', go);
        else go();
    });
}
