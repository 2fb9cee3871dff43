-- +goose Up

-- Credentials: the private key, sealed twice. The id is the certificate's.
create table credentials (
	id         text primary key,
	account_id text not null,
	username   text not null,
	kind       text not null,
	algorithm  text not null,
	public_key blob not null unique, -- one key pair serves one kind
	sealed     blob not null,
	totp       blob,
	totp_step  bigint not null default 0,
	created_at bigint not null,
	unique (account_id, username)
);

-- Failures by account and username, known or not.
create table credential_locks (
	id           text primary key,
	failures     bigint not null,
	day          bigint not null,
	day_failures bigint not null,
	locked_until bigint not null,
	hard         bigint not null
);

-- The embedded authority: its keys, and what it issued.
create table authority_keys (
	name        text primary key,
	sealed      blob not null,
	certificate blob,
	created_at  bigint not null
);

create table authority_issued (
	serial         text primary key,
	certificate_id text,
	certificate    blob not null,
	not_after      bigint not null,
	revoked_at     bigint not null default 0,
	reason         bigint not null default 0,
	created_at     bigint not null
);
create index authority_issued_revoked on authority_issued (revoked_at);

create table authority_crl (
	name        text primary key,
	number      bigint not null,
	crl         blob not null,
	this_update bigint not null,
	next_update bigint not null
);

-- Certificates bought.
create table certificates (
	id               text primary key,
	account_id       text not null,
	provider         text not null,
	kind             text not null,
	state            text not null,
	owner            text not null,
	custom_reference text not null default '',
	subject          text not null default '{}',
	identification   text not null,
	key_algorithm    text not null,
	validity_years   bigint not null,
	security_level   bigint not null,
	callback         blob,
	link             blob, -- the secret part of certificateLink, sealed
	link_purpose     text not null default 'identify',
	shown_at         bigint not null default 0,
	credentials_once blob, -- sealed until they were shown
	charge_id        text not null default '',
	serial           text not null default '',
	certificate      blob,
	chain            blob,
	subject_dn       text not null default '',
	issuer_dn        text not null default '',
	not_before       bigint not null default 0,
	not_after        bigint not null default 0,
	created_at       bigint not null,
	updated_at       bigint not null,
	expire_at        bigint not null
);
create index certificates_account on certificates (account_id, id);
create index certificates_state on certificates (state, not_after);

-- Evidence of who the holder is.
create table identifications (
	id             text primary key,
	certificate_id text not null,
	method         text not null,
	state          text not null, -- PENDING, APPROVED, REFUSED
	detail         blob, -- sealed JSON
	blobs          text not null default '[]',
	decided_by     text not null default '',
	reason         text not null default '',
	created_at     bigint not null,
	decided_at     bigint not null default 0
);
create index identifications_certificate on identifications (certificate_id, id);

-- Client certificates for mutual TLS.
create table client_certificates (
	id          text primary key,
	account_id  text not null,
	name        text not null,
	fingerprint text not null,
	subject     text not null,
	not_after   bigint not null,
	created_at  bigint not null,
	unique (account_id, fingerprint)
);

-- Signature records.
create table signatures (
	id               text primary key,
	account_id       text not null,
	token_id         text not null default '',
	request_id       text not null default '',
	caller_address   text not null default '',
	certificate_type text not null,
	certificate_id   text not null default '',
	state            text not null,
	signature_type   text not null default '',
	options          text not null default '{}',
	title            text not null default '',
	description      text not null default '',
	error_number     bigint not null default 0,
	error_message    text not null default '',
	achieved_level   text not null default '',
	secret           blob, -- password and what else must wait, sealed; gone at the end
	callback         blob, -- sealed
	charge_id        text not null default '',
	approval         text not null default '', -- '', WAITING, APPROVED, REFUSED
	lease_by         text not null default '', -- who is working on it
	lease_until      bigint not null default 0,
	approval_until   bigint not null default 0,
	approved_by      text not null default '',
	files_until      bigint not null default 0,
	evidence         text not null default '',
	deleted_at       bigint not null default 0,
	created_at       bigint not null,
	updated_at       bigint not null
);
create index signatures_account on signatures (account_id, id);
create index signatures_state on signatures (state, updated_at);
create index signatures_files on signatures (files_until);

create table signature_files (
	row_id       text primary key,
	id           text not null,
	signature_id text not null,
	role         text not null, -- input, validated, signed
	position     bigint not null default 0,
	source_type  text not null default '',
	source       blob, -- of a remote one not fetched yet: sealed request
	label        text not null default '', -- the caller's name for it
	mimetype     text not null default '',
	extension    text not null default '',
	size         bigint not null default 0,
	md5          text not null default '',
	sha256       text not null default '',
	name         text not null default '',
	blob         text not null default '',
	deleted_at   bigint not null default 0,
	created_at   bigint not null
);
create index signature_files_signature on signature_files (signature_id, role, position);
create index signature_files_blob on signature_files (blob);

-- One row before each use of a private key.
create table signing_intents (
	id             text primary key,
	signature_id   text not null,
	certificate_id text not null,
	position       bigint not null,
	digest         text not null,
	outcome        text not null default '', -- '', SIGNED, FAILED
	created_at     bigint not null,
	finished_at    bigint not null default 0
);
create index signing_intents_signature on signing_intents (signature_id, id);

-- The audit log. A leaf of the tree holds a digest of the payload, so that the
-- payload can be erased and the log still be verified.
create table audit_events (
	n          integer primary key autoincrement,
	id         text not null unique,
	account_id text not null,
	record_id  text not null,
	kind       text not null,
	created_at bigint not null,
	salt       blob,
	payload    blob,
	digest     blob not null,
	seq        bigint unique
);
create index audit_events_record on audit_events (record_id, n);
create index audit_events_pending on audit_events (n) where seq is null;

create table audit_hashes (
	position bigint primary key,
	hash     blob not null
);

create table audit_head (
	id   bigint primary key,
	size bigint not null
);
insert into audit_head (id, size) values (1, 0);

create table audit_checkpoints (
	size       bigint primary key,
	note       text not null,
	token      blob,
	created_at bigint not null
);

-- Callbacks.
create table callbacks (
	id           text primary key,
	account_id   text not null,
	scope        text not null,
	record_id    text not null,
	url          text not null,
	method       text not null,
	field        text not null,
	headers      blob, -- sealed
	custom       text not null default '',
	body         blob not null, -- sealed
	retry        bigint not null,
	settled      bigint not null default 0, -- attempts whose outcome is known
	webhook_id   text not null, -- the same when a message is sent again
	active       bigint not null default 1,
	status       bigint not null default 0,
	problem      text not null default '',
	elapsed      bigint not null default 0,
	started_at   bigint not null default 0,
	completed_at bigint not null default 0,
	created_at   bigint not null
);
create index callbacks_account on callbacks (account_id, id);
create index callbacks_record on callbacks (record_id);

create table callback_secrets (
	id         text primary key,
	account_id text not null,
	secret     blob not null,
	expires_at bigint not null default 0,
	created_at bigint not null
);
create index callback_secrets_account on callback_secrets (account_id, id);
