#!/bin/sh
# SPDX-License-Identifier: MIT
#
# In the TypeScript SDK of the Model Context Protocol, a signal that is aborted after the
# answer cancels the request all the same: one signal for many calls, as agents have one
# for each turn, cancels all of them again.
#
# Guess:  a call that has its answer no longer listens to its signal. The protocol
#         (2025-11-25, Cancellation) lets a notification name only requests that are
#         believed to be in progress.
# Seen:   @modelcontextprotocol/sdk 1.32.2. Three calls with one signal are answered, then
#         the signal is aborted: the server gets three notifications/cancelled. opencode
#         1.18 sends one after each of its calls, also after the same call's time-out.
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
server.setRequestHandler(CallToolRequestSchema, async () => ({content: []}));
await server.connect(far);
const handle = far.onmessage;
far.onmessage = (message, extra) => {
    if (message.method === 'notifications/cancelled')
        console.log(`cancelled: request ${message.params.requestId}`);
    handle(message, extra);
};
const client = new Client({name: 'client', version: '1'}, {capabilities: {}});
await client.connect(near);

const turn = new AbortController();
for (let i = 1; i <= 3; i++) {
    await client.callTool({name: 'x', arguments: {}}, undefined, {signal: turn.signal});
    console.log(`answered: request ${i}`);
}
turn.abort();
await client.close();
END
node run.mjs | tee seen
cat >want <<'END'
answered: request 1
answered: request 2
answered: request 3
cancelled: request 1
cancelled: request 2
cancelled: request 3
END
cmp -s seen want || { echo "changed; was:"; cat want; exit 1; }
