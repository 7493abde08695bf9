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

// Returns output without colours, cursor movements and text before a carriage return.
function plainText(text) {
    return text
        // eslint-disable-next-line no-control-regex
        .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g, '')
        .replace(/\r\n/g, '\n')
        .replace(/[^\n]*\r(?!\n)/g, '');
}

// The first line, at most n characters.
function firstLine(text, n) {
    const line = text.trim().split('\n', 1)[0];
    return line.length > n ? line.slice(0, n - 1) + '…' : line;
}
