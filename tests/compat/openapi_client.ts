// SPDX-License-Identifier: MIT
// openapi_client.ts URL KEY: a session by the client that openapi-typescript and openapi-fetch make.
import createClient from 'openapi-fetch';
import type { paths } from './api.js';

declare const process: { argv: string[]; exit(code: number): never };
const [url = '', key = ''] = process.argv.slice(2);
const api = createClient<paths>({ baseUrl: url, headers: { 'X-Session-API-Key': key } });

const made = await api.POST('/events', {
    body: { action: 'run', args: { command: 'cd /tmp && export A=b', until: 'end' } },
});
const ran = await api.POST('/events', {
    body: { action: 'run', args: { command: 'pwd; echo $A', until: 'end' }, timeout: 60 },
});
const none = await api.GET('/files/stat', { params: { query: { path: '/nowhere' } } });
const page = await api.GET('/events', { params: { query: { since: 0 } } });
// What is answered has types: an observation is known by its name, and so are its members.
await api.POST('/files/{verb}', {
    params: { path: { verb: 'mkdir' } }, body: { path: '/tmp/od-types/inner' },
});
const listed = await api.POST('/events', {
    body: { action: 'list', args: { path: '/tmp/od-types' } },
});
let names = '', bytes = -1;
if (listed.data && 'observation' in listed.data && listed.data.observation === 'list') {
    const { entries } = listed.data.extras;
    names = entries.map((entry) => `${entry.type}:${entry.path.toUpperCase()}`).join();
    bytes = entries[0]?.size ?? -1;
}
const stat = await api.GET('/files/stat', { params: { query: { path: '/tmp/od-types' } } });
const links: number | undefined = stat.data?.links;
const started = await api.POST('/events', {
    params: { query: { wait: 0 } }, body: { action: 'run', args: { command: 'true' } },
});
const id: number | undefined = started.data?.id;
const info = await api.GET('/server_info');
const free: number = info.data?.resources.disk.free ?? 0;
const gone = await api.POST('/files/{verb}', {
    params: { path: { verb: 'remove' } }, body: { path: '/tmp/od-types', recursive: true },
});
const removed = gone.data && 'removed' in gone.data ? gone.data.removed : 0;
const typed = names === 'folder:INNER' && bytes >= 0 && (links ?? 0) > 0 && (id ?? 0) > 0 &&
    free > 0 && removed === 2;

const exit = made.data && 'exit_code' in made.data ? made.data.exit_code : undefined;
const content = ran.data && 'content' in ran.data ? ran.data.content : '';
const events = page.data && typeof page.data !== 'string' ? page.data.events : [];
const good = typed && exit === 0 && content === '/tmp\nb\n' &&
    none.error !== undefined && none.response.status === 404 && 'error' in none.error &&
    none.error.error.code === 'NOTFOUND' && events.length >= 4;
if (!good)
    console.log(JSON.stringify([made.data, ran.data, none.error, page.data, listed.data, stat.data,
        started.data, free, gone.data]));
process.exit(good ? 0 : 1);
