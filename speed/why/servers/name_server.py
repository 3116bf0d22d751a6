"""A name server that answers every question for an address with 127.0.0.1, after 20 ms: `name_server.py ADDRESS`."""

import asyncio
import sys

DELAY_S = 0.02
# An answer to the name at byte 12 (RFC 1035, 4.1.4): an address, class IN, for a second, four bytes.
ANSWER = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1])


class NameServer(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, question, client):
        # The question ends with the first empty label, its type and its class; more sections (EDNS) are left out.
        end = question.index(0, 12) + 5
        is_address = question[end - 4 : end - 2] == bytes([0, 1])
        counts = bytes([0, 1, 0, int(is_address), 0, 0, 0, 0])
        answer = question[:2] + bytes([0x81, 0x80]) + counts + question[12:end] + ANSWER * is_address
        asyncio.get_running_loop().call_later(DELAY_S, self.transport.sendto, answer, client)


async def serve(address):
    await asyncio.get_running_loop().create_datagram_endpoint(NameServer, local_addr=(address, 53))
    print(53, flush=True)
    await asyncio.Event().wait()


asyncio.run(serve(sys.argv[1]))
