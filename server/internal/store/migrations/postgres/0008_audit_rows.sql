-- +goose Up

-- A row of the audit log has all events of one record that were written together:
-- kind has one word for each, seq is the place of the first. A row without an id is
-- of that form; its digests follow from its text until that is erased. Rows from
-- before stay as they are, with one event each.
alter table audit_events drop constraint audit_events_pkey;

-- What waits for its place is known by its arrival.
drop index audit_events_pending;
create unique index audit_events_pending on audit_events (n) where seq is null;
