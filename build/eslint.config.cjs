// SPDX-License-Identifier: MIT
//
// What the scripts in core/ are held to: eslint -c build/eslint.config.cjs core. Needs
// NODE_PATH to have eslint's own modules (tests/scenario/build.test). TypeScript is linted
// where typescript-eslint is.
const { configs } = require('@eslint/js');

const typescript = () => {
    try {
        return require('typescript-eslint');
    } catch {
        return null;
    }
};

const globals = names => Object.fromEntries(names.map(n => [n, 'readonly']));

module.exports = [
    {
        files: ['**/*.js'],
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        languageOptions: {
            ecmaVersion: 2022,
            sourceType: 'script',
            globals: globals([
                'addEventListener', 'atob', 'Blob', 'btoa', 'clearTimeout', 'createImageBitmap',
                'DataTransfer', 'document', 'Event', 'fetch', 'getComputedStyle',
                'HTMLInputElement', 'IntersectionObserver', 'location', 'MutationObserver',
                'OffscreenCanvas', 'performance', 'requestAnimationFrame', 'setTimeout',
            ]),
        },
        rules: {
            ...configs.recommended.rules,
            // A file is one function, which the C code calls.
            'no-unused-vars': ['error', { vars: 'local' }],
            // build/embed.sh removes comments and indentation by lines.
            'no-multi-str': 'error',
            'no-restricted-syntax': ['error', 'TemplateLiteral'],
            'line-comment-position': 'error',
            'multiline-comment-style': ['error', 'separate-lines'],
            'no-sequences': 'error',
            'no-var': 'error',
            'prefer-const': ['error', { destructuring: 'all' }],
            eqeqeq: 'error',
            semi: 'error',
        },
    },
    {
        files: ['**/js/task_*.js'], // what a page of MiniWoB++ defines
        languageOptions: {
            globals: globals(['core', 'WOB_DONE_GLOBAL', 'WOB_RAW_REWARD_GLOBAL', 'WOB_TASK_READY']),
        },
    },
    {
        // The live page: files that are joined, and what each of them has for the others.
        files: ['**/front/live_page/*.js'],
        languageOptions: {
            globals: globals([
                'AbortController', 'console', 'CSS', 'devicePixelRatio', 'EventTarget', 'File', 'history',
                'HTMLElement', 'TextDecoderStream', 'XMLHttpRequest', 'filesPanel', 'kept', 'onTabKey', 'personName', 'playerControls', 'timelineTime', 'TIMELINE_MAX', 'timelineSummary', 'filesSize', 'filesOf', 'highlightLines',
                'Image', 'localStorage', 'matchMedia', 'navigator', 'Node', 'queueMicrotask',
                'removeEventListener', 'ResizeObserver', 'CSSStyleSheet', 'sessionStorage', 'setInterval', 'clearInterval', 'structuredClone',
                'cancelAnimationFrame', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams',
                'visualViewport', 'WebSocket', 'innerHeight', 'innerWidth', 'KeyboardEvent',
                'byId', 'changesPanel', 'durationText', 'el', 'emptyPanel', 'firstLine', 'makeControl', 'makeFollow', 'makeHeader', 'makeTimeline',
                'notebookPanel', 'openStream', 'plainText', 'portsPanel', 'screenPanel', 'shellWord', 'terminalPanel',
            ]),
        },
        rules: { 'no-redeclare': ['error', { builtinGlobals: false }] },
    },
    {
        files: ['**/js/fill.js'], // sent together with these
        languageOptions: { globals: globals(['prepareFill', 'ready']) },
    },
    ...typescript()?.configs.strictTypeChecked.map(part => ({ ...part, files: ['**/*.ts'] })) ?? [],
    ...typescript() ? [{
        files: ['**/*.ts'],
        linterOptions: { reportUnusedDisableDirectives: 'error' },
        languageOptions: {
            parserOptions: {
                project: 'build/tsconfig.json',
                tsconfigRootDir: `${__dirname}/..`,
            },
        },
        rules: {
            // Numbers in texts are meant.
            '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
            eqeqeq: ['error', 'always', { null: 'ignore' }],
            'prefer-const': ['error', { destructuring: 'all' }],
            semi: 'error',
        },
    }] : [],
];
