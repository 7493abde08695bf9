// SPDX-License-Identifier: MIT
//
// Resolves when something has scrolled, after 300 ms at the latest.

function scrolled() {
    return new Promise(r => {
        addEventListener('scrollend', r, { capture: true, once: true });
        setTimeout(r, 300);
    }).then(() => 1);
}
