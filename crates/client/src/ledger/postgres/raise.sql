-- Sees a fencing number: the row of its event is locked until the transaction ends, and none comes back where a higher one
-- was seen. Waits for others as long as lock_timeout says, or $4 where that is unbounded, and leaves lock_timeout as it was.
WITH before AS MATERIALIZED (
    SELECT current_setting('lock_timeout') AS patience
), raised AS (
    INSERT INTO naven_ledger_events AS known (queue, event, fence)
    SELECT $1, $2, $3 FROM before
    WHERE set_config('lock_timeout', CASE before.patience WHEN '0' THEN $4 ELSE before.patience END, true) IS NOT NULL
    ON CONFLICT (queue, event) DO UPDATE SET fence = EXCLUDED.fence, touched_at = now()
    WHERE known.fence <= EXCLUDED.fence
    RETURNING known.fence
)
SELECT raised.fence, set_config('lock_timeout', before.patience, true)
FROM before LEFT JOIN raised ON true
