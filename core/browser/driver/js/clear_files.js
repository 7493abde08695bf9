// SPDX-License-Identifier: MIT
//
// Empties a file field. Returns "", or "!…" if it is another element.

function clearFiles() {
    if (this.tagName !== 'INPUT' || this.type !== 'file')
        return '!Error: Node is not an HTMLInputElement';
    this.files = new DataTransfer().files;
    this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    this.dispatchEvent(new Event('change', { bubbles: true }));
    return '';
}
