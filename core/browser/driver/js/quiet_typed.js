// SPDX-License-Identifier: MIT
//
// For a field with completion, resolves 50 ms after its list has changed, after 500 ms at
// the latest: such a field usually sends its request 150 to 300 ms after the last key.
// For other fields, resolves after a frame and 50 ms.

function quietTyped() {
    return new Promise(r => {
        let a = document.activeElement;
        while (a && a.shadowRoot && a.shadowRoot.activeElement)
            a = a.shadowRoot.activeElement;
        const completes =
            '[role=combobox],[type=search],[aria-haspopup],[aria-controls],[aria-owns],' +
            '[aria-autocomplete=list],[aria-autocomplete=both],[autocomplete=off]';
        if (!a || !a.matches(completes)) {
            requestAnimationFrame(() => setTimeout(r, 50));
            setTimeout(r, 200);
            return;
        }
        const o = new MutationObserver(() => setTimeout(end, 50)),
            end = () => {
                o.disconnect();
                r();
            };
        o.observe(a.getRootNode(), { subtree: true, childList: true, attributes: true });
        if (a.getRootNode() !== document)
            o.observe(document, { subtree: true, childList: true });
        setTimeout(end, 500);
    });
}
