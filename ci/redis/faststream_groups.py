"""FastStream: an application whose subscriber is a member of a consumer group.

    python faststream_groups.py redis://:PASSWORD@HOST:PORT 2|3

Lives here: one short life of such an application, with what has to come of it. A consumer that is gone holds
one entry; one subscriber handles what is new, another what has been left pending. Not here: the servers.
Prints one line of JSON and ends with 0 when all went well.
"""

import asyncio
import json
import sys
import time

from faststream import AckPolicy
from faststream.redis import RedisBroker, StreamSub
from redis.asyncio import Redis

EVENTS = 20
PATIENCE_SECONDS = 15
MIN_IDLE_MS = 200


async def main(url: str, protocol: int) -> None:
    began = time.monotonic()
    stream, group = f"clients:faststream:{protocol}", "mail"
    admin = Redis.from_url(url, protocol=protocol)
    await admin.delete(stream)
    await admin.xgroup_create(stream, group, "0", mkstream=True)

    broker = RedisBroker(url, protocol=protocol, logger=None)
    handled: dict[int, list[str]] = {}
    failed_once: set[int] = set()

    def subscribe(consumer: str, **options: int) -> None:
        sub = StreamSub(stream, group=group, consumer=consumer, polling_interval=50, **options)

        @broker.subscriber(stream=sub, ack_policy=AckPolicy.NACK_ON_ERROR)
        async def handle(body: dict) -> None:
            number = body["n"]
            if number == 7 and number not in failed_once:
                failed_once.add(number)
                raise ValueError("the first try fails")
            handled.setdefault(number, []).append(consumer)

    subscribe("alive", last_id=">")
    subscribe("heir", min_idle_time=MIN_IDLE_MS)

    async with broker:
        await broker.publish({"n": 0}, stream=stream)
        taken = await admin.xreadgroup(group, "dead", {stream: ">"}, count=1)
        assert taken, "the consumer that dies got its entry"
        await broker.start()
        for number in range(1, EVENTS):
            await broker.publish({"n": number}, stream=stream)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            pending = await admin.xpending(stream, group)
            if len(handled) == EVENTS and pending["pending"] == 0:
                break
            await asyncio.sleep(0.05)

    assert sorted(handled) == list(range(EVENTS)), f"consumed: {sorted(handled)}"
    assert all(len(by) == 1 for by in handled.values()), f"handled more than once: {handled}"
    assert handled[0] == ["heir"], "what the dead consumer held was reclaimed"
    assert handled[7] == ["heir"], "what failed once was reclaimed"
    assert pending["pending"] == 0, f"nothing is pending at the end: {pending}"
    assert await admin.xlen(stream) == EVENTS
    await admin.delete(stream)
    await admin.aclose()
    took_ms = round((time.monotonic() - began) * 1000)
    print(json.dumps({"ok": True, "client": "faststream", "protocol": protocol, "consumed": len(handled), "ms": took_ms}))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
