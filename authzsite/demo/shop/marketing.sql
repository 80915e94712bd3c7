CREATE SCHEMA marketing;
COMMENT ON SCHEMA marketing IS 'Campaigns and what they cost and brought.';

CREATE TABLE marketing.campaigns (
    campaign_id integer PRIMARY KEY, name text NOT NULL, channel text NOT NULL, starts_on date NOT NULL, ends_on date NOT NULL, budget numeric(10, 2) NOT NULL);
COMMENT ON TABLE marketing.campaigns IS 'Planned and finished campaigns.';
INSERT INTO marketing.campaigns
SELECT n, (ARRAY['Spring sale','Back to school','Black week','Winter lights'])[1 + n % 4] || ' ' || 2023 + n / 4, (ARRAY['mail','search','social'])[1 + n % 3], date '2023-03-01' + n * 80, date '2023-03-15' + n * 80, 2000 + n * 350
FROM generate_series(1, 16) n;

CREATE TABLE marketing.newsletter (email text PRIMARY KEY, topic text NOT NULL, subscribed_on date NOT NULL, confirmed boolean NOT NULL);
COMMENT ON TABLE marketing.newsletter IS 'Subscribers. Personal data.';
INSERT INTO marketing.newsletter SELECT 'reader' || n || '@example.org', (ARRAY['offers','stories'])[1 + n % 2], date '2024-01-01' + n * 5, n % 8 > 0 FROM generate_series(1, 150) n;

CREATE TABLE marketing.ad_spend (day date NOT NULL, network text NOT NULL, clicks integer NOT NULL, cost numeric(8, 2) NOT NULL, PRIMARY KEY (day, network));
COMMENT ON TABLE marketing.ad_spend IS 'Clicks and cost by day and network.';
INSERT INTO marketing.ad_spend SELECT date '2026-08-01' + n, network, 40 + n * 17 % 90, 12 + n * 7 % 40 FROM generate_series(0, 89) n, unnest(ARRAY['search', 'social']) network;

CREATE TABLE marketing.influencers (handle text PRIMARY KEY, followers integer NOT NULL, fee numeric(8, 2), contract_until date);
COMMENT ON TABLE marketing.influencers IS 'Partners and their fees. Confidential.';
INSERT INTO marketing.influencers SELECT '@partner_' || n, 1000 * n * n, 150 * n, date '2027-01-31' FROM generate_series(1, 12) n;

CREATE TABLE marketing.ab_tests (test text NOT NULL, variant char(1) NOT NULL, visitors integer NOT NULL, orders integer NOT NULL, PRIMARY KEY (test, variant));
COMMENT ON TABLE marketing.ab_tests IS 'Trials on the web shop, by variant.';
INSERT INTO marketing.ab_tests SELECT test, variant, 4000 + length(test) * 37, 120 + ascii(variant) FROM unnest(ARRAY['checkout button', 'free returns', 'big photos']) test, unnest(ARRAY['A', 'B']) variant;

CREATE VIEW marketing.cost_by_month AS SELECT date_trunc('month', day)::date AS month, network, sum(cost) AS cost FROM marketing.ad_spend GROUP BY 1, 2;
COMMENT ON VIEW marketing.cost_by_month IS 'Advertising cost by month and network.';
