// SPDX-License-Identifier: MIT
//
// A page at #SERVER KEY: uses the server, and posts rows "ok NAME" or "no NAME: WHY" to
// where the page came from.
import { Client } from './client.js';

const [url, key] = decodeURIComponent(location.hash.slice(1)).split(' ');
const home = (text) => fetch('/', { method: 'POST', body: `${text}\n` });
const row = async (name, work) => {
    let got;
    try {
        got = await work();
    } catch (error) {
        await home(`no ${name}: ${error.code} ${error.message}`.replaceAll('\n', ' '));
        throw error;
    }
    await home(got === true ? `ok ${name}` : `no ${name}: ${JSON.stringify(got)}`);
};
const codeOf = async (work) => {
    try {
        return `no error: ${await work()}`;
    } catch (error) {
        return error.code;
    }
};

const box = new Client({ url, key, patience: 5 });
const shell = box.session();
try {
    await row('the first command', async () =>
        (await shell.run('echo ours >ran; echo hello')).text === 'hello\n');
    await row('live output and an answer', async () => {
        const run = await shell.start('echo one; read x; echo two $x');
        const parts = [];
        for await (const text of run)
            parts.push(text);
        const waited = run.waiting !== null;
        await run.answer('more');
        for await (const text of run)
            parts.push(text);
        return (waited && run.result.exitCode === 0 && parts.join('') === 'one\ntwo more\n') || parts;
    });
    await row('events from the beginning, and those that follow', async () => {
        const seen = [], before = (await shell.run('true')).id;
        let more;
        for await (const event of box.events(0)) {
            seen.push(event.id);
            if (event.cause === before)
                more = shell.run('echo more');
            if (event.content === 'more\n')
                break;
        }
        await more;
        return seen.every((id, i) => id === i + 1) || seen;
    });
    const data = new Uint8Array(await (await fetch('client.js')).arrayBuffer());
    await row('a file is uploaded', async () => {
        const seen = [];
        const size = await shell.upload(new File([data], 'client.js'), 'up', {
            progress: (n, of) => seen.push(n === of),
        });
        return (size === data.length && seen.at(-1) === true) || [size, seen];
    });
    await row('and downloaded', async () => {
        const back = await shell.read('up');
        return back.length === data.length && back.every((byte, i) => byte === data[i]);
    });
    await row('a file is found', async () => (await shell.stat('up')).size === data.length);
    await row('what is not there has a code', async () =>
        await codeOf(() => shell.stat('nowhere')) === 'NOTFOUND');
    await row('a wrong key has a code', async () =>
        await codeOf(() => new Client({ url, key: 'wrong' }).session().run('true')) === 'DENIED');
} catch { /* the row has it */ }
await home('end');
