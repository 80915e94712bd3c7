CREATE SCHEMA sales;
COMMENT ON SCHEMA sales IS 'Orders of the web shop, from the basket to the return.';

CREATE TABLE sales.customers (
    customer_id integer PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE, country char(2) NOT NULL,
    registered_on date NOT NULL, newsletter boolean NOT NULL DEFAULT false);
COMMENT ON TABLE sales.customers IS 'Everybody who ever ordered; one row a person.';
COMMENT ON COLUMN sales.customers.email IS 'Personal data: the address they confirmed.';
INSERT INTO sales.customers
SELECT n, given[1 + n % 12] || ' ' || family[1 + n / 3 % 11], lower(given[1 + n % 12]) || n || '@example.org',
       (ARRAY['DE','AT','CH','NL','FR','PL'])[1 + n % 6], date '2023-01-05' + n * 7, n % 3 = 0
FROM generate_series(1, 120) n, (SELECT ARRAY['Ada','Bruno','Chiara','Dora','Emil','Freya','Goran','Hanna','Ivo','Jana','Karim','Lotte'] AS given,
     ARRAY['Adler','Bach','Conti','Dumas','Egger','Fuchs','Gruber','Hoffmann','Ilves','Jensen','Kowalski'] AS family) names;

CREATE TABLE sales.channels (
    channel_code text PRIMARY KEY, label text NOT NULL, opened_on date NOT NULL);
COMMENT ON TABLE sales.channels IS 'Where an order can come from.';
INSERT INTO sales.channels VALUES
    ('web', 'Web shop', '2019-03-01'), ('app', 'Mobile app', '2021-06-15'), ('phone', 'By telephone', '2019-03-01'),
    ('store', 'Store pickup', '2022-09-01'), ('market', 'Marketplace', '2024-02-01');

CREATE TABLE sales.orders (
    order_id bigint PRIMARY KEY, customer_id integer NOT NULL REFERENCES sales.customers,
    channel_code text NOT NULL REFERENCES sales.channels, ordered_at timestamptz NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'paid', 'shipped', 'returned', 'cancelled')),
    total numeric(10, 2) NOT NULL, currency char(3) NOT NULL DEFAULT 'EUR', note text);
COMMENT ON TABLE sales.orders IS 'One row for each order of the web shop, loaded every night.';
COMMENT ON COLUMN sales.orders.total IS 'Gross amount with shipping, in the currency of the order.';
COMMENT ON COLUMN sales.orders.note IS 'What the customer wrote; may hold personal data.';
INSERT INTO sales.orders
SELECT 100000 + n, 1 + n * 7 % 120, (ARRAY['web','app','web','store','market','phone'])[1 + n % 6],
       timestamptz '2026-01-02 08:00+00' + n * interval '5 hours 13 minutes',
       (ARRAY['shipped','shipped','paid','open','shipped','returned','cancelled'])[1 + n % 7],
       (19 + n * 37 % 480)::numeric + 0.99, 'EUR', CASE WHEN n % 17 = 0 THEN 'Please ring twice' END
FROM generate_series(1, 600) n;

CREATE TABLE sales.order_lines (
    order_id bigint NOT NULL REFERENCES sales.orders, line_no smallint NOT NULL, sku text NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0), unit_price numeric(10, 2) NOT NULL, discount numeric(4, 3) NOT NULL DEFAULT 0,
    PRIMARY KEY (order_id, line_no));
COMMENT ON TABLE sales.order_lines IS 'What was ordered, one row an article.';
INSERT INTO sales.order_lines
SELECT 100000 + n, line, 'SKU-' || lpad((1 + (n * 13 + line * 29) % 90)::text, 4, '0'), 1 + (n + line) % 3, 9.5 + (n * line) % 120,
       CASE WHEN n % 9 = 0 THEN 0.1 ELSE 0 END
FROM generate_series(1, 600) n, generate_series(1, 2) line;

CREATE TABLE sales.refunds (
    refund_id integer PRIMARY KEY, order_id bigint NOT NULL REFERENCES sales.orders, amount numeric(10, 2) NOT NULL,
    reason text NOT NULL, refunded_on date NOT NULL);
COMMENT ON TABLE sales.refunds IS 'Money given back.';
INSERT INTO sales.refunds
SELECT n, 100000 + n * 7 - 2, 15 + n % 60, (ARRAY['wrong size','damaged','late','changed my mind'])[1 + n % 4], date '2026-01-20' + n * 3
FROM generate_series(1, 60) n;

CREATE TABLE sales.returns (
    return_id integer PRIMARY KEY, order_id bigint NOT NULL REFERENCES sales.orders, received_on date, condition text NOT NULL);
COMMENT ON TABLE sales.returns IS 'Parcels that came back, with their condition.';
INSERT INTO sales.returns
SELECT n, 100000 + n * 7 - 2, date '2026-01-18' + n * 3, (ARRAY['as new','opened','worn'])[1 + n % 3] FROM generate_series(1, 60) n;

CREATE TABLE sales.baskets (
    basket_id uuid PRIMARY KEY, customer_id integer REFERENCES sales.customers, changed_at timestamptz NOT NULL, items integer NOT NULL);
COMMENT ON TABLE sales.baskets IS 'Baskets that were not ordered yet.';
INSERT INTO sales.baskets
SELECT md5('basket' || n)::uuid, CASE WHEN n % 4 > 0 THEN 1 + n % 120 END, timestamptz '2026-11-01 10:00+00' + n * interval '47 minutes', 1 + n % 6
FROM generate_series(1, 80) n;

CREATE TABLE sales.vouchers (
    voucher_code text PRIMARY KEY, value numeric(8, 2) NOT NULL, valid_until date NOT NULL, redeemed_by bigint REFERENCES sales.orders);
COMMENT ON TABLE sales.vouchers IS 'Vouchers given out; a redeemed one names its order.';
INSERT INTO sales.vouchers
SELECT 'V' || upper(substr(md5('voucher' || n), 1, 8)), 5 * (1 + n % 5), date '2026-12-31' + n, CASE WHEN n % 2 = 0 THEN 100000 + n END
FROM generate_series(1, 50) n;

CREATE TABLE sales.price_lists (
    price_list text NOT NULL, sku text NOT NULL, price numeric(10, 2) NOT NULL, valid_from date NOT NULL,
    PRIMARY KEY (price_list, sku, valid_from));
COMMENT ON TABLE sales.price_lists IS 'Net prices by list and day.';
INSERT INTO sales.price_lists
SELECT list, 'SKU-' || lpad(n::text, 4, '0'), 7.5 + n * 11 % 130, date '2026-01-01'
FROM generate_series(1, 90) n, unnest(ARRAY['retail', 'trade']) list;

CREATE TABLE sales.shipping_methods (
    method_code text PRIMARY KEY, carrier text NOT NULL, days smallint NOT NULL, fee numeric(6, 2) NOT NULL);
COMMENT ON TABLE sales.shipping_methods IS 'How a parcel travels and what it costs.';
INSERT INTO sales.shipping_methods VALUES
    ('std', 'Gelbpost', 3, 4.90), ('express', 'Gelbpost', 1, 12.50), ('bulky', 'Spedition Nord', 6, 29.00), ('pickup', 'none', 0, 0);

CREATE TABLE sales.shipments (
    shipment_id integer PRIMARY KEY, order_id bigint NOT NULL REFERENCES sales.orders, method_code text NOT NULL REFERENCES sales.shipping_methods,
    shipped_at timestamptz NOT NULL, tracking text NOT NULL);
COMMENT ON TABLE sales.shipments IS 'Parcels that left the house.';
INSERT INTO sales.shipments
SELECT n, 100000 + n, (ARRAY['std','express','std','pickup'])[1 + n % 4], timestamptz '2026-01-03 15:00+00' + n * interval '5 hours 13 minutes',
       'GP' || lpad((n * 7919 % 100000000)::text, 10, '0')
FROM generate_series(1, 420) n;

CREATE TABLE sales.targets (
    month date PRIMARY KEY, revenue numeric(12, 2) NOT NULL, approved_by text NOT NULL);
COMMENT ON TABLE sales.targets IS 'Revenue goals; confidential until the quarter is reported.';
INSERT INTO sales.targets SELECT date '2026-01-01' + (n || ' months')::interval, 180000 + n * 4500, 'm.malik' FROM generate_series(0, 11) n;

CREATE TABLE sales.orders_2024 (LIKE sales.orders INCLUDING ALL);
COMMENT ON TABLE sales.orders_2024 IS 'Orders of 2024, closed.';
INSERT INTO sales.orders_2024
SELECT 60000 + n, 1 + n % 120, 'web', timestamptz '2024-01-04 09:00+00' + n * interval '41 hours', 'shipped', 25 + n % 300, 'EUR', NULL
FROM generate_series(1, 150) n;

CREATE TABLE sales.orders_2025 (LIKE sales.orders INCLUDING ALL);
COMMENT ON TABLE sales.orders_2025 IS 'Orders of 2025, closed.';
INSERT INTO sales.orders_2025
SELECT 80000 + n, 1 + n % 120, 'app', timestamptz '2025-01-03 09:00+00' + n * interval '38 hours', 'shipped', 28 + n % 310, 'EUR', NULL
FROM generate_series(1, 150) n;

CREATE VIEW sales.open_orders AS
    SELECT order_id, customer_id, ordered_at, total FROM sales.orders WHERE status IN ('open', 'paid');
COMMENT ON VIEW sales.open_orders IS 'Orders that still have to be shipped.';

CREATE VIEW sales.revenue_by_month AS
    SELECT date_trunc('month', ordered_at)::date AS month, count(*) AS orders, sum(total) AS revenue
    FROM sales.orders WHERE status <> 'cancelled' GROUP BY 1;
COMMENT ON VIEW sales.revenue_by_month IS 'Revenue without cancelled orders, by month of ordering.';

CREATE VIEW sales.customers_masked AS
    SELECT customer_id, left(name, 1) || '.' AS initial, country, registered_on FROM sales.customers;
COMMENT ON VIEW sales.customers_masked IS 'Customers without what identifies them.';
