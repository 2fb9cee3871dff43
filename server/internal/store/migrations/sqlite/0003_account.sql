-- +goose Up
create table accounts (
	id         text    not null primary key,
	email      text    not null unique,
	key_hash   blob    not null,
	admin      boolean not null default false,
	sandbox    boolean not null default false,
	created_at integer  not null
);

create table tokens (
	id                    text    not null primary key,
	account_id            text    not null references accounts (id),
	hash                  blob    not null unique,
	refresh_hash          blob    unique,
	last_four             text    not null,
	name                  text    not null default '',
	scopes                text    not null,
	addresses             text    not null default '',
	total_limit           integer,
	wallet_limit          integer,
	subscription_limit    integer,
	amount_limit          integer,
	expire_at             integer  not null,
	created_at            integer  not null,
	updated_at            integer  not null,
	total_requests        integer  not null default 0,
	wallet_requests       integer  not null default 0,
	subscription_requests integer  not null default 0,
	error_requests        integer  not null default 0,
	wallet_amount         integer  not null default 0
);
create index tokens_account on tokens (account_id, id);

create table wallets (
	account_id text   not null primary key references accounts (id),
	credit     integer not null check (credit >= 0),
	created_at integer not null,
	updated_at integer not null
);

create table wallet_transactions (
	id          text   not null primary key,
	account_id  text   not null references accounts (id),
	amount      integer not null,
	vat         integer not null default 0,
	description text   not null,
	charge_id   text   not null default '',
	created_at  integer not null
);
create index wallet_transactions_account on wallet_transactions (account_id, id);

create table subscriptions (
	id         text    not null primary key,
	account_id text    not null references accounts (id),
	scope      text    not null,
	method     text    not null,
	domain     text    not null,
	segment    text    not null,
	total      integer  not null,
	available  integer  not null check (available >= 0),
	price      integer  not null,
	starts_at  integer  not null,
	expires_at integer  not null,
	created_at integer  not null,
	updated_at integer  not null
);
create index subscriptions_account on subscriptions (account_id, id);

create table quota_days (
	account_id text   not null,
	product    text   not null,
	day        text   not null,
	used       integer not null,
	primary key (account_id, product, day)
) without rowid;

create table charges (
	id              text   not null primary key,
	account_id      text   not null references accounts (id),
	token_id        text   not null,
	product         text   not null,
	count           integer not null,
	day             text   not null,
	free            integer not null default 0,
	subscribed      text   not null default '',
	paid            integer not null default 0,
	amount          integer not null default 0,
	record_id       text   not null,
	created_at      integer not null,
	refunded_at     integer not null default 0
);

create table meter_leases (
	id         text   not null primary key,
	account_id text   not null,
	product    text   not null,
	source     text   not null,
	source_id  text   not null,
	price      integer not null,
	reserved   integer not null,
	used       integer not null,
	updated_at integer not null
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
	requests      integer not null default 0,
	errors        integer not null default 0,
	free          integer not null default 0,
	subscription  integer not null default 0,
	wallet        integer not null default 0,
	amount        integer not null default 0,
	primary key (account_id, day, token_id, domain, scope, address)
) without rowid;

create table request_errors (
	id         text   not null primary key,
	account_id text   not null,
	token_id   text   not null,
	scope      text   not null,
	domain     text   not null,
	status     integer not null,
	code       integer not null,
	message    text   not null,
	address    text   not null,
	created_at integer not null
);
create index request_errors_account on request_errors (account_id, id);
create index request_errors_created on request_errors (created_at);
