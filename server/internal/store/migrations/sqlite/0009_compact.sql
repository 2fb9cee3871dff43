-- +goose Up

-- Rows without what follows from the rest, each in one tree where it had two.
drop index signature_files_signature;
drop index signature_files_blob;
alter table signature_files rename to signature_files_before;
create table signature_files (
	signature_id text    not null,
	role         text    not null, -- input, validated, signed, image
	position     bigint  not null default 0,
	id           text    not null,
	validated    boolean not null default false, -- an input that is the validated document too
	source_type  text    not null default '',
	source       blob, -- of a remote one not fetched yet: sealed request
	label        text    not null default '', -- the caller's name for it
	mimetype     text    not null default '',
	extension    text    not null default '',
	size         bigint  not null default 0,
	md5          blob    not null default x'',
	sha256       blob    not null default x'',
	name         text    not null default '', -- empty: that of its digest or, of what was signed, of its record
	blob         text    not null default '',
	deleted_at   bigint  not null default 0,
	created_at   bigint  not null,
	primary key (signature_id, role, position)
) without rowid;
insert into signature_files (signature_id, role, position, id, source_type, source, label, mimetype, extension, size, md5, sha256, name, blob, deleted_at, created_at)
	select signature_id, role, position, id, source_type, source, label, mimetype, extension, size, coalesce(unhex(md5), x''), coalesce(unhex(sha256), x''), name, blob, deleted_at, created_at
	from signature_files_before;
drop table signature_files_before;
create index signature_files_blob on signature_files (substr(blob, 1, 24)) where blob <> '';

drop index signing_intents_signature;
drop index signing_intents_open;
alter table signing_intents rename to signing_intents_before;
create table signing_intents (
	signature_id   text   not null,
	id             text   not null,
	account_id     text   not null,
	certificate_id text   not null,
	position       bigint not null,
	digest         blob   not null,
	outcome        text   not null default '', -- '', USED, SIGNED, FAILED, UNKNOWN
	created_at     bigint not null,
	finished_at    bigint not null default 0,
	primary key (signature_id, id)
) without rowid;
insert into signing_intents (signature_id, id, account_id, certificate_id, position, digest, outcome, created_at, finished_at)
	select signature_id, id, account_id, certificate_id, position, coalesce(unhex(digest), x''), outcome, created_at, finished_at from signing_intents_before;
drop table signing_intents_before;
create index signing_intents_open on signing_intents (certificate_id) where outcome = '';

drop index wallet_transactions_account;
alter table wallet_transactions rename to wallet_transactions_before;
create table wallet_transactions (
	account_id  text    not null references accounts (id),
	id          text    not null,
	amount      integer not null,
	vat         integer not null default 0,
	description text    not null,
	charge_id   text    not null default '',
	created_at  integer not null,
	primary key (account_id, id)
) without rowid;
insert into wallet_transactions (account_id, id, amount, vat, description, charge_id, created_at)
	select account_id, id, amount, vat, description, charge_id, created_at from wallet_transactions_before;
drop table wallet_transactions_before;

alter table charges rename to charges_before;
create table charges (
	id          text    not null primary key,
	account_id  text    not null references accounts (id),
	token_id    text    not null,
	product     text    not null,
	count       integer not null,
	day         text    not null,
	free        integer not null default 0,
	subscribed  text    not null default '',
	paid        integer not null default 0,
	amount      integer not null default 0,
	record_id   text    not null,
	created_at  integer not null,
	refunded_at integer not null default 0
) without rowid;
insert into charges select * from charges_before;
drop table charges_before;
