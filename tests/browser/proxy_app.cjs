// SPDX-License-Identifier: MIT
// For proxy.cjs: an app with a page, scripts, answers, events and WebSockets.
const crypto = require('crypto');
const http = require('http');

const PAGE = `<!doctype html><meta charset=utf-8><title>The app</title>
<link rel=stylesheet href=style.css><p id=text>plain</p><img id=picture src=picture.svg>
<script src=classic.js></script><script type=module src=module.js></script>
<a id=next href=two>Next</a>
<form id=form method=post action=echo><input name=a value=1><button>Send</button></form>`;

const files = {
  '/': ['text/html', PAGE],
  '/two': ['text/html', '<!doctype html><title>Second</title><a id=back href="./">Back</a>'],
  '/style.css': ['text/css', '#text { color: rgb(1, 2, 3) }'],
  '/picture.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>'],
  '/classic.js': ['text/javascript', 'window.classic = true'],
  '/module.js': ['text/javascript', "import { word } from './word.js'; window.moduled = word"],
  '/worker.js': ['text/javascript', 'self.worker = true'],
  '/word.js': ['text/javascript', "export const word = 'imported'"],
};
// What frameworks add for pages of their own origin.
const STRICT = {
  'X-Frame-Options': 'DENY', 'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin', 'Clear-Site-Data': '"*"',
  'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'; object-src 'none'",
  'Service-Worker-Allowed': '/', 'Access-Control-Allow-Origin': 'http://elsewhere.example',
};

function frameOf(opcode, data) {
  const n = data.length;
  const head = n < 126 ? [n] : n < 65536 ? [126, n >> 8, n & 255]
    : [127, 0, 0, 0, 0, n >>> 24, n >> 16 & 255, n >> 8 & 255, n & 255];
  return Buffer.concat([Buffer.from([0x80 | opcode, ...head]), data]);
}

// Answers each message with itself; "close" closes with 4321 (RFC 6455).
function echo(request, socket) {
  const accept = crypto.createHash('sha1').update(request.headers['sec-websocket-key'] +
    '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64');
  const asked = (request.headers['sec-websocket-protocol'] ?? '').split(', ');
  socket.write(['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...asked.includes('vite-hmr') ? ['Sec-WebSocket-Protocol: vite-hmr'] : [], '', ''].join('\r\n'));
  socket.write(frameOf(1, Buffer.from(JSON.stringify(request.headers))));
  let data = Buffer.alloc(0), parts = [], closing = false;
  socket.on('error', () => socket.destroy());
  socket.on('data', more => {
    data = Buffer.concat([data, more]);
    while (data.length >= 2) {
      let n = data[1] & 127, at = 2;
      if (n === 126 && data.length >= 4)
        [n, at] = [data.readUInt16BE(2), 4];
      else if (n === 127 && data.length >= 10)
        [n, at] = [Number(data.readBigUInt64BE(2)), 10];
      if ((n >= 126 && at === 2) || data.length < at + 4 + n)
        return;
      const mask = data.subarray(at, at + 4), body = Buffer.from(data.subarray(at + 4, at + 4 + n));
      for (let i = 0; i < n; i++)
        body[i] ^= mask[i & 3];
      const opcode = data[0] & 15, last = data[0] & 0x80;
      data = data.subarray(at + 4 + n);
      if (opcode === 8)
        return closing ? socket.end() : socket.end(frameOf(8, body));
      parts.push(body);
      if (last) {
        const whole = Buffer.concat(parts);
        parts = [];
        closing = whole.toString() === 'close';
        socket.write(closing
          ? frameOf(8, Buffer.concat([Buffer.from([4321 >> 8, 4321 & 255]), Buffer.from('as asked')]))
          : frameOf(opcode || 2, whole));
      }
    }
  });
}

function answer(request, response, at) {
  const [path, query] = request.url.split('?');
  const send = (status, type, body, more = {}) => {
    response.writeHead(status, { 'Content-Type': type, ...STRICT, ...more });
    response.end(body);
  };
  const below = at && path.startsWith(at) ? path.slice(at.length) : path;
  if (files[below])
    return send(200, ...files[below]);
  if (path === '/redirect' || below === '/redirect')
    return send(302, 'text/plain', '', { Location: decodeURIComponent(query),
      'Set-Cookie': ['mine=1; Path=/; Domain=example.org', 'od_ui=evil; Path=/'] });
  if (path === '/events')
    return send(200, 'text/event-stream', 'data: first\n\ndata: second\n\n');
  const parts = [];
  request.on('data', d => parts.push(d));
  request.on('end', () => send(200, 'application/json', JSON.stringify({ method: request.method,
    url: request.url, headers: request.headers, body: Buffer.concat(parts).toString() })));
}

// An app at a port of 127.0.0.1; at: what it strips of paths, as one with a base does.
async function app(at = '') {
  const server = http.createServer((q, r) => answer(q, r, at));
  server.on('upgrade', echo);
  await new Promise(r => server.listen(0, '127.0.0.1', r));
  return { server, port: server.address().port, end: () => (server.closeAllConnections(), server.close()) };
}

module.exports = { app };
