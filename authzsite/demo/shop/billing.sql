CREATE SCHEMA billing;
COMMENT ON SCHEMA billing IS 'Invoices, payments and what is still owed.';

CREATE TABLE billing.invoices (
    invoice_no text PRIMARY KEY, order_id bigint NOT NULL, issued_on date NOT NULL, due_on date NOT NULL, net numeric(10, 2) NOT NULL, vat numeric(10, 2) NOT NULL);
COMMENT ON TABLE billing.invoices IS 'One invoice an order, kept for ten years.';
INSERT INTO billing.invoices
SELECT 'R26-' || lpad(n::text, 5, '0'), 100000 + n, date '2026-01-03' + n / 5, date '2026-01-17' + n / 5, 16 + n * 37 % 400, round((16 + n * 37 % 400) * 0.19, 2)
FROM generate_series(1, 600) n;

CREATE TABLE billing.payments (
    payment_id integer PRIMARY KEY, invoice_no text NOT NULL REFERENCES billing.invoices, paid_on date NOT NULL, method text NOT NULL, amount numeric(10, 2) NOT NULL);
COMMENT ON TABLE billing.payments IS 'Money received, as the bank reported it.';
INSERT INTO billing.payments
SELECT n, 'R26-' || lpad(n::text, 5, '0'), date '2026-01-06' + n / 5, (ARRAY['card','transfer','wallet'])[1 + n % 3], 19 + n * 37 % 480
FROM generate_series(1, 540) n;

CREATE TABLE billing.bank_accounts (
    iban text PRIMARY KEY, bank text NOT NULL, purpose text NOT NULL);
COMMENT ON TABLE billing.bank_accounts IS 'Accounts of the shop itself. Few people need this.';
INSERT INTO billing.bank_accounts VALUES
    ('DE02100100100006820101', 'Musterbank', 'daily business'), ('DE02300209000106531065', 'Musterbank', 'taxes'), ('AT026000000001349870', 'Alpenbank', 'Austria');

CREATE TABLE billing.dunning (
    invoice_no text NOT NULL REFERENCES billing.invoices, level smallint NOT NULL CHECK (level BETWEEN 1 AND 3), sent_on date NOT NULL, PRIMARY KEY (invoice_no, level));
COMMENT ON TABLE billing.dunning IS 'Reminders that were sent, up to three.';
INSERT INTO billing.dunning
SELECT 'R26-' || lpad((540 + n)::text, 5, '0'), level, date '2026-06-01' + n + level * 14 FROM generate_series(1, 30) n, generate_series(1, 2) level;

CREATE TABLE billing.tax_rates (country char(2) NOT NULL, category text NOT NULL, rate numeric(4, 3) NOT NULL, PRIMARY KEY (country, category));
COMMENT ON TABLE billing.tax_rates IS 'Value-added tax by country and category.';
INSERT INTO billing.tax_rates VALUES ('DE', 'full', 0.190), ('DE', 'reduced', 0.070), ('AT', 'full', 0.200), ('CH', 'full', 0.081), ('NL', 'full', 0.210), ('FR', 'full', 0.200), ('PL', 'full', 0.230);

CREATE TABLE billing.ledger (
    entry_id bigint PRIMARY KEY, booked_on date NOT NULL, account text NOT NULL, debit numeric(12, 2) NOT NULL, credit numeric(12, 2) NOT NULL, text text NOT NULL);
COMMENT ON TABLE billing.ledger IS 'The books. Written by the nightly load only.';
INSERT INTO billing.ledger
SELECT n, date '2026-01-03' + n / 4, (ARRAY['8400','1200','1776'])[1 + n % 3], CASE WHEN n % 2 = 0 THEN 20 + n % 90 ELSE 0 END, CASE WHEN n % 2 = 1 THEN 20 + n % 90 ELSE 0 END, 'order ' || 100000 + n
FROM generate_series(1, 400) n;

CREATE TABLE billing.credit_scores (customer_id integer PRIMARY KEY, score smallint NOT NULL, asked_on date NOT NULL, source text NOT NULL);
COMMENT ON TABLE billing.credit_scores IS 'Credit worthiness from an agency. Personal data of the strictest kind.';
INSERT INTO billing.credit_scores SELECT n, 300 + n * 53 % 550, date '2026-02-01' + n, 'agency' FROM generate_series(1, 120) n;

CREATE VIEW billing.open_invoices AS
    SELECT i.invoice_no, i.order_id, i.due_on, i.net + i.vat AS gross FROM billing.invoices i LEFT JOIN billing.payments p USING (invoice_no) WHERE p.payment_id IS NULL;
COMMENT ON VIEW billing.open_invoices IS 'What is still owed.';

CREATE VIEW billing.order_disputes AS
    SELECT invoice_no, max(level) AS level, max(sent_on) AS last_sent FROM billing.dunning GROUP BY invoice_no;
COMMENT ON VIEW billing.order_disputes IS 'Orders with an open reminder.';
