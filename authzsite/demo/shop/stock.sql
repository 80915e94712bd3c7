CREATE SCHEMA stock;
COMMENT ON SCHEMA stock IS 'Articles, warehouses and purchasing.';

CREATE TABLE stock.countries (country char(2) PRIMARY KEY, name text NOT NULL);
COMMENT ON TABLE stock.countries IS 'Countries we deliver to.';
INSERT INTO stock.countries VALUES ('DE', 'Germany'), ('AT', 'Austria'), ('CH', 'Switzerland'), ('NL', 'Netherlands'), ('FR', 'France'), ('PL', 'Poland');

CREATE TABLE stock.articles (sku text PRIMARY KEY, title text NOT NULL, category text NOT NULL, weight_g integer NOT NULL, active boolean NOT NULL);
COMMENT ON TABLE stock.articles IS 'What can be bought.';
INSERT INTO stock.articles
SELECT 'SKU-' || lpad(n::text, 4, '0'), (ARRAY['Lantern','Tent','Mug','Rucksack','Compass','Blanket'])[1 + n % 6] || ' no. ' || n, (ARRAY['light','sleep','kitchen','carry','find','sleep'])[1 + n % 6], 80 + n * 43 % 2000, n % 15 > 0
FROM generate_series(1, 90) n;

CREATE TABLE stock.warehouses (warehouse text PRIMARY KEY, city text NOT NULL, country char(2) NOT NULL REFERENCES stock.countries);
COMMENT ON TABLE stock.warehouses IS 'Where articles lie.';
INSERT INTO stock.warehouses VALUES ('BER', 'Berlin', 'DE'), ('VIE', 'Vienna', 'AT'), ('RTM', 'Rotterdam', 'NL');

CREATE TABLE stock.levels (warehouse text NOT NULL REFERENCES stock.warehouses, sku text NOT NULL REFERENCES stock.articles, pieces integer NOT NULL, counted_on date NOT NULL, PRIMARY KEY (warehouse, sku));
COMMENT ON TABLE stock.levels IS 'Pieces on the shelf at the last count.';
INSERT INTO stock.levels SELECT warehouse, sku, ascii(right(sku, 1)) * 3 % 80, date '2026-11-01' FROM stock.warehouses, stock.articles;

CREATE TABLE stock.suppliers (supplier_id integer PRIMARY KEY, name text NOT NULL, country char(2) NOT NULL, rating smallint);
COMMENT ON TABLE stock.suppliers IS 'Who we buy from.';
INSERT INTO stock.suppliers SELECT n, 'Supplier ' || chr(64 + n) || ' Ltd', (ARRAY['DE','PL','NL'])[1 + n % 3], 1 + n % 5 FROM generate_series(1, 14) n;

CREATE TABLE stock.purchase_orders (po_no integer PRIMARY KEY, supplier_id integer NOT NULL REFERENCES stock.suppliers, placed_on date NOT NULL, arrives_on date);
COMMENT ON TABLE stock.purchase_orders IS 'What we ordered from suppliers.';
INSERT INTO stock.purchase_orders SELECT n, 1 + n % 14, date '2026-02-01' + n * 4, date '2026-02-21' + n * 4 FROM generate_series(1, 60) n;

CREATE TABLE stock.purchase_order_lines (po_no integer NOT NULL REFERENCES stock.purchase_orders, sku text NOT NULL REFERENCES stock.articles, pieces integer NOT NULL, unit_cost numeric(8, 2) NOT NULL, PRIMARY KEY (po_no, sku));
COMMENT ON TABLE stock.purchase_order_lines IS 'Articles of a purchase order, with what we pay. Confidential.';
INSERT INTO stock.purchase_order_lines SELECT po, 'SKU-' || lpad((1 + (po * 7 + n * 11) % 90)::text, 4, '0'), 10 * n, 3 + po % 40 FROM generate_series(1, 60) po, generate_series(1, 3) n;

CREATE TABLE stock.movements (movement_id bigint PRIMARY KEY, sku text NOT NULL, warehouse text NOT NULL, pieces integer NOT NULL, moved_at timestamptz NOT NULL);
COMMENT ON TABLE stock.movements IS 'Every piece that came or went.';
INSERT INTO stock.movements SELECT n, 'SKU-' || lpad((1 + n % 90)::text, 4, '0'), (ARRAY['BER','VIE','RTM'])[1 + n % 3], n % 9 - 4, timestamptz '2026-10-01 06:00+00' + n * interval '13 minutes' FROM generate_series(1, 400) n;

CREATE VIEW stock.to_reorder AS SELECT sku, sum(pieces) AS pieces FROM stock.levels GROUP BY sku HAVING sum(pieces) < 60;
COMMENT ON VIEW stock.to_reorder IS 'Articles that run out.';
