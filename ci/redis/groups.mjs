// What a client of Redis does with streams and groups, and what it has to be answered.
//
// Lives here: one scenario over a `Door`, that is, a connection with the same few calls whatever the client.
// Not here: the clients (`ioredis.mjs`, `node_redis.mjs`), each of which makes such doors of itself.
//
// A door has: protocol() -> 2 | 3, add(fields) -> id, create(group), read(group, consumer, {count, blockMs, after})
// -> [[id, fields]] | null, ack(group, ...ids) -> n, reclaim(group, consumer, after, count) -> {next, entries,
// deleted}, summary(group) -> {count, first, last, consumers}, details(group) -> [{id, consumer, deliveries}],
// remove(id), forget(), length(), blockedClients(), addTogether([fields]) -> [ids..., length], refusedTogether(),
// leave(). It speaks of one stream, which `open` names.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

const events = 20;
const blockMs = 300;
const patienceMs = 5000;
const group = "mail";

// run({client, open, refuses}): `open(stream)` makes a door; `refuses` opens one with a wrong password and rejects.
export async function run({ client, protocol, open, refuses }) {
  const began = Date.now();
  const stream = `clients:${client}:${protocol}`;
  await assert.rejects(refuses(), /WRONGPASS|NOAUTH/, "a wrong password is refused");
  const door = await open(stream);
  const reader = await open(stream);
  assert.equal(await door.protocol(), protocol, "the protocol that was asked for is spoken");
  await door.forget();

  await door.create(group);
  await assert.rejects(door.create(group), /BUSYGROUP/, "a group that is there is not made again");
  await waits(door, reader);
  await addsTogether(door);
  await settlesAndReclaims(door);

  await door.forget();
  assert.equal(await door.length(), 0, "a stream that was deleted is empty");
  await assert.rejects(door.read(group, "alive", { count: 1 }), /NOGROUP/, "its group went with it");
  await reader.leave();
  await door.leave();
  console.log(JSON.stringify({ ok: true, client, protocol, ms: Date.now() - began }));
}

// A read that blocks gets what is added meanwhile, and nothing when its time is over.
async function waits(door, reader) {
  const began = performance.now();
  assert.equal(await reader.read(group, "alive", { count: 1, blockMs }), null, "nothing was added");
  assert.ok(performance.now() - began >= blockMs - 1, "it waited for as long as it was told to");

  const waiting = reader.read(group, "alive", { count: 1, blockMs: patienceMs });
  for (let tries = 0; tries < 100 && (await door.blockedClients()) === 0; tries++) await sleep(10);
  assert.equal(await door.blockedClients(), 1, "INFO counts who is blocked");
  const fields = { event: "order.paid", payload: JSON.stringify({ text: "é😀\r\n\0" }), "": "" };
  const id = await door.add(fields);
  assert.deepEqual(await waiting, [[id, fields]], "the waiting reader got it, to the byte");
  assert.equal(await door.ack(group, id), 1);
  assert.equal(await door.ack(group, id), 0, "what is settled is not settled again");
}

// A transaction adds all or nothing.
async function addsTogether(door) {
  const before = await door.length();
  const [first, second, length] = await door.addTogether([{ n: "a" }, { n: "b" }]);
  assert.ok(isLater(second, first), `${second} comes after ${first}`);
  assert.equal(length, before + 2);
  await assert.rejects(door.refusedTogether(), "a transaction with a command that was refused does not run");
  assert.equal(await door.length(), before + 2, "and leaves nothing behind");
  const both = await door.read(group, "alive", { count: 10 });
  assert.deepEqual(both, [[first, { n: "a" }], [second, { n: "b" }]]);
  assert.equal(await door.ack(group, first, second), 2);
}

// One consumer takes a quarter and is not heard of again; the other settles the rest, then what is left.
async function settlesAndReclaims(door) {
  const ids = [];
  for (let n = 0; n < events; n++) ids.push(await door.add({ n: String(n) }));
  ids.slice(1).forEach((id, at) => assert.ok(isLater(id, ids[at]), `${id} comes after ${ids[at]}`));

  const taken = await door.read(group, "dead", { count: events / 4 });
  assert.deepEqual(idsOf(taken), ids.slice(0, events / 4));
  const rest = await door.read(group, "alive", { count: events });
  assert.deepEqual(idsOf(rest), ids.slice(events / 4));
  assert.equal(await door.ack(group, ...idsOf(rest)), rest.length);
  assert.deepEqual(await door.read(group, "dead", { count: events, after: "0" }), taken, "its own history");

  const held = { count: 5, first: ids[0], last: ids[4], consumers: { dead: 5 } };
  assert.deepEqual(await door.summary(group), held);
  // Reading one's history delivers once more.
  const details = ids.slice(0, 5).map((id) => ({ id, consumer: "dead", deliveries: 2 }));
  assert.deepEqual(await door.details(group), details);

  await door.remove(ids[1]);
  const some = await door.reclaim(group, "alive", "0-0", 3);
  assert.deepEqual(idsOf(some.entries), [ids[0], ids[2]], "what was deleted is not handed out");
  assert.deepEqual(some.deleted, [ids[1]], "but named");
  assert.equal(some.next, ids[3]);
  const others = await door.reclaim(group, "alive", some.next, 10);
  assert.deepEqual(others, { next: "0-0", entries: [[ids[3], { n: "3" }], [ids[4], { n: "4" }]], deleted: [] });

  await assert.rejects(door.ack(group, "undefined"), /Invalid stream ID/);
  assert.equal(await door.ack(group, ids[0], ids[1], ids[2], ids[3], ids[4]), 4);
  assert.equal((await door.summary(group)).count, 0, "nothing is pending at the end");
}

const idsOf = (entries) => entries.map(([id]) => id);

function isLater(a, b) {
  const [[aMs, aSeq], [bMs, bSeq]] = [a, b].map((id) => id.split("-").map(BigInt));
  return aMs > bMs || (aMs === bMs && aSeq > bSeq);
}
