// SPDX-License-Identifier: MIT
//
// Returns "yes" when the element is visible, "" if that takes longer than ms.

async function visible(ms) {
    const end = performance.now() + ms;
    for (;;) {
        const r = this.getBoundingClientRect();
        if (
            this.isConnected &&
            r.width > 0 &&
            r.height > 0 &&
            getComputedStyle(this).visibility === 'visible'
        )
            return 'yes';
        if (performance.now() >= end) return '';
        await new Promise(r => setTimeout(r, 50));
    }
}
