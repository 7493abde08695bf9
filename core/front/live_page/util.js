// SPDX-License-Identifier: MIT
//
// Small things that all panels use: elements, texts, numbers.

// Makes an element: el('button', { type: 'button', class: 'x', onclick: f }, 'text', child).
// Texts become text nodes, never markup. A member that is null or false is left out.
function el(tag, members, ...children) {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(members ?? {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith('on'))
            e.addEventListener(name.slice(2), value);
        else
            e.setAttribute(name, value === true ? '' : value);
    }
    e.append(...children.filter(c => c !== null && c !== undefined));
    return e;
}

function byId(id) {
    return document.getElementById(id);
}

// 350 ms, 4.2 s, 3 min 5 s
function durationText(ms) {
    if (ms < 1000)
        return Math.round(ms) + ' ms';
    if (ms < 60000)
        return (ms / 1000).toFixed(1) + ' s';
    return Math.floor(ms / 60000) + ' min ' + Math.round(ms % 60000 / 1000) + ' s';
}

// Returns a word for a shell, quoted if needed.
function shellWord(word) {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : '\'' + word.replaceAll('\'', '\'\\\'\'') + '\'';
}

// Returns output without colours, cursor movements and text before a carriage return.
function plainText(text) {
    return text
        // eslint-disable-next-line no-control-regex
        .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g, '')
        .replace(/\r\n/g, '\n')
        .replace(/[^\n]*\r(?!\n)/g, '');
}

// Reads or writes what this browser stores for us: forever, or while the tab is open.
function kept(name, value, store = () => localStorage) {
    try {
        if (value !== undefined)
            store().setItem(name, value);
        return store().getItem(name) ?? '';
    } catch {
        return '';
    }
}

// Arrows, Home and End choose the tab at their side (ARIA Authoring Practices, tabs).
function onTabKey(e) {
    const tabs = [...e.currentTarget.children].filter(t => t.offsetParent !== null);
    const at = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[e.key];
    if (at < 0 || to === undefined)
        return;
    const tab = tabs.at(to % tabs.length);
    tab.focus();
    tab.click();
    e.preventDefault();
}

// The name that a person gave; the server numbers those who gave none.
function personName(name) {
    return !name || /^v\d+$/.test(name) ? 'somebody' : name;
}

// The first line, at most n characters.
function firstLine(text, n) {
    const line = text.trim().split('\n', 1)[0];
    return line.length > n ? line.slice(0, n - 1) + '…' : line;
}
