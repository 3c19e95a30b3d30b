"""Associations on asyncio."""

import asyncio
import os
import random
import subprocess
import sys
import textwrap

import pytest
import tresse


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 60))


async def pair(**settings):
    server = tresse.Endpoint.bind("127.0.0.1:0", port=5001, **settings)
    client = tresse.Endpoint.bind("127.0.0.1:0", **settings)
    address, udp_port = server.addresses[0]
    ours = await client.connect(f"{address}:{udp_port}", server.port)
    theirs = await server.accept()
    return server, client, ours, theirs


def test_messages_arrive_whole_and_in_order():
    async def main():
        server, client, ours, theirs = await pair()
        rng = random.Random(1)
        sent = [(rng.randbytes(rng.randrange(1, 20_000)), rng.randrange(16)) for _ in range(300)]

        async def send():
            for data, stream in sent:
                await ours.send(data, stream, ppid=stream)
            await ours.shutdown()

        sending = asyncio.ensure_future(send())
        received = [(m.data, m.stream, m.ppid, m.unordered) async for m in theirs]
        await sending
        for stream in range(16):
            expected = [(d, s, s, False) for d, s in sent if s == stream]
            assert [m for m in received if m[1] == stream] == expected
        assert await theirs.closed() == "the association was shut down"
        assert ours.stats["messages_sent"] == 300
        await asyncio.gather(server.wait_idle(), client.wait_idle())

    run(main())


def test_who_is_cancelled_loses_nothing():
    async def main():
        *_, ours, theirs = await pair(no_delay=True)
        received = []

        async def impatient():
            while len(received) < 200:
                try:
                    message = await asyncio.wait_for(theirs.recv(), random.Random(len(received)).random() / 500)
                except asyncio.TimeoutError:
                    continue
                received.append(int.from_bytes(message.data, "big"))

        reader = asyncio.ensure_future(impatient())
        for n in range(200):
            await ours.send(n.to_bytes(2, "big"))
            if n % 7 == 0:
                await asyncio.sleep(0.002)
        await reader
        assert received == list(range(200))

    run(main())


def test_messages_leave_in_the_order_of_the_calls():
    async def main():
        *_, ours, theirs = await pair(no_delay=True)
        sending = [asyncio.ensure_future(ours.send(n.to_bytes(2, "big"))) for n in range(500)]
        received = [int.from_bytes((await theirs.recv()).data, "big") for _ in range(500)]
        assert received == list(range(500))
        await asyncio.gather(*sending)
        # Also those of impatient callers, and what follows them.
        for n in range(500):
            try:
                await asyncio.wait_for(ours.send(n.to_bytes(2, "big")), 0.0002)
            except asyncio.TimeoutError:
                pass
        await ours.shutdown()
        received = [int.from_bytes(message.data, "big") async for message in theirs]
        assert received == sorted(set(received)) and len(received) > 100

    run(main())


def test_two_readers_share_what_comes():
    async def main():
        *_, ours, theirs = await pair()
        readers = [asyncio.ensure_future(theirs.recv()) for _ in range(10)]
        for n in range(10):
            await ours.send(bytes([n + 1]))
        assert [m.data for m in await asyncio.gather(*readers)] == [bytes([n + 1]) for n in range(10)]

    run(main())


def test_several_addresses_and_concurrent_transfer():
    async def main():
        server = tresse.Endpoint.bind(["127.0.0.1:0", "127.0.0.2:0"], port=7, concurrent=True)
        client = tresse.Endpoint.bind(["127.0.0.3:0", "127.0.0.4:0"], concurrent=True)
        udp_port = server.addresses[0][1]
        async with await client.connect(["127.0.0.1", "127.0.0.2"], 7, udp_port=udp_port) as association:
            theirs = await server.accept()
            await association.send(b"x" * 100_000)
            assert len((await theirs.recv()).data) == 100_000
            assert {path["address"] for path in association.paths} == {"127.0.0.1", "127.0.0.2"}
        assert await theirs.recv() is None

    run(main())


def test_endings_are_told():
    async def main():
        server, _, ours, theirs = await pair()
        theirs.abort(b"enough")
        assert await ours.recv() is None
        assert "enough" in await ours.closed()
        with pytest.raises(tresse.ClosedError, match="enough"):
            await ours.send(b"late")
        with pytest.raises(tresse.ClosedError):
            await ours.shutdown()
        nobody = tresse.Endpoint.bind("127.0.0.1:0", parameters={"limits.max_init_retransmits": 0, "rto.initial_ms": 100})
        with pytest.raises(tresse.ClosedError, match="does not|refuse|ICMP|aborted"):
            await nobody.connect("127.0.0.1:9", 5001)

    run(main())


def test_what_is_wrong_is_one_line():
    async def main():
        *_, ours, theirs = await pair(max_message=1000)
        for data, options, message in [
            (b"x", {"stream": 99}, "stream 99 does not exist"),
            (b"", {}, "empty"),
            (bytes(1001), {}, "1001 bytes; the limit is 1000"),
        ]:
            with pytest.raises(tresse.TresseError, match=message):
                await ours.send(data, **options)
        for data in (3, "text", [1, 2], None):
            with pytest.raises(TypeError, match="a message is bytes, not"):
                await ours.send(data)
        with pytest.raises(ValueError, match="not by both"):
            await ours.send(b"x", lifetime=1, retransmissions=1)
        with pytest.raises(ValueError, match="no lifetime"):
            await ours.send(b"x", lifetime=-1)
        for local, kind, message in [
            ("127.0.0.1", ValueError, "UDP port"),
            ([], ValueError, "local address"),
            ("192.0.2.1:0", OSError, "."),
        ]:
            with pytest.raises(kind, match=message):
                tresse.Endpoint.bind(local)
        with pytest.raises(tresse.LabError, match="tress"):
            tresse.Endpoint.bind("127.0.0.1:0", profile="tress")
        for settings, message in [
            ({"streams": 0}, "streams is 0: it can be 1 to 65535"),
            ({"port": 70_000}, "port is 70000"),
            ({"receive_buffer": 2**32}, "receive_buffer is 4294967296"),
        ]:
            with pytest.raises(ValueError, match=message):
                tresse.Endpoint.bind("127.0.0.1:0", **settings)
        with pytest.raises(ValueError, match="ppid is -1"):
            await ours.send(b"x", ppid=-1)
        with pytest.raises(TypeError, match="stream is a whole number, not float"):
            await ours.send(b"x", 1.0)
        with pytest.raises(ValueError, match="no UDP port"):
            await tresse.Endpoint.bind("127.0.0.1:0").connect("127.0.0.1:http", 7)

    run(main())


def test_a_closed_endpoint_takes_nobody_and_keeps_what_it_has():
    async def main():
        server, client, ours, theirs = await pair()
        waiting = asyncio.ensure_future(server.accept())
        await asyncio.sleep(0)
        server.close()
        with pytest.raises(tresse.ClosedError, match="closed"):
            await waiting
        await ours.send(b"still")
        assert (await theirs.recv()).data == b"still"
        async with client:
            pass
        assert await theirs.recv() is None
        with pytest.raises(tresse.ClosedError, match="closed"):
            await client.connect("127.0.0.1:9", 7)

    run(main())


def test_names_and_profiles_as_objects():
    async def main():
        profile = tresse.Profile("rfc9260").set({"rto.min_ms": 123})
        server = tresse.Endpoint.bind("127.0.0.1:0", port=7, profile=profile)
        client = tresse.Endpoint.bind("127.0.0.1:0", profile=profile, parameters={"rto.initial_ms": 456})
        ours = await client.connect(f"localhost:{server.addresses[0][1]}", 7)
        assert "127.0.0.1" in repr(ours) and "SCTP port 7" in repr(server)
        with pytest.raises(OSError):
            await client.connect("no-such-host.invalid", 7)

    run(main())


def alone(program):
    """Runs a program in a process of its own: what it prints, and what it says is wrong."""
    words = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr, done.returncode


def test_a_loop_ends_while_somebody_waits():
    out, err, status = alone("""
        import asyncio, tresse
        async def main():
            server = tresse.Endpoint.bind("127.0.0.1:0", port=7)
            client = tresse.Endpoint.bind("127.0.0.1:0")
            ours = await client.connect(f"127.0.0.1:{server.addresses[0][1]}", 7)
            theirs = await server.accept()
            waiting = [asyncio.ensure_future(who.recv()) for who in (ours, theirs)]
            waiting.append(asyncio.ensure_future(server.accept()))
            await asyncio.sleep(0.05)
            theirs.abort(b"now")
        for _ in range(3):
            asyncio.run(main())
        print("ended")
    """)
    assert (out, err, status) == ("ended\n", "", 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_is_told_what_is_not_its_own():
    out, err, status = alone("""
        import asyncio, os, tresse
        async def pair():
            server = tresse.Endpoint.bind("127.0.0.1:0", port=7)
            client = tresse.Endpoint.bind("127.0.0.1:0")
            ours = await client.connect(f"127.0.0.1:{server.addresses[0][1]}", 7)
            return server, client, ours, await server.accept()
        async def talk(ours, theirs):
            await ours.send(b"x")
            return (await theirs.recv()).data
        parents = asyncio.run(pair())
        child = os.fork()
        if child == 0:
            try:
                asyncio.run(parents[2].recv())
            except tresse.TresseError as error:
                print(error, flush=True)
            async def own():
                _, _, ours, theirs = await pair()
                print(await talk(ours, theirs), flush=True)
            asyncio.run(own())
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(asyncio.run(talk(*parents[2:])))
    """)
    assert err == "" and status == 0, err
    told, *talked = out.splitlines()
    assert "this is a fork" in told and talked == ["b'x'", "b'x'"]
