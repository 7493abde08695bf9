// SPDX-License-Identifier: MIT
//
// The text of a program in colours: its comments, strings, numbers and words that languages
// have. A few forms of comments and strings stand for all languages; what is unknown has no
// colours. It reads for people: nothing depends on it.

const HIGHLIGHT_WORDS = 'abstract|and|any|as|assert|async|await|begin|bool|boolean|break|case|catch|char|class|const|' +
    'continue|def|default|defer|del|delete|do|done|double|elif|else|elsif|end|enum|esac|except|export|extends|extern|' +
    'false|fi|final|finally|float|fn|for|from|func|function|global|go|goto|if|impl|implements|import|in|include|inline|' +
    'instanceof|int|interface|is|lambda|let|local|long|loop|match|mod|module|mut|namespace|new|nil|None|nonlocal|not|' +
    'null|or|override|package|pass|private|protected|pub|public|raise|readonly|require|return|select|self|short|signed|' +
    'sizeof|static|string|struct|super|switch|template|then|this|throw|throws|trait|true|True|False|try|type|typedef|' +
    'typename|typeof|undefined|union|unless|unsigned|until|use|using|var|virtual|void|volatile|where|while|with|yield';
const HIGHLIGHT_SQL = 'add|all|alter|and|as|asc|begin|by|case|commit|create|delete|desc|distinct|drop|else|end|exists|' +
    'foreign|from|group|having|if|in|index|inner|insert|into|is|join|key|left|like|limit|not|null|on|or|order|outer|' +
    'primary|references|select|set|table|then|union|unique|update|values|view|when|where|with';
const HIGHLIGHT_NUMBER = '\\b(?:0[xXbBoO][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)';
const HIGHLIGHT_QUOTED = '"(?:\\\\[^]|[^"\\\\\\n])*"?|\'(?:\\\\[^]|[^\'\\\\\\n]){0,400}\'';
const HIGHLIGHT_SLASHES = '//.*|/\\*[^]*?(?:\\*/|(?![^]))';
// Comments, strings and words of a kind of text. A string may begin where none ends.
const HIGHLIGHT_KINDS = {
    c: [HIGHLIGHT_SLASHES, '"(?:\\\\[^]|[^"\\\\\\n])*"?|\'(?:\\\\[^\'\\n]{1,9}|[^\'\\\\\\n])\''],
    js: [HIGHLIGHT_SLASHES, HIGHLIGHT_QUOTED + '|`(?:\\\\[^]|[^`\\\\])*`?'],
    hash: ['(?<![^\\s;(){}])#.*', '"""[^]*?(?:"""|(?![^]))|\'\'\'[^]*?(?:\'\'\'|(?![^]))|' + HIGHLIGHT_QUOTED],
    shell: ['(?<![^\\s;(){}])#.*', '"(?:\\\\[^]|[^"\\\\])*"?|\'[^\']*\''],
    dash: ['--.*|/\\*[^]*?(?:\\*/|(?![^]))', HIGHLIGHT_QUOTED],
    sql: ['--.*|/\\*[^]*?(?:\\*/|(?![^]))', '\'(?:\'\'|[^\'])*\'?|"[^"\\n]*"?', HIGHLIGHT_SQL],
    css: ['/\\*[^]*?(?:\\*/|(?![^]))', HIGHLIGHT_QUOTED, '@[\\w-]+|(?<![\\w-])[\\w-]{1,40}(?=\\s{0,9}:)'],
    mark: ['<!--[^]*?(?:-->|(?![^]))', '"[^"<>]*"|\'[^\'<>]*\'', '</?[\\w:.-]+|/?>'],
    data: ['(?<![^\\s])[#;].*', HIGHLIGHT_QUOTED, '^\\s*\\[.*\\]|^[ \\t]*(?:- )*[\\w.][\\w./-]*(?=[ \\t]*[:=])|true|false|null'],
};
const HIGHLIGHT_NAMES = {
    c: 'c h cc cpp cxx hh hpp ino m mm java rs swift kt kts cs scala proto zig v',
    js: 'js mjs cjs jsx ts tsx mts cts json jsonc go php dart groovy gradle',
    hash: 'py pyi pyx rb rake pl pm r jl ex exs nim cr tcl coffee gd gemfile rakefile vagrantfile',
    shell: 'sh bash zsh ksh fish test dockerfile containerfile makefile mk bashrc profile zshrc',
    dash: 'lua hs elm ada adb',
    sql: 'sql',
    css: 'css scss less',
    mark: 'html htm xml svg xhtml vue svelte plist xsd xsl',
    data: 'yaml yml toml ini cfg conf env properties service editorconfig gitignore dockerignore',
};

// Returns the expression for a file of this name and beginning; null: no colours.
function highlightRule(name, text) {
    const end = /[^./]*$/.exec(name.toLowerCase())[0];
    const script = /^#!.*?\b(?:(?:ba|da|z|k)?(sh)|python|ruby|perl|(node))\b/.exec(text);
    const kind = Object.keys(HIGHLIGHT_NAMES).find(k => HIGHLIGHT_NAMES[k].split(' ').includes(end)) ??
        (script && (script[1] ? 'shell' : script[2] ? 'js' : 'hash'));
    if (!kind)
        return null;
    const [comments, strings, words] = HIGHLIGHT_KINDS[kind];
    return new RegExp('(' + comments + ')|(' + strings + ')|(' +
        (words && !/^\w/.test(words) ? words : '\\b(?:' + (words ?? HIGHLIGHT_WORDS) + ')\\b') + ')|(' +
        HIGHLIGHT_NUMBER + ')', kind === 'sql' ? 'gim' : 'gm');
}

// Returns an element for each line, which CSS numbers.
function highlightLines(text, name) {
    const lines = [el('span')], rule = highlightRule(name, text);
    const add = (part, kind) => part.split('\n').forEach((line, i, all) => {
        if (i)
            lines.push(el('span'));
        const shown = i + 1 < all.length ? line + '\n' : line;
        if (shown)
            lines.at(-1).append(kind ? el('span', { class: 'hl-' + kind }, shown) : shown);
    });
    let at = 0;
    for (const m of rule ? text.matchAll(rule) : []) {
        const kind = ['comment', 'string', 'word', 'number'][m.slice(1).findIndex(part => part !== undefined)];
        add(text.slice(at, m.index));
        add(m[0], kind);
        at = m.index + m[0].length;
    }
    add(text.slice(at));
    return lines;
}
