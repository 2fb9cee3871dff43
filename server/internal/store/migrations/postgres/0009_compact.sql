-- +goose Up

-- Rows without what follows from the rest, each with one index where it had two,
-- and numbers first: behind texts they would be padded.
alter table signature_files rename to signature_files_before;
alter table signature_files_before drop constraint signature_files_pkey;
drop index signature_files_signature, signature_files_blob;
create table signature_files (
	position     bigint  not null default 0,
	size         bigint  not null default 0,
	deleted_at   bigint  not null default 0,
	created_at   bigint  not null,
	validated    boolean not null default false, -- an input that is the validated document too
	signature_id text    not null,
	role         text    not null, -- input, validated, signed, image
	id           text    not null,
	source_type  text    not null default '',
	source       bytea, -- of a remote one not fetched yet: sealed request
	label        text    not null default '', -- the caller's name for it
	mimetype     text    not null default '',
	extension    text    not null default '',
	md5          bytea   not null default '',
	sha256       bytea   not null default '',
	name         text    not null default '', -- empty: that of its digest or, of what was signed, of its record
	blob         text    not null default '',
	primary key (signature_id, role, position)
);
insert into signature_files (signature_id, role, position, id, source_type, source, label, mimetype, extension, size, md5, sha256, name, blob, deleted_at, created_at)
	select signature_id, role, position, id, source_type, source, label, mimetype, extension, size, decode(md5, 'hex'), decode(sha256, 'hex'), name, blob, deleted_at, created_at
	from signature_files_before;
drop table signature_files_before;
create index signature_files_blob on signature_files (substr(blob, 1, 24)) where blob <> '';

alter table signing_intents rename to signing_intents_before;
alter table signing_intents_before drop constraint signing_intents_pkey;
drop index signing_intents_signature, signing_intents_open;
create table signing_intents (
	position       bigint not null,
	created_at     bigint not null,
	finished_at    bigint not null default 0,
	signature_id   text   not null,
	id             text   not null,
	account_id     text   not null,
	certificate_id text   not null,
	digest         bytea  not null,
	outcome        text   not null default '' -- '', USED, SIGNED, FAILED, UNKNOWN
);
insert into signing_intents (signature_id, id, account_id, certificate_id, position, digest, outcome, created_at, finished_at)
	select signature_id, id, account_id, certificate_id, position, decode(digest, 'hex'), outcome, created_at, finished_at from signing_intents_before;
drop table signing_intents_before;
create index signing_intents_signature on signing_intents (signature_id);
create index signing_intents_open on signing_intents (certificate_id) where outcome = '';

alter table wallet_transactions drop constraint wallet_transactions_pkey;
drop index wallet_transactions_account;
alter table wallet_transactions add primary key (account_id, id);

alter table charges rename to charges_before;
alter table charges_before drop constraint charges_pkey;
create table charges (
	count       bigint not null,
	free        bigint not null default 0,
	paid        bigint not null default 0,
	amount      bigint not null default 0,
	created_at  bigint not null,
	refunded_at bigint not null default 0,
	id          text   not null primary key,
	account_id  text   not null references accounts (id),
	token_id    text   not null,
	product     text   not null,
	day         text   not null,
	subscribed  text   not null default '',
	record_id   text   not null
);
insert into charges (id, account_id, token_id, product, count, day, free, subscribed, paid, amount, record_id, created_at, refunded_at)
	select id, account_id, token_id, product, count, day, free, subscribed, paid, amount, record_id, created_at, refunded_at from charges_before;
drop table charges_before;

-- These rows are written twice within a second or so, and then never again: with
-- the usual fifth of a table that may be dead before it is swept, a fifth of it
-- would stay empty.
alter table audit_events set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
alter table signatures set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
alter table signing_intents set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
