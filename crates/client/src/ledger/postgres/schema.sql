-- The effect ledger of naven-client, version 1.
CREATE TABLE IF NOT EXISTS naven_ledger_events (
    queue      text        NOT NULL,
    event      text        NOT NULL,
    -- The highest fencing number seen. The row is also what attempts at the event wait for each other on.
    fence      bigint      NOT NULL,
    touched_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, event)
);
CREATE INDEX IF NOT EXISTS naven_ledger_events_touched_at ON naven_ledger_events (touched_at);
CREATE TABLE IF NOT EXISTS naven_ledger_effects (
    queue       text        NOT NULL,
    event       text        NOT NULL,
    name        text        NOT NULL,
    -- Under which fencing number, and by whom, it was begun or done.
    fence       bigint      NOT NULL,
    bearer      text        NOT NULL,
    is_done     boolean     NOT NULL,
    -- Begun, while an earlier run of it may have happened.
    is_doubtful boolean     NOT NULL,
    -- JSON as bytes; empty where it is not done, or where the result could not be kept.
    result      bytea       NOT NULL,
    at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (queue, event, name),
    FOREIGN KEY (queue, event) REFERENCES naven_ledger_events ON DELETE CASCADE
);
