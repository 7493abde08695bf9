// SPDX-License-Identifier: MIT
// sdk.mjs MODULES 1|2 legacy|modern URL OD FOLDER: an official client, over HTTP and over
// the standard input and output of `od mcp`. Prints "ok NAME" or "not ok NAME: WHY".
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, version, era, url, od, folder] = process.argv.slice(2);
const require = createRequire(modules + '/package.json');
const load = (name) => import(pathToFileURL(require.resolve(name)));

async function library() {
    if (version === '2') {
        const main = await load('@modelcontextprotocol/client');
        const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio');
        return { ...main, StdioClientTransport };
    }
    const at = '@modelcontextprotocol/sdk/client/';
    return { ...(await load(at + 'index.js')), ...(await load(at + 'streamableHttp.js')),
             ...(await load(at + 'stdio.js')) };
}

const { Client, StreamableHTTPClientTransport, StdioClientTransport } = await library();

const stdio = (env) => new StdioClientTransport({ command: od, args: ['mcp', '--tools', 'all'],
                                                  env, stderr: 'inherit' });
const ways = {
    http: () => new StreamableHTTPClientTransport(new URL(url)),
    stdio: () => stdio(process.env),
};

const text = (result) => result.content.map((b) => b.text ?? '').join('');

async function until(fact, what) {
    for (let i = 0; i < 1200; i++) {
        if (fact())
            return;
        await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error('not so after 30 s: ' + what);
}

async function resources(client, path) {
    const listed = (await client.listResources()).resources.map((r) => r.uri);
    assert.ok(listed.includes('od://events'), `${listed}`);
    const { resourceTemplates } = await client.listResourceTemplates();
    const template = resourceTemplates[0].uriTemplate;
    const { completion } = await client.complete({ ref: { type: 'ref/resource', uri: template },
                                                   argument: { name: 'path', value: '' } });
    assert.deepEqual(completion.values, [folder.slice(1) + '/']);
    writeFileSync(path, 'one');
    const uri = pathToFileURL(path).href;
    assert.equal((await client.readResource({ uri })).contents[0].text, 'one');
    if (era !== 'legacy')
        return;
    const told = [];
    client.fallbackNotificationHandler = async (n) => told.push(n);
    await client.subscribeResource({ uri });
    writeFileSync(path, 'two');
    await until(() => told.some((n) => n.method === 'notifications/resources/updated' &&
                                       n.params.uri === uri), 'an update');
    await client.unsubscribeResource({ uri });
}

async function connected(transport) {
    const options = era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
    const client = new Client({ name: 'od-tests', version: '1' }, { capabilities: {}, ...options });
    await client.connect(transport);
    return client;
}

// The server of od mcp, which has started it, is killed, and then the next one.
async function lose() {
    const at = `${folder}/${version}${era}lost`;
    const env = { ...process.env, OD_SOCKET: at + '.sock', OD_STATE_DIR: at };
    const client = await connected(stdio(env));
    const act = (args) => client.callTool({ name: 'act', arguments: args });
    const kill = () => {
        const status = execFileSync(od, ['serve', '--status', '--json'], { env });
        process.kill(JSON.parse(status).servers[0].pid, 'SIGKILL');
    };
    const held = act({ command: `touch ${at}a; sleep 60` });
    await until(() => existsSync(at + 'a'), 'it runs');
    kill();
    const result = await held;
    assert.equal(result.isError, true);
    assert.match(text(result), /was lost while this ran/);
    assert.match(text(await act({ command: 'echo back' })), /are fresh.*\n0: back\n\[done\]$/);
    assert.equal(text(await act({ command: 'echo on' })), '0: on\n[done]');
    kill();
    await client.close();
}

async function play(way) {
    if (way === 'lost')
        return lose();
    const client = await connected(ways[way]());
    assert.match(client.getInstructions(), /in \[brackets\]/);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.slice(0, 5).map((t) => t.name),
                     ['test_simple_text', 'test_error_handling', 'test_image_content', 'act',
                      'echo']);
    await resources(client, `${folder}/${version}${era}${way}r`);
    const act = (args, more) => version === '2'
        ? client.callTool({ name: 'act', arguments: args }, more)
        : client.callTool({ name: 'act', arguments: args }, undefined, more);
    assert.equal(text(await act({ command: 'echo hello' })), '0: hello\n[done]');
    const failed = await client.callTool({ name: 'test_error_handling', arguments: {} });
    assert.equal(failed.isError, true);
    await assert.rejects(client.callTool({ name: 'nothing', arguments: {} }), /unknown tool/);

    const told = [];
    await act({ command: 'sleep 0.6', times: 3 }, { onprogress: (p) => told.push(p.progress) });
    assert.ok(told.length > 0 && told.every((p, i) => i === 0 || p > told[i - 1]), `${told}`);

    // Its caller gives up: the command is stopped. Its time is over: the command goes on.
    const mark = `${folder}/${version}${era}${way}`;
    const stop = new AbortController();
    const stopped = act({ command: `touch ${mark}a; sleep 60; touch ${mark}b` },
                        { signal: stop.signal });
    await until(() => existsSync(mark + 'a'), 'it runs');
    stop.abort('enough');
    await assert.rejects(stopped);
    assert.equal(text(await act({ command: 'echo free' })), '0: free\n[done]');
    if (era === 'legacy') {
        const late = act({ command: `sleep 1.5; echo on >${mark}c` }, { timeout: 500 });
        assert.equal(await late.then(text, () => 'over'), 'over');
        await until(() => existsSync(mark + 'c') && readFileSync(mark + 'c', 'utf8') === 'on\n',
                    'it went on');
    }
    if (era === 'legacy')
        await client.ping();
    await client.close();
}

for (const way of [...Object.keys(ways), 'lost']) {
    try {
        await play(way);
        console.log(`ok ${way}`);
    } catch (e) {
        console.log(`not ok ${way}: ${String(e?.stack ?? e).replaceAll('\n', ' | ')}`);
    }
}
process.exit(0);
