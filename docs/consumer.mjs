// A consumer over HTTP. Node 20 or newer, no packages:
//   NAVEN_API_KEY=nvk_… NAVEN_QUEUE_ID=demo node consumer.mjs
import { setTimeout as sleep } from "node:timers/promises";

const url = process.env.NAVEN_API_URL ?? "http://127.0.0.1:7480";
const queue = process.env.NAVEN_QUEUE_ID ?? "demo";
const leaseSeconds = 60;
const waitSeconds = 20;
const LEASE_IS_GONE = [40900, 40901, 40902, 40402];

class NavenError extends Error {
  constructor({ code, message, data }) {
    super(`${code} ${data?.reason}: ${message}`);
    this.code = code;
    this.retryAfterSeconds = data?.retryAfterSeconds ?? 0;
  }
}
const leaseIsGone = (error) => LEASE_IS_GONE.includes(error.code);

async function post(path, body, { seconds = 30, signal } = {}) {
  const signals = [AbortSignal.timeout(Math.ceil(seconds * 1000)), ...(signal ? [signal] : [])];
  const response = await fetch(url + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${process.env.NAVEN_API_KEY}`, "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.any(signals),
  });
  const answer = await response.json();
  if (!response.ok || answer.code !== 0) throw new NavenError(answer);
  return answer.data;
}

// Grows from about 1 s to about 1 min, never below what the server asks for, and differs between consumers.
const pause = (failures, error) =>
  1000 * Math.max(error?.retryAfterSeconds ?? 0, Math.min(60, 2 ** (failures - 1)) * (0.5 + Math.random() / 2));

async function consume(handle, stop) {
  for (let failures = 0; !stop.aborted; ) {
    try {
      const claim = await post(`/v1/event-queues/${queue}/claim`, { leaseSeconds, waitSeconds },
        { seconds: waitSeconds + 30, signal: stop });
      failures = 0;
      if (claim) await processClaim(claim, handle);
    } catch (error) {
      if (stop.aborted) break;
      console.error("claim:", error.message);
      await sleep(pause(++failures, error), undefined, { signal: stop }).catch(() => {});
    }
  }
}

async function processClaim({ event, leaseToken }, handle) {
  const lost = new AbortController(); // once aborted: no new side effects
  const finished = new AbortController();
  const beating = beat(event.id, leaseToken, lost, finished.signal);
  let [word, body] = ["ack", { leaseToken }];
  try {
    await handle(event, lost.signal);
  } catch (error) {
    [word, body] = ["nack", { leaseToken, error: String(error?.message ?? error) }];
  }
  finished.abort();
  await beating;
  if (lost.signal.aborted) console.error(`${event.id}: the lease is lost:`, lost.signal.reason.message);
  else await settle(event.id, word, body);
}

// One heartbeat at a time, every third of the lease, while the handler runs.
async function beat(id, leaseToken, lost, finished) {
  const every = (leaseSeconds * 1000) / 3;
  const safe = leaseSeconds * 900; // ms; a tenth is left for the way of the answer
  let leaseEnds = performance.now() + safe;
  for (let wait = every; ; ) {
    await sleep(wait, undefined, { signal: finished }).catch(() => {});
    if (finished.aborted) return;
    const sent = performance.now();
    try {
      await post(`/v1/events/${id}/heartbeat`, { leaseToken, leaseSeconds },
        { seconds: (leaseEnds - sent) / 1000, signal: finished });
      leaseEnds = sent + safe;
      wait = every;
    } catch (error) {
      if (finished.aborted) return;
      if (leaseIsGone(error) || performance.now() + 1000 >= leaseEnds) return lost.abort(error);
      wait = 1000;
    }
  }
}

// The same word until it is answered: repeated with the same token it is taken once. Never the other word.
async function settle(id, word, body) {
  for (let failures = 1; ; failures++) {
    try {
      return await post(`/v1/events/${id}/${word}`, body);
    } catch (error) {
      if (leaseIsGone(error) || failures === 8) return console.error(`${word} of ${id}:`, error.message);
      await sleep(pause(failures, error));
    }
  }
}

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => stop.abort());
await consume(async (event, lost) => {
  // The work: look at `lost.aborted` before each side effect, hand `lost` to fetch and the like.
  console.log(event.id, event.deliveryCount, JSON.stringify(event.payload));
}, stop.signal);
