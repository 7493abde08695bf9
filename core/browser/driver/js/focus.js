// SPDX-License-Identifier: MIT
//
// Focuses the element.

function focus() {
    this.focus();
    return '';
}
