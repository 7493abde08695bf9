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
const good = made.data?.exit_code === 0 && ran.data?.content === '/tmp\nb\n' &&
    none.error !== undefined && none.response.status === 404 && 'error' in none.error &&
    none.error.error.code === 'NOTFOUND' && (page.data?.events.length ?? 0) >= 4;
if (!good)
    console.log(JSON.stringify([made.data, ran.data, none.error, page.data]));
process.exit(good ? 0 : 1);
