"""walrus: its streams and consumer groups.

    python walrus_groups.py redis://:PASSWORD@HOST:PORT 2|default

Lives here: what a program does with a group over two streams, and what it has to be answered. Not here: the servers.
redis-py beneath it speaks RESP3 unless told otherwise, and makes replies of the shapes of RESP2 of it; asked for
RESP3 by name it makes maps, which walrus does not know.
Prints one line of JSON and ends with 0 when all went well.
"""

import json
import sys
import time

from walrus import Database

EVENTS = 10


def main(url: str, protocol: str) -> None:
    began = time.monotonic()
    db = Database.from_url(url) if protocol == "default" else Database.from_url(url, protocol=int(protocol))
    keys = [f"clients:walrus:{protocol}:{name}" for name in ("orders", "bills")]
    orders, bills = (key.encode() for key in keys)
    db.delete(*keys)

    group = db.consumer_group("mail", keys)
    made = group.create()
    assert all(made[key] for key in group.keys), made
    assert not any(group.create().values()), "a group that is there is not made again"
    order_ids = [group.streams[keys[0]].add({"n": str(n)}) for n in range(EVENTS)]
    bill_ids = [group.streams[keys[1]].add({"n": str(n)}) for n in range(2)]

    first = dict(group.read(count=3))
    assert [id for id, _ in first[orders]] == order_ids[:3], first
    assert [id for id, _ in first[bills]] == bill_ids, first
    assert first[orders][1][1] == {b"n": b"1"}
    assert group.streams[keys[1]].ack(*bill_ids) == 2

    stream = group.streams[keys[0]]
    pending = stream.pending()
    assert [row["message_id"] for row in pending] == order_ids[:3]
    assert all(row["consumer"] == b"mail.c1" and row["times_delivered"] == 1 for row in pending), pending

    other = group.consumer("other")
    others = other.streams[keys[0]]
    assert [id for id, _ in others.claim(*order_ids[:2])] == order_ids[:2]
    claimed = others.autoclaim("other", 0, count=10)
    assert [id for id, _ in claimed[1]] == order_ids[:3], claimed
    assert others.ack(*order_ids[:3]) == 3
    assert stream.pending() == []

    rest = dict(other.read())
    assert [id for id, _ in rest[orders]] == order_ids[3:]
    assert not other.read(count=1, block=50), "nothing is left to read"
    names = {row["name"]: row["pending"] for row in stream.consumers_info()}
    assert names == {b"mail.c1": 0, b"other": EVENTS - 3}, names
    assert others.delete_consumer() == EVENTS - 3

    group.set_id("0-0")
    again = dict(group.read(count=1))
    assert again[orders][0][0] == order_ids[0], "it begins anew after SETID"
    # A walrus stream is also read by position and by range.
    assert len(stream) == EVENTS
    assert stream[order_ids[0] : order_ids[1]] == [(order_ids[0], {b"n": b"0"}), (order_ids[1], {b"n": b"1"})]
    assert stream.delete(order_ids[0]) == 1
    assert stream.trim(4, approximate=False) == EVENTS - 1 - 4
    info = stream.info()
    assert info["length"] == 4 and info["groups"] == 1, info
    assert stream.groups_info()[0]["name"] == b"mail"
    assert group.destroy() == {key: 1 for key in group.keys}
    assert db.delete(*keys) == 2
    took_ms = round((time.monotonic() - began) * 1000)
    print(json.dumps({"ok": True, "client": "walrus", "protocol": protocol, "ms": took_ms}))


main(sys.argv[1], sys.argv[2])
