-- +goose Up

-- Rows without what follows from the rest, each with one index where it had two.
alter table signature_files
	alter column md5 drop default, alter column sha256 drop default,
	alter column md5 type bytea using decode(md5, 'hex'),
	alter column sha256 type bytea using decode(sha256, 'hex'),
	alter column md5 set default '', alter column sha256 set default '',
	add column validated boolean not null default false, -- an input that is the validated document too
	drop column row_id;
drop index signature_files_signature;
alter table signature_files add primary key (signature_id, role, position);

alter table signing_intents
	drop constraint signing_intents_pkey,
	alter column digest type bytea using decode(digest, 'hex');
drop index signing_intents_signature;
alter table signing_intents add primary key (signature_id, id);

alter table wallet_transactions drop constraint wallet_transactions_pkey;
drop index wallet_transactions_account;
alter table wallet_transactions add primary key (account_id, id);

-- These rows are written twice within a second or so, and then never again: with
-- the usual fifth of a table that may be dead before it is swept, a fifth of it
-- would stay empty.
alter table audit_events set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
alter table signatures set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
alter table signing_intents set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
