-- +goose Up

-- The right edge of the tree lies beside its size: a leaf is added without a
-- look at the hashes before it.
alter table audit_head add column edge blob;

-- A position is the row's number: one tree of pages, not two.
create table audit_hashes_new (
	position integer primary key,
	hash     blob not null
);
insert into audit_hashes_new (position, hash) select position, hash from audit_hashes;
drop table audit_hashes;
alter table audit_hashes_new rename to audit_hashes;

-- Nobody looks an event up by its id.
create table audit_events_new (
	n          integer primary key autoincrement,
	id         text not null,
	account_id text not null,
	record_id  text not null,
	kind       text not null,
	created_at bigint not null,
	salt       blob,
	payload    blob,
	digest     blob not null,
	seq        bigint unique
);
insert into audit_events_new select n, id, account_id, record_id, kind, created_at, salt, payload, digest, seq from audit_events;
drop table audit_events;
alter table audit_events_new rename to audit_events;
create index audit_events_record on audit_events (record_id, n);
create index audit_events_pending on audit_events (n) where seq is null;
