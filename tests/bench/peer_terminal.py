#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""peer_terminal.py FOLDER: a bash in a browser by terminado, the terminals of Jupyter.

The least page there can be, with xterm.mjs and xterm.css out of FOLDER, at a port of its own,
which is printed. All pages have a bash of their own.
"""
import asyncio
import sys

import terminado
import tornado.web

PAGE = """<!doctype html><meta charset=utf-8><title>peer</title><link rel=stylesheet href=file/xterm.css>
<body style="margin:0"><div id=at></div><script type=module>
import { Terminal } from './file/xterm.mjs';
const term = new Terminal({ rows: 24, cols: 80, scrollback: 10000,
  fontFamily: 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace' });
term.open(document.getElementById('at'));
const socket = new WebSocket(new URL('socket', location).href.replace('http', 'ws'));
term.onData(d => socket.send(JSON.stringify(['stdin', d])));
socket.onopen = () => socket.send(JSON.stringify(['set_size', 24, 80, 0, 0]));
socket.onmessage = e => {
  const [kind, text] = JSON.parse(e.data);
  if (kind === 'stdout')
    term.write(text);
};
</script>"""


class Page(tornado.web.RequestHandler):
    def get(self):
        self.write(PAGE)


async def main():
    manager = terminado.UniqueTermManager(shell_command=["bash", "--norc"])
    app = tornado.web.Application([
        (r"/", Page),
        (r"/file/(.*)", tornado.web.StaticFileHandler, {"path": sys.argv[1]}),
        (r"/socket", terminado.TermSocket, {"term_manager": manager}),
    ], compress_response=True)
    server = app.listen(0, "127.0.0.1")
    print(next(iter(server._sockets.values())).getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
