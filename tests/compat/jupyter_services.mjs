// SPDX-License-Identifier: MIT
// jupyter_services.mjs MODULES URL TOKEN [PATTERN]: Jupyter's own client, @jupyterlab/services,
// drives --listen jupyter@…. Prints "ok NAME" or "no NAME: why" for each row.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const [modules, url, token, pattern = ''] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { KernelManager, KernelSpecManager, SessionManager, ServerConnection, KernelAPI, ContentsManager,
        TerminalManager, EventManager } = require('@jupyterlab/services');
require('@jupyterlab/coreutils').PageConfig.setOption('terminalsAvailable', 'true'); // as JupyterLab's page says it
const rows = [];
const row = (name, run) => name.includes(pattern) && rows.push([name, run]);
const settings = ServerConnection.makeSettings({ baseUrl: url + '/', wsUrl: url.replace('http', 'ws') + '/', token,
                                                 appendToken: true });
const kernels = new KernelManager({ serverSettings: settings });

/** Runs code; the messages on iopub, and the reply. */
async function cell(kernel, code, options = {}) {
    const seen = [];
    const future = kernel.requestExecute({ code, ...options }, false);
    future.onIOPub = message => seen.push(message);
    future.onStdin = message => kernel.sendInputReply({ status: 'ok', value: 'typed' }, message.header);
    const reply = await future.done;
    return { seen, reply: reply.content, of: type => seen.filter(m => m.header.msg_type === type).map(m => m.content) };
}

/** Calls found until it is true. */
async function until(found) {
    while (!await found()) await new Promise(next => setTimeout(next, 20));
}

row('kernelspecs', async () => {
    const specs = new KernelSpecManager({ serverSettings: settings });
    await specs.ready;
    assert.equal(specs.specs.default, 'python3');
    assert.equal(specs.specs.kernelspecs.python3.language, 'python');
    specs.dispose();
});

row('a kernel: start, info, cell, history, completion, shutdown', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    assert.equal((await kernel.info).language_info.name, 'python');
    const one = await cell(kernel, 'print("x")\n6 * 7');
    assert.equal(one.reply.status, 'ok');
    assert.equal(one.reply.execution_count, 1);
    assert.deepEqual(one.of('stream'), [{ name: 'stdout', text: 'x\n' }]);
    assert.equal(one.of('execute_result')[0].data['text/plain'], '42');
    assert.equal(one.of('execute_input')[0].code, 'print("x")\n6 * 7');
    assert.deepEqual(one.of('status').map(s => s.execution_state), ['busy', 'idle']);
    const done = await kernel.requestComplete({ code: 'impo', cursor_pos: 4 });
    assert.ok(done.content.matches.includes('import'));
    assert.equal((await kernel.requestIsComplete({ code: 'if 1:' })).content.status, 'incomplete');
    const expressions = await cell(kernel, '', { user_expressions: { x: '1+1' } });
    assert.equal(expressions.reply.user_expressions.x.data['text/plain'], '2');
    const { id } = kernel;
    await kernel.shutdown();
    await until(async () => !(await KernelAPI.listRunning(settings)).some(k => k.id === id));
});

row('stdin', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    const got = await cell(kernel, 'input("name? ")', { allow_stdin: true });
    assert.equal(got.of('execute_result')[0].data['text/plain'], "'typed'");
    await kernel.shutdown();
});

row('a failing cell stops those that wait', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    const all = await Promise.all(['1/0', 'a = 1', 'a = 2'].map(code => cell(kernel, code, { stop_on_error: true })));
    assert.deepEqual(all.map(c => c.reply.status), ['error', 'aborted', 'aborted']);
    assert.equal((await cell(kernel, 'a = 3\na')).of('execute_result')[0].data['text/plain'], '3');
    await kernel.shutdown();
});

row('interrupt and restart', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    const running = cell(kernel, 'import time\nkept = 1\ntime.sleep(600)');
    await until(() => kernel.status === 'busy');
    await kernel.interrupt();
    assert.equal((await running).reply.ename, 'KeyboardInterrupt');
    const states = [];
    kernel.statusChanged.connect((_, state) => states.push(state));
    await kernel.restart();
    await kernel.info;
    const after = await cell(kernel, 'kept');
    assert.equal(after.reply.ename, 'NameError');
    assert.ok(states.includes('restarting') && !states.includes('autorestarting'), states.join());
    await kernel.shutdown();
});

row('a kernel that ends is started again', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    await kernel.info;
    const states = [];
    kernel.statusChanged.connect((_, state) => states.push(state));
    const dies = kernel.requestExecute({ code: 'import os\nos._exit(3)' });
    dies.done.catch(() => {});
    await until(() => states.includes('autorestarting') || states.includes('restarting'));
    await until(() => kernel.status === 'idle');
    assert.equal((await cell(kernel, '1+1')).of('execute_result')[0].data['text/plain'], '2');
    await kernel.shutdown();
});

row('a comm with buffers, both ways', async () => {
    const kernel = await kernels.startNew({ name: 'python3' });
    await cell(kernel, `
from ipykernel.comm import Comm
def opened(comm, message):
    comm.on_msg(lambda m: comm.send({'n': len(m['buffers'])}, buffers=[bytes(m['buffers'][0])[::-1], b'second']))
get_ipython().kernel.comm_manager.register_target('echo', opened)`);
    const comm = kernel.createComm('echo');
    const answer = new Promise(next => { comm.onMsg = next; });
    comm.open({});
    comm.send({}, {}, [new Uint8Array([1, 2, 3, 0, 255]).buffer]);
    const message = await answer;
    assert.equal(message.content.data.n, 1);
    const bytes = message.buffers.map(b => [...new Uint8Array(b.buffer ?? b, b.byteOffset ?? 0, b.byteLength)]);
    assert.deepEqual(bytes, [[255, 0, 3, 2, 1], [...Buffer.from('second')]]);
    await kernel.shutdown();
});

row('two clients of one kernel', async () => {
    const first = await kernels.startNew({ name: 'python3' });
    const second = kernels.connectTo({ model: first.model });
    await second.info;
    const heard = [];
    second.anyMessage.connect((_, { msg, direction }) => direction === 'recv' && heard.push(msg));
    await cell(first, 'print("for both")');
    await until(() => heard.some(m => m.header.msg_type === 'stream' && m.content.text === 'for both\n'));
    assert.ok(!heard.some(m => m.header.msg_type === 'execute_reply'));
    assert.equal((await KernelAPI.getKernelModel(first.id, settings)).connections, 2);
    second.dispose();
    await until(async () => (await KernelAPI.getKernelModel(first.id, settings)).connections === 1);
    await first.shutdown();
});

row('sessions', async () => {
    const sessions = new SessionManager({ kernelManager: kernels, serverSettings: settings });
    const one = await sessions.startNew({ path: 'a.ipynb', name: 'a.ipynb', type: 'notebook',
                                          kernel: { name: 'python3' } });
    assert.equal((await cell(one.kernel, '2')).of('execute_result')[0].data['text/plain'], '2');
    await one.setPath('b.ipynb');
    await sessions.refreshRunning();
    assert.equal((await sessions.findByPath('b.ipynb')).id, one.id);
    const same = await sessions.startNew({ path: 'b.ipynb', name: '', type: 'notebook', kernel: { name: 'python3' } });
    assert.equal(same.id, one.id);
    await one.shutdown();
    await until(async () => { await sessions.refreshRunning(); return !await sessions.findByPath('b.ipynb'); });
    sessions.dispose();
});

row('contents: save, list, rename, copy, checkpoints, delete', async () => {
    const contents = new ContentsManager({ serverSettings: settings });
    const folder = await contents.newUntitled({ type: 'directory' });
    const notebook = await contents.newUntitled({ path: folder.path, type: 'notebook' });
    assert.equal(notebook.path, folder.path + '/Untitled.ipynb');
    const content = { cells: [{ cell_type: 'code', source: 'a\nb', metadata: {}, outputs: [], execution_count: null, id: 'x' }],
                      metadata: {}, nbformat: 4, nbformat_minor: 5 };
    const saved = await contents.save(notebook.path, { type: 'notebook', format: 'json', content });
    assert.equal(saved.type, 'notebook');
    const read = await contents.get(notebook.path, { content: true, hash: true });
    assert.deepEqual(read.content, content);
    assert.equal(read.hash_algorithm, 'sha256');
    assert.equal(read.hash.length, 64);
    const point = await contents.createCheckpoint(notebook.path);
    await contents.save(notebook.path, { type: 'notebook', format: 'json', content: { ...content, cells: [] } });
    assert.deepEqual((await contents.listCheckpoints(notebook.path)).map(c => c.id), [point.id]);
    await contents.restoreCheckpoint(notebook.path, point.id);
    assert.equal((await contents.get(notebook.path)).content.cells.length, 1);
    await contents.deleteCheckpoint(notebook.path, point.id);
    assert.equal((await contents.rename(notebook.path, folder.path + '/named.ipynb')).name, 'named.ipynb');
    assert.equal((await contents.copy(folder.path + '/named.ipynb', folder.path)).name, 'named-Copy1.ipynb');
    assert.deepEqual((await contents.get(folder.path)).content.map(m => m.name).sort(), ['named-Copy1.ipynb', 'named.ipynb']);
    const text = await (await fetch((await contents.getDownloadUrl(folder.path + '/named.ipynb')) + '?token=' + token)).text();
    assert.deepEqual(JSON.parse(text).cells[0].source, ['a\n', 'b']);
    await assert.rejects(contents.delete(folder.path), /not empty/);
    for (const name of ['named.ipynb', 'named-Copy1.ipynb', '']) await contents.delete((folder.path + '/' + name).replace(/\/$/, ''));
    await assert.rejects(contents.get(folder.path), error => error.response.status === 404);
});

row('terminals', async () => {
    const terminals = new TerminalManager({ serverSettings: settings });
    await terminals.ready;
    const one = await terminals.startNew();
    let seen = '';
    one.messageReceived.connect((_, message) => { seen += message.type === 'stdout' ? message.content[0] : ''; });
    await until(() => one.connectionStatus === 'connected');
    one.send({ type: 'set_size', content: [40, 100, 0, 0] });
    one.send({ type: 'stdin', content: ['stty size; echo $((40+2))\r'] });
    await until(() => seen.includes('40 100') && seen.includes('42'));
    await terminals.refreshRunning();
    assert.ok([...terminals.running()].some(t => t.name === one.name));
    await one.shutdown();
    await until(async () => { await terminals.refreshRunning(); return ![...terminals.running()].some(t => t.name === one.name); });
    terminals.dispose();
});

row('events: a client stays connected', async () => {
    const socket = new settings.WebSocket(`${settings.wsUrl}api/events/subscribe?token=${token}`);
    await new Promise((yes, no) => { socket.onopen = yes; socket.onerror = no; });
    assert.equal(socket.readyState, socket.OPEN);
    socket.close();
});

row('events: what is done to files and kernels, and what a client sends', async () => {
    const events = new EventManager({serverSettings: settings}), seen = [];
    const contents = new ContentsManager({serverSettings: settings});
    events.stream.connect((_, event) => seen.push(event));
    const schema = 'https://events.jupyter.org/jupyter_server/contents_service/v1';
    const told = async want => until(async () => seen.some(one => Object.entries(want).every(([name, value]) => one[name] === value)));
    // The manager tells nobody when its socket is open.
    await until(async () => {
        await events.emit({schema_id: schema, version: '1', data: {action: 'get', path: 'of-a-client'}});
        return seen.some(one => one.path === 'of-a-client');
    });
    await contents.save('told.txt', {type: 'file', format: 'text', content: 'x'});
    await told({schema_id: schema, action: 'save', path: 'told.txt'});
    await contents.rename('told.txt', 'told-2.txt');
    await told({schema_id: schema, action: 'rename', path: 'told-2.txt', source_path: 'told.txt'});
    await contents.get('told-2.txt');
    await told({schema_id: schema, action: 'get', path: 'told-2.txt'});
    await contents.delete('told-2.txt');
    await told({schema_id: schema, action: 'delete', path: 'told-2.txt'});
    const kernel = await kernels.startNew();
    await told({action: 'start', kernel_id: kernel.id});
    await kernel.shutdown();
    await told({action: 'shutdown', kernel_id: kernel.id, status: 'success'});
    await assert.rejects(events.emit({schema_id: 'x', version: '1', data: {}}), /400/);
    events.dispose();
});

for (const [name, run] of rows) {
    let limit;
    const late = new Promise((_, no) => { limit = setTimeout(() => no(new Error('not within the limit')), 60000); });
    try {
        await Promise.race([run(), late]);
        console.log(`ok ${name}`);
    } catch (error) {
        console.log(`no ${name}: ${String(error.stack ?? error).replaceAll('\n', ' | ')}`);
    }
    clearTimeout(limit);
}
process.exit(0);
