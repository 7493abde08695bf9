// SPDX-License-Identifier: MIT
//
// Resolves 50 ms after the list of a field that completes has changed, 500 ms later at the
// latest: such a field asks when nothing was typed for 150 to 300 ms, as a rule. For another
// field it resolves after a frame and 50 ms.

function quietTyped() {
    return new Promise(r => {
        let a = document.activeElement;
        while (a && a.shadowRoot && a.shadowRoot.activeElement)
            a = a.shadowRoot.activeElement;
        const completes =
            '[role=combobox],[type=search],[aria-haspopup=listbox],' +
            '[aria-autocomplete=list],[aria-autocomplete=both]';
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
