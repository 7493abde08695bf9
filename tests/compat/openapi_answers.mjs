// SPDX-License-Identifier: MIT
//
// openapi_answers.mjs VALIDATOR BODY URL KEY FOLDER: rows "ok NAME" or "no NAME: WHY".
//
// Does each action and asks each route, and holds what is answered against its schema. The
// schemas are closed here: a member that is not described is a failure.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const [module, body, url, key, folder] = process.argv.slice(2);
const Ajv = createRequire(module)('ajv/dist/2020');
const api = JSON.parse(readFileSync(body));
const show = (x) => JSON.stringify(x)?.slice(0, 600);
const row = (name, good, why = '') =>
    console.log(good ? `ok ${name}` : `no ${name}: ${String(why).replaceAll('\n', ' ')}`);

/** The same with closed objects. */
function closed(schema) {
    if (Array.isArray(schema))
        return schema.map(closed);
    if (schema === null || typeof schema !== 'object')
        return schema;
    const out = Object.fromEntries(Object.entries(schema).map(([k, v]) => [k, closed(v)]));
    if (out.type === 'object' && out.properties && !('additionalProperties' in out))
        out.additionalProperties = false;
    return out;
}

const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema(closed(api), 'api');
const escaped = (part) => part.replaceAll('~', '~0').replaceAll('/', '~1');
const at = (...path) => ajv.compile({ $ref: `api#/${path.map(escaped).map(encodeURIComponent).join('/')}` });
const named = (name) => at('components', 'schemas', name);

// ---- what is asked ----

const head = { 'X-Session-API-Key': key };
const tried = new Set();
const wrong = [];

/** Asks a route, and holds its answer against the schema of its status. */
async function ask(method, path, route, { data, headers = {}, with_key = true } = {}) {
    const answer = await fetch(url + path, {
        method, body: data, headers: { ...with_key && head, ...headers },
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    const status = String(answer.status);
    const op = api.paths[route]?.[method.toLowerCase()];
    const type = (answer.headers.get('content-type') ?? '').split(';')[0];
    const which = op?.responses[status] ? status : 'default';
    tried.add(`${method} ${route} ${which} ${type}`);
    const about = op?.responses[which];
    if (!about || (bytes.length > 0 && !about.content?.[type]))
        wrong.push([method, path, status, type, 'is not described']);
    if (type !== 'application/json')
        return bytes;
    const json = JSON.parse(bytes);
    if (about?.content?.[type]) {
        const fits = at('paths', route, method.toLowerCase(), 'responses', which, 'content', type, 'schema');
        if (!fits(json))
            wrong.push([method, path, status, show(json), show(fits.errors)]);
    }
    return json;
}

const seen = new Map();
async function act(action, args, more = {}) {
    const { wait, ...rest } = more;
    const done = await ask('POST', `/events${wait === 0 ? '?wait=0' : ''}`, '/events',
        { data: JSON.stringify({ action, args, session: 'all', ...rest }) });
    if (wait !== 0)
        seen.set(action, [...seen.get(action) ?? [], done]);
    return done;
}

/** The events after an id, until one has the quality. */
async function until(since, good) {
    for (const all = []; ;) {
        const page = await ask('GET', `/events?since=${since}&wait=60`, '/events');
        all.push(...page.events);
        const found = all.find(good);
        if (found || page.events.length === 0)
            return found;
        since = page.last;
    }
}

const pages = createServer((request, answer) => {
    answer.setHeader('Content-Type', 'text/html');
    answer.end('<title>A page</title><p>words of the page<button onclick="document.title=1">Press</button>'
        + '<a href="/other">elsewhere</a><script>console.error("bad")</script>');
});
pages.listen(0, '127.0.0.1');
await once(pages, 'listening');
const site = `http://127.0.0.1:${pages.address().port}/`;

// ---- actions ----

await act('run', { command: `cd ${folder}; echo out` });
await act('run', { command: 'head -c 100000 /dev/zero | tr "\\0" x; kill -9 $$', until: 'end' });
await act('run', { command: `cd ${folder}; (exit 3)`, until: 'end' });
const asks = await act('run', { command: 'read -s -p name: x; echo got $x', until: 'input' });
await act('run', { command: 'true', until: 'end', busy: 'fail' });
await act('resize', { rows: 50, cols: 100 });
await act('key', { key: 'a' });
await act('input', { text: 'b\n' });
await act('wait', { until: 'end' });
const ended = await until(asks.id, (e) => e.observation === 'ended');
row('ended is described', named('ended_event')(ended), show([ended, named('ended_event').errors]));
await act('run', { command: 'cat', until: 'input' });
await act('eof');
await act('wait', {});
const slow = await act('run', { command: 'sleep 1000', until: 'end' }, { wait: 0 });
await until(slow.id - 1, (e) => e.id === slow.id);
await act('wait', { until: 'quiet', quiet: 0.1, id: slow.id });
await act('signal', { signal: 'INT' });
await act('wait', { id: slow.id });
const long = await act('run', { command: 'sleep 1000', until: 'end' }, { wait: 0 });
await act('cancel', { id: long.id });

await act('process', { argv: ['sh', '-c', 'echo out; echo bad >&2; exit 3'] });
await act('process', { command: 'head -c 100000 /dev/zero; sleep 1000', timeout: 0.3, timeout_signal: 'TERM' });

await act('write', { path: `${folder}/f`, content: 'one\ntwo\n' });
await act('read', { path: `${folder}/f` });
await act('read', { path: `${folder}/f`, impl_source: 'oh_aci' });
await act('edit', { path: `${folder}/f`, command: 'str_replace', old_str: 'two', new_str: '2' });
await act('edit', { path: `${folder}/f`, command: 'view' });
await act('replace', { path: 'f', old: 'one', new: '1' });
await act('mkdir', { path: 'd/e' });
await act('mkdir', { path: 'd/e' });
await act('run', { command: 'ln -s f d/link; mkfifo d/pipe; printf x >"$(printf \'d/\\377\')"', until: 'end' });
await act('copy', { from: 'f', to: 'd/f' });
await act('move', { from: 'd/f', to: 'd/g' });
await act('chmod', { path: 'd/g', mode: 'u+x' });
for (const path of ['d', 'd/g', 'd/link'])
    await act('stat', { path });
await act('stat', { path_base64: Buffer.from('d/\xff', 'latin1').toString('base64') });
await act('list', { path: 'd', limit: 2 });
await act('list', { path: 'd', recursive: true });
await act('archive', { path: 'd', to: 'd.tar' });
await act('archive', { path: 'd', to: 'd.zip' });
await act('extract', { path: 'd.tar', to: 'unpacked' });
await act('join', { from: ['d.tar', 'd.zip'], to: 'joined' });
await act('archive', { path: 'd', to: 'd.tar' });
await act('archive', { path: 'd', to: 'd.zip' });
const watch = await act('watch', { path: 'd', recursive: true }, { wait: 0 });
const change = (kind) => until(watch.id, (e) => e.extras?.watch === watch.id && e.extras.kind === kind);
const changes = [await change('watching')];
await act('run', { command: 'mkdir d/h; mv d/g d/i', until: 'end' });
changes.push(await change('created'), await change('moved_to'));
await act('remove', { path: 'd', recursive: true });
seen.set('watch', [await until(watch.id, (e) => e.cause === watch.id)]);
const change_fits = named('file_change_event');
row('changes of a watch are described', changes.every((c) => change_fits(c)),
    show([changes, change_fits.errors]));
await act('skill', { name: 'open_file', args: { path: `${folder}/f` } });
await act('skill', { name: 'view', args: { path: `${folder}/f` } });
await act('skill', { name: 'view', args: { path: `${folder}/nothing` } });

const kept = (await act('checkpoint', { label: 'here', pin: true })).extras.id;
await act('run', { command: 'echo 3 >>f; mkdir -p e/f; printf x >"$(printf \'e/\\377\')"', until: 'end' });
await act('checkpoint', { id: kept, pin: false });
await act('checkpoints', {});
await act('checkpoints', { id: kept });
await act('changes', { from: kept, diff: true });
await act('rollback', { to: kept, dry_run: true, diff: true });
const undo = await act('rollback', { to: kept });
await act('checkpoint_drop', { ids: [undo.extras.safety] });
// One empty folder: an entry of a manifest, as the record of a pack.
const manifest = Buffer.from('020002' + '3130' + 'ed03' + '00'.repeat(7), 'hex');
const digest = createHash('sha256').update(manifest).digest();
const packed = Buffer.concat([Buffer.from('6f646331', 'hex'), Buffer.from([manifest.length, 0, 0, 0]),
    Buffer.from([manifest.length, 0, 0, 0]), Buffer.alloc(4), digest, manifest]);
const arrived = { tree: `1${digest.toString('hex')}`, dirs_base64: [Buffer.from(folder).toString('base64')] };
await ask('POST', '/checkpoints/import', '/checkpoints/import', { data: JSON.stringify(arrived) }); // without its contents
await ask('POST', '/checkpoints/contents', '/checkpoints/contents', { data: packed });
await ask('POST', '/checkpoints/import', '/checkpoints/import', { data: JSON.stringify(arrived) });
await act('checkpoint_import', arrived);

await act('cell', { code: '1 + 1' });
await act('cell', { code: 'print(1); 1 / 0', rich: true });
await act('request_control', { what: 'browser', reason: 'captcha', timeout: 0.01 });
const asking = await act('cell', { code: 'print("a" * 10); input("who? ")', input: true }, { wait: 0 });
const question = await until(asking.id, (e) => e.observation === 'cell_input');
const output = await until(asking.id, (e) => e.observation === 'cell_output');
await act('wait', { id: asking.id, until: 'input' });
await act('input', { id: asking.id, text: 'bob' });
await act('wait', { id: asking.id });
for (const event of [question, output]) {
    const fits = named(`${event?.observation}_event`);
    row(`${event?.observation} is described`, fits(event), show([event, fits.errors]));
}
await act('complete', { code: 'import jso' });
await act('inspect', { code: 'print' });
await act('kernels', {});
await act('run_ipython', { code: 'print(2)' });
await act('interrupt_kernel', {});
await act('restart_kernel', {});
await act('close_kernel', {});

await act('browse', { url: site });
await act('browse_interactive', { browser_actions: 'noop()', return_axtree: true });
await act('page', { url: site });
await act('page', { act: 'click', ref: 'Press' });
await act('page', { find: 'words' });
await act('page', { view: 'image' });
await act('page', { view: 'text' });

// A server without a fence, as this one, refuses it: tests/scenario/fence-allow.test has the rest.
const failure = named('error_observation');
row('fence_allow is refused without a fence', failure(await act('fence_allow', { rule: 'reach a.test' })));
seen.set('fence_allow', []);
row('an error is described', failure(await act('stat', { path: 'nowhere' })), show(failure.errors));
seen.get('stat').pop();
row('and the error of a busy session', seen.get('run').some((o) => o.extras.code === 'BUSY'));
seen.set('run', seen.get('run').filter((o) => o.extras.code !== 'BUSY'));
const unseen = Object.keys(api.components.schemas).filter((n) => n.endsWith('_arguments'))
    .map((n) => n.slice(0, -'_arguments'.length)).filter((n) => !seen.has(n));
row('every action was done', unseen.length === 0, unseen);
for (const [action, all] of seen) {
    const fits = named(`${action}_observation`);
    const bad = all.find((o) => !fits(o));
    row(`what ${action} gives is its schema`, !bad,
        bad && fits(bad) === false && show([bad.observation === 'error' ? bad : Object.keys(bad), fits.errors]));
}
const rare = ['timed_out', 'stderr', 'left_out', 'signal', 'shell_ended', 'why', 'count',
    'warnings', 'cursor', 'target', 'path_base64'].filter((name) => ![...seen.values()].flat().some((o) =>
    name in o || name in o.extras || o.extras.entries?.some((e) => name in e)));
row('members that are rare were seen', rare.length === 0, show(rare));
const every = await ask('GET', '/events?since=0', '/events');
row('so is the log', every.events.length > 100, every.events.length);

// ---- routes ----

await ask('GET', '/sessions/all/cast', '/sessions/{session}/cast');
for (const path of ['/alive', '/ready', '/server_info', '/metrics', '/terminal', '/openapi.json', '/client.py',
    '/client.ts', '/vscode/connection_token', '/skills', '/files/list'])
    await ask('GET', path, path);
const post = (path, data, route = path) => ask('POST', path, route, { data: JSON.stringify(data) });
for (const action of [{ action: 'run', args: { command: 'echo a' } },
    { action: 'read', args: { path: `${folder}/f` } }, { action: 'read', args: { path: '/nowhere' } },
    { action: 'run_ipython', args: { code: '1' } }])
    await post('/execute_action', { action });
await post('/execute_action', { action: { action: 'nothing' } });
const form = new FormData();
form.append('file', new Blob(['text']), 'uploaded');
await ask('POST', `/upload_file?destination=${folder}`, '/upload_file', { data: form });
await ask('GET', `/download_files?path=${folder}/f`, '/download_files');
await ask('GET', `/download_files?path=${folder}/f&raw=true`, '/download_files');
await ask('GET', `/download_files?path=${folder}/f&raw=true`, '/download_files', { headers: { Range: 'bytes=1-' } });
await post('/list_files', { path: folder });
await post('/list_files', 1);
await post('/update_mcp_server', []);
await ask('GET', `/files/stat?path=${folder}/f`, '/files/stat');
await ask('GET', '/files/stat?path=nowhere', '/files/stat');
{ // a stream without an end: its first line
    const leave = new AbortController();
    const answer = await fetch(`${url}/files/watch?path=${folder}`, { headers: head, signal: leave.signal });
    const type = answer.headers.get('content-type').split(';')[0];
    tried.add(`GET /files/watch ${answer.status} ${type}`);
    let text = '';
    for await (const part of answer.body.pipeThrough(new TextDecoderStream())) {
        text += part;
        if (text.includes('\n'))
            break;
    }
    if (typeof JSON.parse(text.split('\n')[0]) !== 'object')
        wrong.push(['GET', '/files/watch', answer.status, type, text]);
    leave.abort();
}
for (const format of ['zip', 'tar', 'tar.gz'])
    await ask('GET', `/files/archive?path=${folder}/unpacked&format=${format}`, '/files/archive');
const tar = await ask('GET', `/files/archive?path=${folder}/unpacked&format=tar`, '/files/archive');
await ask('PUT', `/files/extract?to=${folder}/again&format=tar`, '/files/extract', { data: tar });
await ask('PUT', `/files/extract?to=${folder}/again&format=tar`, '/files/extract', { data: tar });
const content = `/files/content?path=${folder}/put`;
await ask('PUT', `${content}&token=ab&size=3&offset=0`, '/files/content', { data: 'abc' });
await ask('GET', content, '/files/content');
await ask('GET', content, '/files/content', { headers: { Range: 'bytes=1-' } });
await ask('GET', content, '/files/content', { headers: { Range: 'bytes=100-' } });
await ask('GET', `/files/upload?path=${folder}/put&token=cd`, '/files/upload');
await post('/files/mkdir', { path: `${folder}/new` }, '/files/{verb}');
await post('/files/mkdir', { path: 1 }, '/files/{verb}');
await post('/files/nothing', {}, '/files/{verb}');
await post('/files/watch', { path: folder }, '/files/{verb}');
await ask('GET', '/checkpoints', '/checkpoints');
await ask('GET', `/checkpoints/${kept}`, '/checkpoints/{id}');
await ask('GET', '/checkpoints/777', '/checkpoints/{id}');
await post('/checkpoints', { dir: folder }, '/checkpoints');
await post('/checkpoints', { dir: 1 }, '/checkpoints');
await post('/checkpoints/changes', { from: kept }, '/checkpoints/changes');
await post('/checkpoints/rollback', { to: kept, dry_run: true }, '/checkpoints/rollback');
await post('/checkpoints/drop', { ids: [kept] }, '/checkpoints/drop');
await post('/skills/view', { path: `${folder}/f` }, '/skills/{name}');
await post('/skills/nothing', {}, '/skills/{name}');
const rpc = { headers: { Accept: 'application/json, text/event-stream' } };
await ask('POST', '/mcp', '/mcp', { ...rpc, data: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'
    + '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}' });
await ask('POST', '/mcp', '/mcp', { ...rpc, data: '{' });
await ask('DELETE', '/mcp', '/mcp', rpc);
await ask('GET', '/mcp', '/mcp');
await ask('GET', '/.well-known/oauth', '/.well-known/{name}');
await ask('GET', '/.well-known/oauth/mcp', '/.well-known/{name}/mcp');
await ask('GET', '/local', '/local');
for (const path of ['version', 'version/', '', 'list', 'list/', 'protocol'])
    await ask('GET', `/devtools/json/${path}`, `/devtools/json/${path}`);
await ask('GET', '/devtools/json', '/devtools/json');
const tab = await ask('PUT', '/devtools/json/new?about:blank', '/devtools/json/new');
for (const verb of ['activate', 'close', 'activate'])
    await ask('GET', `/devtools/json/${verb}/${tab.id}`,
        `/devtools/json/${verb}/{target}`);
await ask('GET', '/devtools/json/close/x', '/devtools/json/close/{target}');
for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, op] of Object.entries(item)) {
        if (op.security?.length !== 0 && method !== 'head') {
            await ask(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x'), path,
                { with_key: false, data: method === 'get' ? undefined : '' });
            await new Promise((next) => setImmediate(next));
        }
    }
}
row('every answer is described by its route', wrong.length === 0, show(wrong));
const untried = Object.entries(api.paths).flatMap(([path, item]) => Object.entries(item)
    .filter(([method]) => method !== 'head').flatMap(([method, op]) => Object.entries(op.responses)
        .filter(([status]) => status < '3').flatMap(([status, r]) => Object.keys(r.content ?? {})
            .filter((type) => type !== 'text/event-stream')
            .map((type) => `${method.toUpperCase()} ${path} ${status} ${type}`))))
    .filter((each) => !tried.has(each) && !each.startsWith('DELETE'));
row('every answer that a route describes was seen', untried.length === 0, show(untried));

// ---- a schema that does not fit is found ----

const list = seen.get('list')[0];
row('a member of another type is found', !named('list_observation')({ ...list, extras: { ...list.extras, path: 1 } }));
row('a member that is missing is found',
    !named('list_observation')({ ...list, extras: { path: 'x' } }));
row('a member that is not described is found',
    !named('list_observation')({ ...list, extras: { ...list.extras, more: 1 } }));
pages.close();
