-- +goose Up
create table accounts (
	id         text    not null primary key,
	email      text    not null unique,
	key_hash   bytea    not null,
	admin      boolean not null default false,
	sandbox    boolean not null default false,
	created_at bigint  not null
);

create table tokens (
	id                    text    not null primary key,
	account_id            text    not null references accounts (id),
	hash                  bytea    not null unique,
	refresh_hash          bytea    unique,
	last_four             text    not null,
	name                  text    not null default '',
	scopes                text    not null,
	addresses             text    not null default '',
	total_limit           bigint,
	wallet_limit          bigint,
	subscription_limit    bigint,
	amount_limit          bigint,
	expire_at             bigint  not null,
	created_at            bigint  not null,
	updated_at            bigint  not null,
	total_requests        bigint  not null default 0,
	wallet_requests       bigint  not null default 0,
	subscription_requests bigint  not null default 0,
	error_requests        bigint  not null default 0,
	wallet_amount         bigint  not null default 0
);
create index tokens_account on tokens (account_id, id);

create table wallets (
	account_id text   not null primary key references accounts (id),
	credit     bigint not null check (credit >= 0),
	created_at bigint not null,
	updated_at bigint not null
);

create table wallet_transactions (
	id          text   not null primary key,
	account_id  text   not null references accounts (id),
	amount      bigint not null,
	vat         bigint not null default 0,
	description text   not null,
	charge_id   text   not null default '',
	created_at  bigint not null
);
create index wallet_transactions_account on wallet_transactions (account_id, id);

create table subscriptions (
	id         text    not null primary key,
	account_id text    not null references accounts (id),
	scope      text    not null,
	method     text    not null,
	domain     text    not null,
	segment    text    not null,
	total      bigint  not null,
	available  bigint  not null check (available >= 0),
	price      bigint  not null,
	starts_at  bigint  not null,
	expires_at bigint  not null,
	created_at bigint  not null,
	updated_at bigint  not null
);
create index subscriptions_account on subscriptions (account_id, id);

create table quota_days (
	account_id text   not null,
	product    text   not null,
	day        text   not null,
	used       bigint not null,
	primary key (account_id, product, day)
);

create table charges (
	id              text   not null primary key,
	account_id      text   not null references accounts (id),
	token_id        text   not null,
	product         text   not null,
	count           bigint not null,
	day             text   not null,
	free            bigint not null default 0,
	subscribed      text   not null default '',
	paid            bigint not null default 0,
	amount          bigint not null default 0,
	record_id       text   not null,
	created_at      bigint not null,
	refunded_at     bigint not null default 0
);

create table meter_leases (
	id         text   not null primary key,
	account_id text   not null,
	product    text   not null,
	source     text   not null,
	source_id  text   not null,
	price      bigint not null,
	reserved   bigint not null,
	used       bigint not null,
	updated_at bigint not null
);
create index meter_leases_account on meter_leases (account_id);
create index meter_leases_updated on meter_leases (updated_at);

create table usage_days (
	account_id    text   not null,
	token_id      text   not null,
	day           text   not null,
	domain        text   not null,
	scope         text   not null,
	address       text   not null,
	requests      bigint not null default 0,
	errors        bigint not null default 0,
	free          bigint not null default 0,
	subscription  bigint not null default 0,
	wallet        bigint not null default 0,
	amount        bigint not null default 0,
	primary key (account_id, day, token_id, domain, scope, address)
);

create table request_errors (
	id         text   not null primary key,
	account_id text   not null,
	token_id   text   not null,
	scope      text   not null,
	domain     text   not null,
	status     bigint not null,
	code       bigint not null,
	message    text   not null,
	address    text   not null,
	created_at bigint not null
);
create index request_errors_account on request_errors (account_id, id);
create index request_errors_created on request_errors (created_at);
