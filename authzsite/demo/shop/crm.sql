CREATE SCHEMA crm;
COMMENT ON SCHEMA crm IS 'What customers told us, and what we answered.';

CREATE TABLE crm.contacts (
    contact_id integer PRIMARY KEY, customer_id integer, phone text, preferred text NOT NULL, language char(2) NOT NULL);
COMMENT ON TABLE crm.contacts IS 'Ways to reach a customer. Personal data.';
INSERT INTO crm.contacts
SELECT n, n, '+49 30 ' || 100000 + n * 733, (ARRAY['mail','phone','chat'])[1 + n % 3], (ARRAY['de','en','fr'])[1 + n % 3] FROM generate_series(1, 120) n;

CREATE TABLE crm.tickets (
    ticket_id integer PRIMARY KEY, contact_id integer NOT NULL REFERENCES crm.contacts, opened_at timestamptz NOT NULL, subject text NOT NULL, state text NOT NULL);
COMMENT ON TABLE crm.tickets IS 'Questions and complaints.';
INSERT INTO crm.tickets
SELECT n, 1 + n % 120, timestamptz '2026-03-01 09:00+00' + n * interval '9 hours', (ARRAY['Where is my parcel?','Wrong invoice','Return label','Size advice'])[1 + n % 4], (ARRAY['open','waiting','closed'])[1 + n % 3]
FROM generate_series(1, 200) n;

CREATE TABLE crm.messages (
    message_id integer PRIMARY KEY, ticket_id integer NOT NULL REFERENCES crm.tickets, sent_at timestamptz NOT NULL, from_us boolean NOT NULL, body text NOT NULL);
COMMENT ON TABLE crm.messages IS 'The letters of a ticket, word for word.';
INSERT INTO crm.messages
SELECT n, 1 + n % 200, timestamptz '2026-03-01 10:00+00' + n * interval '4 hours', n % 2 = 0, CASE WHEN n % 2 = 0 THEN 'We are looking into it.' ELSE 'Hello, could you please help me?' END
FROM generate_series(1, 300) n;

CREATE TABLE crm.consents (customer_id integer NOT NULL, purpose text NOT NULL, given_on date NOT NULL, withdrawn_on date, PRIMARY KEY (customer_id, purpose));
COMMENT ON TABLE crm.consents IS 'Who agreed to what, and since when no longer.';
INSERT INTO crm.consents
SELECT n, purpose, date '2025-05-01' + n, CASE WHEN n % 11 = 0 THEN date '2026-05-01' + n END FROM generate_series(1, 120) n, unnest(ARRAY['newsletter', 'profiling']) purpose;

CREATE TABLE crm.satisfaction (ticket_id integer PRIMARY KEY REFERENCES crm.tickets, stars smallint NOT NULL CHECK (stars BETWEEN 1 AND 5), comment text);
COMMENT ON TABLE crm.satisfaction IS 'Stars given when a ticket was closed.';
INSERT INTO crm.satisfaction SELECT n, 1 + n * 3 % 5, NULL FROM generate_series(1, 90) n;

CREATE TABLE crm.segments (segment text PRIMARY KEY, rule text NOT NULL);
COMMENT ON TABLE crm.segments IS 'Groups of customers that are spoken to alike.';
INSERT INTO crm.segments VALUES ('new', 'first order within 60 days'), ('loyal', 'five orders or more'), ('sleeping', 'no order for a year');

CREATE VIEW crm.open_tickets AS SELECT ticket_id, opened_at, subject FROM crm.tickets WHERE state <> 'closed';
COMMENT ON VIEW crm.open_tickets IS 'Tickets that wait, without who asked.';
