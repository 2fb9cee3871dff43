-- +goose Up

-- A row of the audit log has all events of one record that were written together:
-- kind has one word for each, seq is the place of the first. A row without an id is
-- of that form; its digests follow from its text until that is erased. Rows from
-- before stay as they are, with one event each.

-- A record has few rows, which are put in order when they are read.
drop index audit_events_record;
create index audit_events_record on audit_events (record_id);
