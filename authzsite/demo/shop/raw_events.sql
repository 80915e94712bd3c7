CREATE SCHEMA raw_events;
COMMENT ON SCHEMA raw_events IS 'Streams as they arrive, one table a month, unchecked.';

DO $$
DECLARE
    month date;
    suffix text;
BEGIN
    FOR month IN SELECT generate_series(date '2026-06-01', date '2026-11-01', '1 month') LOOP
        suffix := to_char(month, 'YYYY_MM');
        EXECUTE format('CREATE TABLE raw_events.%I (event_id bigint PRIMARY KEY, at timestamptz NOT NULL, session uuid NOT NULL, path text NOT NULL, agent text)', 'click_' || suffix);
        EXECUTE format('COMMENT ON TABLE raw_events.%I IS %L', 'click_' || suffix, 'Clicks in the web shop, ' || to_char(month, 'FMMonth YYYY') || '.');
        EXECUTE format('INSERT INTO raw_events.%I SELECT n, %L::timestamptz + n * interval ''3 hours'', md5(n / 4 || %L)::uuid, ''/article/'' || n %% 90, ''Firefox'' FROM generate_series(1, 120) n', 'click_' || suffix, month, suffix);
    END LOOP;
    FOR month IN SELECT generate_series(date '2026-09-01', date '2026-11-01', '1 month') LOOP
        suffix := to_char(month, 'YYYY_MM');
        EXECUTE format('CREATE TABLE raw_events.%I (event_id bigint PRIMARY KEY, at timestamptz NOT NULL, order_id bigint NOT NULL, payload jsonb NOT NULL)', 'orders_stream_' || suffix);
        EXECUTE format('COMMENT ON TABLE raw_events.%I IS %L', 'orders_stream_' || suffix, 'Order events, ' || to_char(month, 'FMMonth YYYY') || '.');
        EXECUTE format('INSERT INTO raw_events.%I SELECT n, %L::timestamptz + n * interval ''5 hours'', 100000 + n, jsonb_build_object(''state'', ''paid'', ''n'', n) FROM generate_series(1, 100) n', 'orders_stream_' || suffix, month);
    END LOOP;
END $$;

CREATE TABLE raw_events.dead_letters (letter_id bigint PRIMARY KEY, arrived_at timestamptz NOT NULL, stream text NOT NULL, error text NOT NULL, body text NOT NULL);
COMMENT ON TABLE raw_events.dead_letters IS 'Events that could not be read.';
INSERT INTO raw_events.dead_letters SELECT n, timestamptz '2026-11-02 01:00+00' + n * interval '11 hours', 'click', 'no session', '{"path": "/"}' FROM generate_series(1, 20) n;

CREATE VIEW raw_events.clicks_last_month AS SELECT * FROM raw_events.click_2026_11;
COMMENT ON VIEW raw_events.clicks_last_month IS 'The newest month of clicks.';
