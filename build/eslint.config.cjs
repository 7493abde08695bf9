// SPDX-License-Identifier: MIT
//
// What the scripts in core/ are held to: eslint -c build/eslint.config.cjs core. Needs
// NODE_PATH to have eslint's own modules (tests/scenario/build.test).
const { configs } = require('@eslint/js');

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
        files: ['**/js/fill.js'], // sent together with these
        languageOptions: { globals: globals(['prepareFill', 'ready']) },
    },
];
