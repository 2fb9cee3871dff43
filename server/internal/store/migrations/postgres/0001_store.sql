-- +goose Up
create table data_keys (
	id         bigint not null primary key,
	wrapped    bytea  not null,
	master_id  text   not null,
	created_at bigint not null
);

create table idempotency (
	account_id    text   not null,
	key           text   not null,
	digest        bytea  not null,
	record_id     text   not null,
	answer        bytea,
	running_until bigint not null default 0,
	created_at    bigint not null,
	primary key (account_id, key)
);
create index idempotency_created on idempotency (created_at);
