// ioredis: streams and groups through its own calls.
//
//   REDIS_URL=redis://:PASSWORD@HOST:PORT node ioredis.mjs 5|6 2|3
//
// Lives here: a door of `groups.mjs` made of ioredis 5 (RESP2 alone) or 6. Not here: what is asked and expected.
// Prints one line of JSON and ends with 0 when all went well.
import { run } from "./groups.mjs";

const [version, protocol] = process.argv.slice(2).map(Number);
const { Redis } = await import(version === 6 ? "ioredis-6" : "ioredis");
const url = process.env.REDIS_URL;
const options = { retryStrategy: null, maxRetriesPerRequest: 0, lazyConnect: true };
if (version === 6) options.protocol = protocol;

async function connect(where) {
  const redis = new Redis(where, options);
  // A wrong password comes as an event, and a ready check follows that fails for another reason.
  const refused = new Promise((_, reject) => redis.on("error", reject));
  refused.catch(() => {});
  await Promise.race([refused, redis.connect()]);
  await Promise.race([refused, redis.ping()]);
  return redis;
}

const flat = (fields) => Object.entries(fields).flat();
const record = (list) => Object.fromEntries(list.flatMap((f, i) => (i % 2 ? [] : [[f, list[i + 1]]])));
const entries = (list) => list.map(([id, fields]) => [id, fields && record(fields)]);

async function open(stream) {
  const redis = await connect(url);
  return {
    protocol: async () => record(await redis.call("HELLO")).proto,
    add: (fields) => redis.xadd(stream, "*", ...flat(fields)),
    create: (group) => redis.xgroup("CREATE", stream, group, "0", "MKSTREAM"),
    read: async (group, consumer, { count, blockMs, after = ">" }) => {
      const block = blockMs === undefined ? [] : ["BLOCK", blockMs];
      const reply = await redis.xreadgroup(
        "GROUP", group, consumer, "COUNT", count, ...block, "STREAMS", stream, after);
      return reply && entries(reply[0][1]);
    },
    ack: (group, ...ids) => redis.xack(stream, group, ...ids),
    reclaim: async (group, consumer, after, count) => {
      const [next, list, deleted] = await redis.xautoclaim(stream, group, consumer, 0, after, "COUNT", count);
      return { next, entries: entries(list), deleted };
    },
    summary: async (group) => {
      const [count, first, last, consumers] = await redis.xpending(stream, group);
      const counted = (consumers ?? []).map(([name, n]) => [name, Number(n)]);
      return { count, first, last, consumers: Object.fromEntries(counted) };
    },
    details: async (group) => {
      const rows = await redis.xpending(stream, group, "-", "+", 100);
      return rows.map(([id, consumer, , deliveries]) => ({ id, consumer, deliveries }));
    },
    remove: (id) => redis.xdel(stream, id),
    forget: () => redis.del(stream),
    length: () => redis.xlen(stream),
    blockedClients: async () => Number(/blocked_clients:(\d+)/.exec(await redis.info("clients"))[1]),
    addTogether: async (list) => {
      const multi = redis.multi();
      for (const fields of list) multi.xadd(stream, "*", ...flat(fields));
      const replies = await multi.xlen(stream).exec();
      return replies.map(([error, reply]) => {
        if (error) throw error;
        return reply;
      });
    },
    refusedTogether: () => redis.multi().xadd(stream, "*", "n", "c").call("xadd", stream).exec(),
    leave: () => redis.quit(),
  };
}

await run({
  client: `ioredis-${version}`,
  protocol,
  open,
  refuses: () => connect(url.replace(/:[^:@]*@/, ":not-the-password@")),
});
