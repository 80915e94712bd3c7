-- What people did by hand over the years, before anybody kept a record: this is what discovery finds.

-- the right to connect means something only when not everybody has it
REVOKE CONNECT, TEMPORARY ON DATABASE shop_new FROM PUBLIC;
GRANT CONNECT ON DATABASE shop_new TO lakewarden, legacy_bi, nightly_load, report_readers, carl, mia, dora, tomas;

-- an old reporting tool
GRANT USAGE ON SCHEMA sales TO legacy_bi;
GRANT SELECT ON sales.orders, sales.customers TO legacy_bi;

-- the nightly load
GRANT USAGE ON SCHEMA sales, billing, raw_events TO nightly_load;
GRANT SELECT, INSERT, UPDATE ON sales.orders, sales.order_lines TO nightly_load;
GRANT SELECT, INSERT ON billing.ledger TO nightly_load;
GRANT SELECT, INSERT, DELETE ON raw_events.dead_letters TO nightly_load;

-- a role somebody made for reports; Noah is in it
GRANT USAGE ON SCHEMA marketing, stock TO report_readers;
GRANT SELECT ON marketing.cost_by_month, marketing.campaigns, stock.levels, stock.articles TO report_readers;

-- whoever reaches the schema may read this
GRANT SELECT ON stock.countries TO PUBLIC;

-- rights passed on: the grantor of the second grant is not the owner
GRANT USAGE ON SCHEMA crm TO dora, carl;
GRANT SELECT ON crm.contacts, crm.tickets TO dora WITH GRANT OPTION;
GRANT USAGE ON SCHEMA billing TO tomas, mia;
GRANT SELECT ON billing.invoices TO tomas WITH GRANT OPTION;
SET LOCAL ROLE dora;
GRANT SELECT ON crm.contacts, crm.tickets TO carl;
SET LOCAL ROLE tomas;
GRANT SELECT ON billing.invoices TO mia;
RESET ROLE;
