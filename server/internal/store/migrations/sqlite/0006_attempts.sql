-- +goose Up
-- Judgements of passwords and codes that have begun and are not settled yet.
create table credential_attempts (
	id       text primary key,
	lock_id  text not null, -- of credential_locks
	begun_at bigint not null
);
create index credential_attempts_lock on credential_attempts (lock_id);
