// SPDX-License-Identifier: MIT
//
// client_ts.mjs CLIENT URL KEY CONTROL FOLDER PAGE: the client in TypeScript, compiled or not,
// in Node, Deno or Bun. Rows "ok NAME" or "no NAME: WHY". CONTROL is a server of the test: GET
// /kill kills the worker, /cut breaks all connections, /plan?[…] those that follow, and
// /liar?NAME gives the address of a server that lies.
const [file, url, key, control, folder, page] = process.argv.slice(2);
const { Client, OdError } = await import(file);

const ask = async (what) => (await fetch(control + what)).text();
const kill = () => ask('/kill');
const cut = (plan) => ask(`/plan?${encodeURIComponent(JSON.stringify(plan))}`);
const show = (x) => JSON.stringify(x)?.slice(0, 400);
const holds = (fact, ...about) => {
    if (!fact)
        throw new Error(`not so: ${about.map(show).join(', ')}`);
};
const same = (got, wanted, what = '') =>
    holds(show(got) === show(wanted), what, got, wanted);

const LIMIT_S = 60 * (process.env.OD_TEST_SLOW || 2); // of a row

async function row(name, run) {
    const client = () => new Client({ url, key });
    let timer;
    const late = new Promise((_, no) => {
        timer = setTimeout(no, LIMIT_S * 1000, new Error(`no end after ${LIMIT_S} s`));
    });
    try {
        await Promise.race([run(client), late]);
        console.log(`ok ${name}`);
    } catch (error) {
        console.log(`no ${name}: ${String(error?.stack ?? error).replaceAll('\n', ' ')} ${error?.code ?? ''}`);
    }
    clearTimeout(timer);
    await cut([]);
}

async function fails(code, call, name = '') {
    let got;
    try {
        got = await call();
    } catch (error) {
        holds(error instanceof OdError, name, String(error), error?.stack);
        same(error.code, code, `${name}: ${error.message}`);
        return error;
    }
    throw new Error(`${name}: no error ${code} but ${show(got)}`);
}

const bytes = (n) => Uint8Array.from({ length: n }, (_, i) => (i * 31 + (i >> 8)) & 255);
const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

await row('a working session over killed workers', async (client) => {
    const box = client(), shell = box.session('ts');
    await box.waitReady();
    same((await shell.run(`mkdir -p ${folder}/ts && cd ${folder}/ts && export NAME=world`)).exitCode, 0);
    await kill();
    same((await shell.run('pwd; echo hello $NAME')).text, `${folder}/ts\nhello world\n`);

    const run = await shell.start("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done; " +
        "read -p 'go on? ' x; echo \"got $x\"; (exit 3)");
    let text = '';
    for await (const piece of run) {
        if (text === '')
            await kill();
        text += piece;
    }
    same(run.waiting?.prompt, 'go on? ');
    await kill();
    await run.answer('yes');
    for await (const piece of run)
        text += piece;
    const lines = Array.from({ length: 2000 }, (_, i) => `line ${i + 1}\n`).join('');
    holds(text === `${lines}go on? got yes\n`, text.slice(-100));
    same([run.result.exitCode, run.result.ok], [3, false]);

    const asked = [];
    const result = await shell.run('read -p "name: " n; read -sp "password: " p; echo; echo $n ${#p}', {
        answer: async (w) => {
            asked.push([w.prompt, w.hidden]);
            await kill();
            return ['ann', 'secret'][asked.length - 1];
        },
    });
    holds(result.text.includes('ann 6'), result.text);
    same(asked, [['name: ', false], ['password: ', true]]);

    const data = bytes(3 << 20), seen = [];
    same(await shell.upload(data, 'src/a file', { mode: 0o755, progress: (n, of) => seen.push([n, of]) }),
        data.length);
    same(seen.at(-1), [data.length, data.length]);
    const info = await shell.stat('src/a file');
    same([info.type, info.size, info.mode], ['file', data.length, '0755']);
    const parts = [];
    for await (const part of shell.download('src/a file')) {
        if (parts.length === 0)
            await kill();
        parts.push(part);
    }
    holds(equal(new Uint8Array(await new Blob(parts).arrayBuffer()), data), 'the same bytes');
    await shell.upload('text', 'src/é'.padEnd(150, 'x'));
    same(await shell.upload('', 'src/empty'), 0);
    same((await shell.list('src')).filter((f) => !f.path.startsWith('.od-')).map((f) => f.size), [data.length, 0, 4]);
    same(new TextDecoder().decode(await shell.read('src/é'.padEnd(150, 'x'))), 'text');

    const printed = [];
    const cell = await shell.cell("print('out'); x = input('who? '); print(x * 2)", {
        answer: (w) => `${w.prompt.replace('? ', '')}m`, output: (words) => printed.push(words),
    });
    holds(cell.ok && cell.text.includes('whomwhom') && printed.join('').includes('out'), cell, printed);
    await kill();
    same((await shell.cell('x')).text, "'whom'");
    holds((await shell.browse(page)).text.includes('the words of the page'), 'a page');
});

await row('an upload goes on where it was', async (client) => {
    const shell = client().session('ts-goes-on'), data = bytes(6 << 20);
    await shell.run(`mkdir -p ${folder}/tsgo && cd ${folder}/tsgo`);
    for (const more of [{}, { progress: () => 0 }]) {
        const { fetch } = globalThis, from = [];
        globalThis.fetch = (url, init) => {
            const at = new URL(url).searchParams.get('offset');
            if (at !== null)
                from.push(Number(at));
            return fetch(url, init);
        };
        try {
            await cut([['up', 3000000], ['up', 3000000]]);
            same(await shell.upload(data, 'cut', more), data.length);
        } finally {
            globalThis.fetch = fetch;
        }
        await cut([]);
        // What a cut connection had sent may be lost on its way, but not twice.
        holds(from[0] === 0 && from.at(-1) > 1 << 20 &&
            from.every((at, i) => i === 0 || at >= from[i - 1]), from);
        holds(equal(await shell.read('cut'), data), 'the same bytes');
    }
});

await row('a lost connection in every call', async (client) => {
    const box = client(), shell = box.session('ts-cut');
    await shell.run(`mkdir -p ${folder}/tscut && cd ${folder}/tscut`);
    let run, asks;
    const collect = async (items, most = Infinity) => {
        const out = [];
        for await (const item of items) {
            out.push(item);
            if (out.length >= most)
                break;
        }
        return out;
    };
    const calls = {
        'run': [async () => (await shell.run('echo x >>once; wc -l <once')).text.trim(), '1'],
        'start': [async () => {
            run = await shell.start('echo one; read x; echo two $x');
            return (await collect(run)).join('');
        }, 'one\n'],
        'answer of a run': [async () => {
            await run.answer('more');
            return [(await collect(run)).join(''), run.result.exitCode];
        }, ['two more\n', 0]],
        'run that asks': [async () => (asks = await shell.run('read y; echo y=$y')).waiting !== null, true],
        'answer': [async () => (await shell.answer('1', asks)).text, 'y=1\n'],
        'cell': [async () => (await shell.cell('print(6 * 7)')).text.trim(), '42'],
        'cell that asks': [async () => (await shell.cell("print(int(input('n')) + 1)",
            { answer: () => '41' })).text.includes('42'), true],
        'mkdir': [() => shell.mkdir('d/e'), undefined],
        'upload': [() => shell.upload(bytes(500000), 'up'), 500000],
        'upload with progress': [() => shell.upload(bytes(500000), 'up', { progress: () => 0 }), 500000],
        'download': [async () => equal(await shell.read('up'), bytes(500000)), true],
        'stat': [async () => (await shell.stat('up')).size, 500000],
        'copy': [() => shell.copy('up', 'up2'), undefined],
        'move': [() => shell.move('up2', 'up3'), undefined],
        'list': [async () => (await shell.list()).map((f) => f.path), ['d', 'once', 'up', 'up3']],
        'remove': [() => shell.remove('up3'), undefined],
        'checkpoint': [() => shell.checkpoint('here'), 1],
        'mkdir after it': [() => shell.mkdir('new'), undefined],
        'changes': [async () => (await shell.changes(1)).changes
            .filter((c) => c.kind === 'folder' && c.change === 'added').length, 1],
        'rollback': [async () => (await shell.rollback(1)).safety, 2],
        'events': [async () => (await collect(box.events(0), 20)).map((e) => e.id),
            Array.from({ length: 20 }, (_, i) => i + 1)],
        'alive': [() => box.alive(), true],
        'waitReady': [() => box.waitReady(0), undefined],
    };
    const plan = [['up', 0], ['up', 60], ['down', 0], ['down', 14], ['down', 150], ['down', 260]];
    const { random } = Math;
    Math.random = () => -0.45; // of the waits between tries, which prove nothing, a twentieth
    try {
        for (const [name, [call, wanted]] of Object.entries(calls)) {
            await cut(plan);
            same(await call(), wanted, name);
        }
    } finally {
        Math.random = random;
    }
    await cut([]);
    same(new TextDecoder().decode(await shell.read('once')), 'x\n');
    const hopeless = new Client({ url, key, patience: 0.05 });
    await hopeless.waitReady();
    await cut(Array(500).fill(['down', 0]));
    await fails('LOST', () => hopeless.session().run('true'));
    await fails('LOST', () => hopeless.session().upload('x', 'y'));
    await fails('LOST', () => collect(hopeless.events(0)));
});

await row('a live stream has each byte once, however it breaks', async (client) => {
    const box = client();
    await box.waitReady();
    await cut(Array.from({ length: 40 }, (_, i) => ['down', 900 + (i % 12) * 700]));
    const run = await box.session('ts-live').start(
        'i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo number $i; done');
    let text = '';
    for await (const piece of run)
        text += piece;
    const wanted = Array.from({ length: 4000 }, (_, i) => `number ${i + 1}\n`).join('');
    holds(text === wanted, text.length, wanted.length);
    holds(Number(await ask('/count')) > 10, 'it broke');
});

await row('new events only, from now on', async (client) => {
    const box = client(), events = box.events();
    const first = events.next();
    let n = 0, over = false;
    first.then(() => {
        over = true;
    });
    while (!over)
        await box.session('ts-new').run(`echo ${n++}`);
    const event = (await first).value;
    holds(event.id > 1 && ('action' in event || 'cause' in event), event);
    const second = events.next(); // the first may be the end of the last command
    await box.session('ts-new').run('echo more');
    same((await second).value.id, event.id + 1);
    await events.return();
});

await row('what is refused has a name', async () => {
    for (const wrong of ['', 'wrong']) {
        const box = new Client({ url, key: wrong });
        same((await fails('DENIED', () => box.session().run('true'))).status, 403);
        await fails('DENIED', () => box.events(0).next());
    }
    await fails('UNREACHABLE', () => new Client({ url: 'http://127.0.0.1:1' }).session().run('true'));
    same(await new Client({ url: 'http://127.0.0.1:1' }).alive(), false);
    for (const bad of ['', 'box', 'ftp://box', 'http://a/?x=1'])
        await fails('INVALID', async () => new Client({ url: bad, key }));
    await fails('TLS', async () => new Client({ url: 'http://box.example', key }));
    const shell = new Client({ url, key }).session();
    await fails('NOTFOUND', () => shell.stat('/nowhere'));
    await fails('NOTFOUND', () => shell.read('/nowhere'));
    await fails('INVALID', () => shell.upload('x', 'folder/..'));
    await fails('NOTFOUND', () => new Client({ url, key }).events(1e9).next());
    const https = new Client({ url: url.replace('http:', 'https:'), key, patience: 0.1 });
    const error = await https.session().run('true').catch((e) => e);
    holds(error instanceof OdError && /^(TLS|UNREACHABLE)$/.test(error.code), String(error));
});

await row('a certificate that is not trusted says how to trust it', async () => {
    const tls = await ask('/tls');
    if (tls === '')
        return;
    const error = await fails('TLS', () => new Client({ url: tls, key }).session().run('true'));
    holds(error.message.includes('NODE_EXTRA_CA_CERTS'), error.message);
});

await row('a server that lies gives named errors', async () => {
    for (const [name, code, stream] of JSON.parse(await ask('/lies'))) {
        const box = new Client({ url: await ask(`/liar?${encodeURIComponent(name)}`), patience: 0.05 });
        await fails(code, () => stream ? box.events(0).next() : box.session().run('true'), name);
    }
});
process.exit(0);
