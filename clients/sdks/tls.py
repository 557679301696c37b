#!/usr/bin/env python3
"""Runs a command whose SDK insists on https: tls.py COMMAND…

In front of SMS_API_BASE stands a TLS terminator on loopback, and the command finds its https URL in
SMS_API_BASE instead. What the server does to a connection is done to the client's: bytes pass as
they come, a close is a close (with TLS's own goodbye), a reset is a reset, either way. The
certificate is the one that install.sh made; the command's environment must trust it.
"""

import asyncio
import os
import pathlib
import socket
import ssl
import struct
import sys
import urllib.parse

MADE = pathlib.Path(__file__).resolve().parents[2] / "target" / "sdks"


def reset(writer):
    """Ends a connection with an RST."""
    lingering = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, lingering)
    writer.transport.abort()


async def pass_on(reader, writer):
    """One direction, to its end."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
    except (ConnectionResetError, BrokenPipeError):
        reset(writer)
    except ssl.SSLError:
        # A goodbye that came after the other side's: nothing is left to pass on.
        writer.close()


async def main(command):
    upstream = urllib.parse.urlsplit(os.environ["SMS_API_BASE"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(MADE / "certificate.pem", MADE / "key.pem")

    async def serve(reader, writer):
        try:
            there = await asyncio.open_connection(upstream.hostname, upstream.port)
        except OSError:
            return reset(writer)
        await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    environment = os.environ | {"SMS_API_BASE": f"https://127.0.0.1:{port}"}
    process = await asyncio.create_subprocess_exec(*command, env=environment)
    return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
