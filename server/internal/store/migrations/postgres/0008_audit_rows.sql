-- +goose Up

-- A row of the audit log has all events of one record that were written together:
-- kind has one word for each, seq is the place of the first. A row without an id is
-- of that form; its digests follow from its text until that is erased. Rows from
-- before stay as they are, with one event each. Numbers stand first: behind texts
-- they would be padded.
alter table audit_events rename to audit_events_before;
alter table audit_events_before drop constraint audit_events_pkey, drop constraint audit_events_seq_key;
drop index audit_events_record, audit_events_standing, audit_events_credential, audit_events_pending, audit_events_standing_seq;
create table audit_events (
	created_at bigint not null,
	base       bigint not null,
	seq        bigint unique,
	n          bigint default nextval('audit_arrival'), -- order of arrival, until it has a place
	mac        bytea not null,
	id         text not null default '',
	account_id text not null,
	record_id  text not null,
	kind       text not null,
	salt       bytea,
	digest     bytea not null,
	payload    bytea
);
insert into audit_events (created_at, base, seq, n, mac, id, account_id, record_id, kind, salt, digest, payload)
	select created_at, base, seq, n, mac, id, account_id, record_id, kind, salt, digest, payload from audit_events_before;
drop table audit_events_before;

-- A record has few rows, which are put in order when they are read. Equal keys are
-- stored once.
create index audit_events_record on audit_events (record_id);
create index audit_events_standing on audit_events (record_id) where kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed');
create index audit_events_standing_seq on audit_events (seq) where kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed');
create index audit_events_credential on audit_events (record_id, kind, seq) where kind in ('certificate-key', 'certificate-code');
-- What waits for its place is known by its arrival.
create unique index audit_events_pending on audit_events (n) where seq is null;
