// SPDX-License-Identifier: MIT
//
// Resolves with "taken" when the element's window gets an event of this type and its
// handlers have prevented the default action, else with "" (after ms at the latest).

function dropped([type], [ms]) {
    const w = this.ownerDocument.defaultView;
    return new Promise(r => {
        const look = v => {
            w.removeEventListener(type, look, true);
            setTimeout(() => r(v.defaultPrevented ? 'taken' : ''));
        };
        w.addEventListener(type, look, true);
        setTimeout(() => {
            w.removeEventListener(type, look, true);
            r('');
        }, ms);
    });
}
