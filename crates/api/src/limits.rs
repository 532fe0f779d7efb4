//! Every bound of the product, each with its unit, in this one file.
//!
//! Lives here: constants, and the checked numbers made from them in other files of this crate.
//! Not here: settings that an operator may change (`naven-server`), which are bounded by these.

/// Shortest lease, in seconds.
pub const LEASE_SECONDS_MIN: u32 = 1;
/// Longest lease, in seconds (12 hours).
pub const LEASE_SECONDS_MAX: u32 = 43_200;
/// Lease of a queue that names none, in seconds.
pub const LEASE_SECONDS_DEFAULT: u32 = 60;
/// Longest total hold that a queue may set, in seconds (30 days); 0 means none.
pub const MAX_LEASE_SECONDS_MAX: u32 = 2_592_000;
/// Longest grace for a late ack, in seconds.
pub const LATE_ACK_GRACE_SECONDS_MAX: u32 = 3_600;
/// How long a done event is remembered by default, in seconds (one day). Less may be asked for, but
/// what is needed to judge a late retry is kept for so long all the same.
pub const DONE_RETENTION_SECONDS_DEFAULT: u32 = 86_400;
/// How long a dead letter is kept by default, in seconds (two weeks).
pub const DEAD_RETENTION_SECONDS_DEFAULT: u32 = 1_209_600;
/// How long the outcome of a delivery is remembered at least, in seconds (one day): a late call is
/// judged by it.
pub const OUTCOME_SECONDS_MIN: u32 = 86_400;
/// Longest retention of done and dead, in seconds (ten years of 365 days).
pub const RETENTION_SECONDS_MAX: u32 = 315_360_000;
/// How long a dedupe key is remembered by default, in seconds.
pub const DEDUPE_WINDOW_SECONDS_DEFAULT: u32 = 300;
/// Longest dedupe window, in seconds (30 days).
pub const DEDUPE_WINDOW_SECONDS_MAX: u32 = 2_592_000;
/// Longest dedupe key, in bytes.
pub const DEDUPE_KEY_BYTES_MAX: usize = 255;
/// Longest Idempotency-Key, in bytes.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// How long an idempotency key is remembered, in seconds (one day).
pub const IDEMPOTENCY_SECONDS: u32 = 86_400;
/// Longest wait of a claim, in seconds.
pub const WAIT_SECONDS_MAX: u32 = 60;
/// Wait of a claim that names none, in seconds.
pub const WAIT_SECONDS_DEFAULT: u32 = 20;
/// Longest delay of a publish or a retry, in seconds (ten years of 365 days).
pub const DELAY_SECONDS_MAX: u32 = 315_360_000;
/// Fewest attempts of an event.
pub const MAX_ATTEMPTS_MIN: u32 = 1;
/// Most attempts of an event.
pub const MAX_ATTEMPTS_MAX: u32 = 1_000;
/// Attempts of an event in a queue that names none.
pub const MAX_ATTEMPTS_DEFAULT: u32 = 10;
/// First delay of the default backoff, in seconds.
pub const BACKOFF_INITIAL_SECONDS_DEFAULT: u32 = 5;
/// Longest first delay of a backoff, and longest delay that it may grow to, in seconds (one day).
pub const BACKOFF_SECONDS_MAX: u32 = 86_400;
/// Cap of the default backoff, in seconds.
pub const BACKOFF_MAX_SECONDS_DEFAULT: u32 = 3_600;
/// Growth of the default backoff, in thousandths.
pub const BACKOFF_FACTOR_MILLI_DEFAULT: u32 = 2_000;
/// Slowest growth of a backoff, in thousandths.
pub const BACKOFF_FACTOR_MILLI_MIN: u32 = 1_000;
/// Fastest growth of a backoff, in thousandths.
pub const BACKOFF_FACTOR_MILLI_MAX: u32 = 10_000;
/// Full jitter, in thousandths.
pub const BACKOFF_JITTER_MILLI_MAX: u32 = 1_000;
/// Largest payload by default, in bytes.
pub const PAYLOAD_BYTES_DEFAULT: usize = 256 * 1024;
/// Largest payload that may be configured, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deepest nesting of a payload; its outer object counts as 1.
pub const PAYLOAD_DEPTH_MAX: usize = 64;
/// Largest request body, in bytes.
pub const REQUEST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most bytes of large request bodies that are under way at once on one node.
pub const BODIES_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Most bytes of large answers that are held at once, from when they are asked for until they are read.
pub const ANSWERS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// A request body up to this size, in bytes, is small: it never waits for others.
pub const BODY_SMALL_BYTES: usize = 64 * 1024;
/// Most items in a batch of publishes, settles or heartbeats.
pub const BATCH_ITEMS_MAX: usize = 500;
/// Most events that one claim takes.
pub const CLAIM_EVENTS_MAX: u32 = 100;
/// Most payload bytes that one claim takes (at least one event always fits).
pub const CLAIM_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most headers of an event.
pub const HEADERS_MAX: usize = 32;
/// Longest name or value of an event's header, in bytes.
pub const HEADER_BYTES_MAX: usize = 1_024;
/// Longest error text that is kept, in bytes: a longer one is cut on a character border.
pub const ERROR_BYTES_MAX: usize = 8 * 1024;
/// Longest note of a heartbeat's progress, in bytes: a longer one is cut on a character border.
pub const PROGRESS_NOTE_BYTES_MAX: usize = 1_024;
/// All of the way, in hundredths.
pub const PERCENT_MAX: u32 = 100;
/// Longest result of an ack, in bytes of its JSON text: 500 of them are 2 MiB, an eighth of what one
/// transaction may be. Nested as deep as a payload may be.
pub const RESULT_BYTES_MAX: usize = 4 * 1024;
/// Longest `tracestate` that is kept, in characters: a longer one is dropped whole.
pub const TRACESTATE_CHARS_MAX: usize = 512;
/// Most members of a `tracestate`.
pub const TRACESTATE_MEMBERS_MAX: usize = 32;
/// Longest error text kept for each attempt in a delivery's log, in bytes.
pub const ATTEMPT_ERROR_BYTES_MAX: usize = 1_024;
/// Deliveries that a delivery's log remembers.
pub const LOG_DELIVERIES_MAX: usize = 20;
/// Heartbeats that a delivery's log remembers for each of them.
pub const LOG_HEARTBEATS_MAX: usize = 10;
/// Longest name of a consumer, in printable ASCII bytes.
pub const CONSUMER_BYTES_MAX: usize = 128;
/// Longest name of a queue made over HTTP, in bytes.
pub const QUEUE_NAME_BYTES_MAX: usize = 128;
/// Longest description of a queue, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 1_024;
/// Longest reason of a pause, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Longest name of a stream, and of a group on the Redis door, in bytes.
pub const STREAM_NAME_BYTES_MAX: usize = 512;
/// Items of a list page by default.
pub const PAGE_ITEMS_DEFAULT: u32 = 50;
/// Most items of a list page.
pub const PAGE_ITEMS_MAX: u32 = 500;
/// Longest time without a word that a list of what is pending may ask for, in seconds (ten years of 365 days).
pub const MIN_IDLE_SECONDS_MAX: u32 = 315_360_000;
/// Most bytes of payloads that one page of a list shows: where payloads are asked for, a page has at most as
/// many items as fit, were each payload as large as it may be.
pub const PAGE_PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most rows that one page of a list, one count or one dry run looks at.
pub const SCANS_MAX: u32 = 20_000;
/// Most bytes of payloads that one page of a queue's events, or their count, looks at.
pub const SCAN_PAYLOAD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most conditions on a payload in one list.
pub const PAYLOAD_CONDITIONS_MAX: usize = 4;
/// Most names in the path of such a condition.
pub const PAYLOAD_PATH_DEPTH_MAX: usize = 8;
/// Longest path of such a condition, in bytes.
pub const PAYLOAD_PATH_BYTES_MAX: usize = 512;
/// Longest text that a payload is searched for, and longest value of a condition on it, in characters.
pub const PAYLOAD_TEXT_CHARS_MAX: usize = 256;
/// Most dead letters that one step of an operation looks at.
pub const OPERATION_CHUNK_ROWS: u32 = 500;
/// How long an operation is shown once it is over, in seconds.
pub const OPERATION_SECONDS: u32 = 7 * 86_400;
/// Most operations that are kept once they are over.
pub const OPERATIONS_KEPT_MAX: usize = 1_000;
/// Longest example of a group of errors, in bytes.
pub const DEAD_EXAMPLE_BYTES_MAX: usize = 1_024;
/// Longest text by which errors are filtered, in bytes.
pub const ERROR_FILTER_BYTES_MAX: usize = 1_024;
/// Longest cursor, in bytes.
pub const CURSOR_BYTES_MAX: usize = 512;
/// Most waiting claims of one node.
pub const WAITERS_PER_NODE_MAX: usize = 20_000;
/// Most waiting claims of one key.
pub const WAITERS_PER_KEY_MAX: usize = 20_000;
/// Longest `Naven-Request-Id` that is taken over from a caller, in bytes.
pub const REQUEST_ID_BYTES_MAX: usize = 128;
/// Most arguments of one command on the Redis door, its name included. Each costs 32 bytes of memory.
pub const REDIS_ARGUMENTS_MAX: usize = 128 * 1024;
/// Longest argument on the Redis door, in bytes: the largest payload fits.
pub const REDIS_ARGUMENT_BYTES_MAX: usize = PAYLOAD_BYTES_MAX;
/// Largest command on the Redis door, in bytes of the wire.
pub const REDIS_COMMAND_BYTES_MAX: usize = REQUEST_BYTES_MAX;
/// Longest line of a command that is typed by hand on the Redis door, in bytes without its end.
pub const REDIS_INLINE_BYTES_MAX: usize = 64 * 1024;
/// Most arguments of a command before AUTH, its name included.
pub const REDIS_ARGUMENTS_BEFORE_AUTH_MAX: usize = 10;
/// Longest argument, and longest typed line, before AUTH, in bytes.
pub const REDIS_ARGUMENT_BYTES_BEFORE_AUTH_MAX: usize = 16 * 1024;
/// Largest command before AUTH, in bytes of the wire.
pub const REDIS_COMMAND_BYTES_BEFORE_AUTH_MAX: usize = 64 * 1024;
/// Replies that may wait for one Redis client to read them, in bytes: past that no further command of its
/// connection is run until half of them are gone. The reply that steps over it is still written whole.
pub const REDIS_UNREAD_BYTES_MAX: usize = 1024 * 1024;
/// Buffer that a Redis connection keeps while nothing is under way, in bytes: a larger one is let go.
pub const REDIS_KEPT_BUFFER_BYTES: usize = 64 * 1024;
/// Most bytes of content in one reply of the Redis door: a range that is larger is refused, and asks for COUNT.
pub const REDIS_REPLY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most entries in one reply of the Redis door.
pub const REDIS_REPLY_ENTRIES_MAX: u32 = 500_000;
/// Most bytes of content that one call of the Redis door reads of one stream or takes over; one entry always
/// fits.
pub const REDIS_READ_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Most entries that one call of the Redis door hands out to a consumer of one group.
pub const REDIS_READ_ENTRIES_MAX: u64 = 10_000;
/// Longest name of a producer and of what it names its entries by, on the Redis door, in bytes.
pub const REDIS_PRODUCER_BYTES_MAX: usize = DEDUPE_KEY_BYTES_MAX;
/// Overdue leases that one claim expires before it takes.
pub const CLAIM_EXPIRES_MAX: usize = 1_000;
/// Events that get their place in one operation; the rest get theirs in later ones.
pub const PLACES_PER_OP_MAX: usize = 10_000;
/// Events past their `expiresAt` that one claim passes over before it gives up.
pub const CLAIM_EXPIRED_MAX: usize = 1_000;
/// Most holds of a Redis consumer that end in the call that deletes it: the rest end while tending.
pub const CONSUMER_HOLDS_ENDED_MAX: usize = 1_000;
/// Largest transaction that the engine takes, in bytes of its record.
pub const TXN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How often a queue that has waiters is looked at without a hint, in milliseconds.
pub const WAIT_LOOK_MS: u64 = 1_000;
/// Most findings that a check of a data folder lists.
pub const FINDINGS_MAX: usize = 10_000;
/// Longest piece of a backup, in bytes.
pub const BACKUP_PIECE_BYTES: usize = 256 * 1024;

/// Most entries that a trim may be told to leave.
pub const TRIM_LENGTH_MAX: u32 = 1_000_000_000;

/// Most entries of the audit log: the oldest leave.
pub const AUDIT_ROWS_MAX: u64 = 1_000_000;
/// Most keys of a server.
pub const KEYS_MAX: usize = 10_000;
/// Most names and patterns of one key.
pub const KEY_PATTERNS_MAX: usize = 100;
/// Highest rate limit of a key, in calls of a second.
pub const KEY_RATE_MAX: u32 = 1_000_000;
/// How long a key's secret of before is taken after a rotation that does not say, in seconds.
pub const KEY_OVERLAP_SECONDS_DEFAULT: u32 = 3_600;
/// Longest such time, in seconds.
pub const KEY_OVERLAP_SECONDS_MAX: u32 = 2_592_000;

/// Queues whose figures one node records: past that, those that did nothing for longest are let go.
pub const STATS_QUEUES_MAX: usize = 10_000;
/// Most bytes of recorded figures on one node, about: past that, those of the queues that did nothing for
/// longest are let go.
pub const STATS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// The shortest step of recorded figures, in seconds.
pub const STATS_FINE_SECONDS: u32 = 10;
/// How long figures are kept by that step, in seconds.
pub const STATS_FINE_KEPT_SECONDS: u32 = 3_600;
/// The other step of recorded figures, in seconds: that of answers by default.
pub const STATS_STEP_SECONDS: u32 = 60;
/// How long figures are kept by that step, in seconds.
pub const STATS_KEPT_SECONDS: u32 = 86_400;
/// Most points of one answer.
pub const STATS_POINTS_MAX: u32 = 1_500;
/// Changes of deliveries that a node keeps for tails that come back, over all queues.
pub const TAIL_KEPT_MAX: usize = 10_000;
/// Most tails of one node.
pub const TAILS_PER_NODE_MAX: usize = 100;
/// Most tails of one key.
pub const TAILS_PER_KEY_MAX: usize = 10;
/// Highest `sample` of a tail: one in so many events is told.
pub const TAIL_SAMPLE_MAX: u32 = 1_000;
/// Claimers that a node remembers, over all queues: past that, new ones are not.
pub const CLAIMERS_SEEN_MAX: usize = 20_000;
/// How long a claimer is remembered that does not come back, in seconds.
pub const CLAIMER_SEEN_SECONDS: u32 = 900;
/// Longest name of a program that is remembered of a claimer, in bytes.
pub const CLAIMER_CLIENT_BYTES_MAX: usize = 256;
/// Most consumers that one answer lists.
pub const CONSUMERS_SHOWN_MAX: usize = 1_000;
/// Queues that one answer of `/metrics` lists, the newest: it says how many it leaves out.
pub const METRICS_QUEUES_MAX: usize = 1_000;
/// Streams that one answer of `/metrics` lists, the newest: it says how many it leaves out.
pub const METRICS_STREAMS_MAX: usize = 1_000;
