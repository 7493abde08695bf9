// SPDX-License-Identifier: MIT
//
// Returns what of the page's height is visible: "720-1440 of 3000".

function scrollPlace() {
    const e = document.scrollingElement || document.documentElement,
        top = Math.round(e.scrollTop);
    return top + '-' + (top + e.clientHeight) + ' of ' + e.scrollHeight;
}
