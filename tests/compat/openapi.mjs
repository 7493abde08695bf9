// SPDX-License-Identifier: MIT
//
// openapi.mjs VALIDATOR BODY ROUTES VERDICTS URL KEY: rows "ok NAME" or "no NAME: WHY".
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [module, body, routes, verdicts, url, key] = process.argv.slice(2);
const { Validator } = await import(module);
const Ajv = createRequire(module)('ajv/dist/2020');
const api = JSON.parse(readFileSync(body));
const show = (x) => JSON.stringify(x).slice(0, 400);
const row = (name, good, why = '') =>
    console.log(good ? `ok ${name}` : `no ${name}: ${String(why).replaceAll('\n', ' ')}`);

const judged = await new Validator().validate(structuredClone(api));
row('the public validator accepts it', judged.valid, show(judged.errors ?? ''));

// ---- routes ----

const served = JSON.parse(readFileSync(routes))
    .filter((r) => r.listener === 'http')
    .flatMap((r) => r.methods.map((m) => [`${m} ${r.path}`, r.key]));
const described = new Map(Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([m, op]) => [`${m.toUpperCase()} ${path}`, op])));
const missing = served.filter(([r]) => !described.has(r));
row('every route is in it', missing.length === 0, show(missing));
const known = new Set(served.map(([r]) => r));
const more = [...described.keys()].filter((r) => !known.has(r));
row('and nothing else', more.length === 0 && known.size > 20, show(more));
const open = served.filter(([r, k]) =>
    (k === 'none') !== (described.get(r)?.security?.length === 0));
row('security is that of the routes', open.length === 0, show(open));
const dumb = [...described].filter(([r, op]) => !op.summary || op.summary === r.split(' ')[1]);
row('every route has a sentence', dumb.length === 0, show(dumb.map(([r]) => r)));
const names = [...described].flatMap(([r, op]) => [...r.matchAll(/\{(\w+)\}/g)]
    .filter(([, n]) => !op.parameters?.some((p) => p.in === 'path' && p.name === n))
    .map(([, n]) => `${r} ${n}`));
row('every part of a path is a parameter', names.length === 0, show(names));

const ours = api.paths['/events'].post.responses;
const statuses = ['400', '403', '404', '409', '410', '500', '501', '503', '504', '507'];
row('every status of an error is a response', statuses.every((s) => ours[s]),
    show(Object.keys(ours)));
const told = statuses.map((s) => ours[s]?.description ?? '').join(' ');
row('and has its codes', ['INVALID', 'NOTFOUND', 'EXISTS', 'BUSY', 'TIMEOUT', 'LIMIT', 'GONE',
    'UNSUPPORTED', 'CANCELLED', 'IO', 'INTERNAL'].every((c) => told.includes(`${c}: `)), told);

// ---- arguments ----

const ajv = new Ajv({ strict: false, allErrors: false });
ajv.addSchema(api, 'api');
const schema = (name) => ajv.compile({ $ref: `api#/components/schemas/${name}` });
const actions = Object.keys(api.components.schemas)
    .filter((n) => n.endsWith('_arguments')).map((n) => n.slice(0, -'_arguments'.length));
const Action = schema('Action');
row('44 actions', actions.length === 44, actions.length);
const verbs = api.paths['/files/{verb}'].post.parameters.find((p) => p.name === 'verb').schema.enum;
const verbed = api.components.schemas.FileArguments.anyOf.map((a) => /(\w+)_arguments$/.exec(a.$ref)[1]);
row('the verbs of files are the actions on files',
    show(verbs.toSorted()) === show(verbed.sort()), show([verbs, verbed]));

const values = [null, true, false, 0, 1, -1, 1.5, 64, 65, 10000, 10001, 9007199254740991,
    9007199254740992, -9007199254740992, 1e300, '', 'x', 'é', 'YQ==', 'YQ=', 'YR==', 'YWI=',
    'YWJj', '====', 'a b', 'zip', 'rar', 'TERM', 'sigint', 'SIGKILL', 'SIGNO', 'SIG9', '99',
    '9', '09', '0', '64', 'open_file', 'own', 'oh_aci', {}, { a: 1 }, [], ['a'], [1], [[]]];
let seed = 1;
const random = (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % n;
};

const cases = [];
for (const action of actions) {
    const { properties = {}, examples } = api.components.schemas[`${action}_arguments`];
    const set = [...Object.keys(properties), 'more', 'thought'];
    const add = (args) => cases.push({ action, args });
    row(`an example of ${action}`, Action({ action, args: examples[0] }),
        show(Action.errors ?? ''));
    add(examples[0]);
    for (const name of set) {
        for (const value of values) {
            add({ ...examples[0], [name]: value });
            add({ [name]: value });
        }
        add(Object.fromEntries(Object.entries(examples[0]).filter(([n]) => n !== name)));
    }
    for (let i = 0; i < 300; i++) {
        const args = {};
        for (const name of set) {
            if (random(2))
                args[name] = values[random(values.length)];
        }
        add(args);
    }
    for (const args of [null, [], 'x', 1, true])
        add(args);
}

const lines = execFileSync(verdicts, {
    input: cases.map((c) => `${JSON.stringify(c)}\n`).join(''), maxBuffer: 1 << 28,
}).toString().trimEnd().split('\n');
const differ = [];
const compiled = new Map(actions.map((a) => [a, schema(`${a}_arguments`)]));
let good = 0;
cases.forEach((c, i) => {
    const mine = compiled.get(c.action)(c.args);
    good += mine;
    if (mine !== (lines[i] === 'ok'))
        differ.push([c, lines[i], compiled.get(c.action).errors?.[0]?.message]);
});
row('schema and server agree on thousands of arguments',
    differ.length === 0 && lines.length === cases.length && good > 500 &&
    cases.length - good > 5000, `${differ.length} of ${cases.length}, ${good} good: ${show(differ.slice(0, 3))}`);

// ---- refusals by the server itself ----

const Failure = schema('Error');
const refused = [];
const post = async (message) => {
    const answer = await fetch(`${url}/events?wait=0`, {
        method: 'POST', headers: { 'X-Session-API-Key': key }, body: JSON.stringify(message),
    });
    return [answer.status, await answer.json()];
};
for (const action of actions)
    refused.push({ action, args: [] }, { action, session: 'a b' }, { action, client_id: 1 });
refused.push({ action: 'nothing' }, { action: 'cancel', args: { id: 0 } }, { action: 'cancel' },
    { action: 'stat', args: { path: 'a', secrets: 1 } }, { action: 'eof', secrets: 1 },
    { action: 'run', args: { command: 'true' }, timeout: -1 },
    { action: 'run', args: { command: 'true' }, source: 'me' });
const passed = [];
for (const message of refused) {
    const [status, answer] = await post(message);
    if (status !== 400 || !Failure(answer) || Action(message))
        passed.push([message, status, answer, Action(message)]);
}
row('what the schema refuses is refused, in the words of the schema', passed.length === 0,
    show(passed));
