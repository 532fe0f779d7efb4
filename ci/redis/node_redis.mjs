// node-redis: streams and groups through its own calls.
//
//   REDIS_URL=redis://:PASSWORD@HOST:PORT node node_redis.mjs 2|3
//
// Lives here: a door of `groups.mjs` made of node-redis. Not here: what is asked and expected.
// Prints one line of JSON and ends with 0 when all went well.
import { createClient } from "redis";
import { run } from "./groups.mjs";

const protocol = Number(process.argv[2]);
const url = process.env.REDIS_URL;

async function connect(where) {
  const redis = createClient({ url: where, RESP: protocol, socket: { reconnectStrategy: false } });
  redis.on("error", () => {});
  await redis.connect();
  return redis;
}

// It makes objects without a prototype of entries.
const entries = (list) => list.map(({ id, message }) => [id, { ...message }]);

async function open(stream) {
  const redis = await connect(url);
  return {
    protocol: async () => {
      const reply = await redis.sendCommand(["HELLO"]);
      return Array.isArray(reply) ? reply[reply.indexOf("proto") + 1] : reply.proto;
    },
    add: (fields) => redis.xAdd(stream, "*", fields),
    create: (group) => redis.xGroupCreate(stream, group, "0", { MKSTREAM: true }),
    read: async (group, consumer, { count, blockMs, after = ">" }) => {
      const options = { COUNT: count, BLOCK: blockMs };
      const reply = await redis.xReadGroup(group, consumer, { key: stream, id: after }, options);
      return reply && entries(reply[0].messages);
    },
    ack: (group, ...ids) => redis.xAck(stream, group, ids),
    reclaim: async (group, consumer, after, count) => {
      const reply = await redis.xAutoClaim(stream, group, consumer, 0, after, { COUNT: count });
      return { next: reply.nextId, entries: entries(reply.messages), deleted: reply.deletedMessages };
    },
    summary: async (group) => {
      const { pending, firstId, lastId, consumers } = await redis.xPending(stream, group);
      const counted = (consumers ?? []).map(({ name, deliveriesCounter }) => [name, deliveriesCounter]);
      return { count: pending, first: firstId, last: lastId, consumers: Object.fromEntries(counted) };
    },
    details: async (group) => {
      const rows = await redis.xPendingRange(stream, group, "-", "+", 100);
      return rows.map(({ id, consumer, deliveriesCounter }) => ({ id, consumer, deliveries: deliveriesCounter }));
    },
    remove: (id) => redis.xDel(stream, id),
    forget: () => redis.del(stream),
    length: () => redis.xLen(stream),
    blockedClients: async () => Number(/blocked_clients:(\d+)/.exec(await redis.info("clients"))[1]),
    addTogether: (list) => {
      const multi = redis.multi();
      for (const fields of list) multi.xAdd(stream, "*", fields);
      return multi.xLen(stream).exec();
    },
    refusedTogether: () => redis.multi().xAdd(stream, "*", { n: "c" }).addCommand(["XADD", stream]).exec(),
    leave: () => redis.close(),
  };
}

await run({
  client: "node-redis-6",
  protocol,
  open,
  refuses: () => connect(url.replace(/:[^:@]*@/, ":not-the-password@")),
});
