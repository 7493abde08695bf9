# SPDX-License-Identifier: MIT
"""peer_v1.py: POST /api/bash/execute_bash_command as a Python program has it, to measure
against: asyncio, one task for each connection, a subprocess of the shell, its two streams
read to their ends, and one file for each of the two events. Prints "ready PORT"."""
import asyncio
import datetime
import json
import os
import tempfile
import uuid


def keep(folder, event):
    path = os.path.join(folder, f"{event['timestamp']}_{event['kind']}_{event['id']}")
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(event, file)
    os.rename(path + ".tmp", path)


def event_of(kind, **more):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"id": uuid.uuid4().hex, "timestamp": now.isoformat(), "kind": kind, **more}


async def execute(folder, asked):
    command = event_of("BashCommand", command=asked["command"], cwd=None, timeout=300)
    keep(folder, command)
    process = await asyncio.create_subprocess_shell(
        asked["command"], stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    output = event_of("BashOutput", command_id=command["id"], order=0,
                      exit_code=process.returncode, stdout=out.decode() or None,
                      stderr=err.decode() or None)
    keep(folder, output)
    return output


async def serve(folder, reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            asked = json.loads(await reader.readexactly(length))
            text = json.dumps(await execute(folder, asked)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(text) + text)
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


async def main():
    with tempfile.TemporaryDirectory() as folder:
        server = await asyncio.start_server(
            lambda reader, writer: serve(folder, reader, writer), "127.0.0.1", 0)
        print("ready", server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
