-- +goose Up
create table data_keys (
	id         integer not null primary key,
	wrapped    blob    not null,
	master_id  text    not null,
	created_at integer not null
);

create table idempotency (
	account_id    text    not null,
	key           text    not null,
	digest        blob    not null,
	record_id     text    not null,
	answer        blob,
	running_until integer not null default 0,
	created_at    integer not null,
	primary key (account_id, key)
) without rowid;
create index idempotency_created on idempotency (created_at);
