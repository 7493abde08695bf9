#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the TypeScript SDK of the Model Context Protocol, a request that a person aborts
# fails with the error code of a time-out, and the server can tell the two apart only by
# the free text of `reason`.
#
# Guess:  an abort rejects with the AbortError that AbortSignal gives everywhere else, or
#         with a code of its own; and a time-out by AbortSignal.timeout() reaches the
#         server in the same words as the SDK's own option `timeout`.
# Seen:   @modelcontextprotocol/sdk 1.32.2. All four ways below reject with McpError and
#         code -32001 (RequestTimeout), whose text of the option is "Request timed out".
#         notifications/cancelled has four different reasons: "McpError: MCP error
#         -32001: Request timed out", "TimeoutError: The operation was aborted due to
#         timeout", "AbortError: This operation was aborted", and the caller's own text.
# Needs:  node, npm. Fails if the behaviour changes.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@1.32.2 >/dev/null

cat >run.mjs <<'END'
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {Server} from '@modelcontextprotocol/sdk/server/index.js';
import {InMemoryTransport} from '@modelcontextprotocol/sdk/inMemory.js';
import {CallToolRequestSchema} from '@modelcontextprotocol/sdk/types.js';

const [near, far] = InMemoryTransport.createLinkedPair();
const server = new Server({name: 'server', version: '1'}, {capabilities: {tools: {}}});
server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    await new Promise((done) => extra.signal.addEventListener('abort', done));
    return {content: []};
});
await server.connect(far);
let arrived;
const handle = far.onmessage;
far.onmessage = (message, extra) => {
    if (message.method === 'notifications/cancelled') arrived(message.params.reason);
    handle(message, extra);
};
const client = new Client({name: 'client', version: '1'}, {capabilities: {}});
await client.connect(near);

const aborted = (...why) => {
    const c = new AbortController();
    setTimeout(() => c.abort(...why), 50);
    return {signal: c.signal};
};
const ways = [
    ['option timeout', () => ({timeout: 50})],
    ['AbortSignal.timeout()', () => ({signal: AbortSignal.timeout(50)})],
    ['abort()', () => aborted()],
    ['abort("a person said stop")', () => aborted('a person said stop')],
];
for (const [name, options] of ways) {
    const reason = new Promise((f) => { arrived = f; });
    const e = await client.callTool({name: 'x', arguments: {}}, undefined, options()).catch((x) => x);
    console.log(`${name}: ${e.constructor.name} ${e.code} | ${await reason}`);
}
END
node run.mjs | tee seen
cat >want <<'END'
option timeout: McpError -32001 | McpError: MCP error -32001: Request timed out
AbortSignal.timeout(): McpError -32001 | TimeoutError: The operation was aborted due to timeout
abort(): McpError -32001 | AbortError: This operation was aborted
abort("a person said stop"): McpError -32001 | a person said stop
END
cmp -s seen want || { echo "changed; was:"; cat want; exit 1; }
