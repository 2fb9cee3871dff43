-- In the words of PostgreSQL; migrate.go has those of SQLite. A line that begins with the name of
-- an engine is for it alone.
--
-- Numbers stand first in the tables of many rows: behind texts they would be padded. Columns
-- that change stand side by side: of a row that is updated the log has only what lies between
-- the first byte that differs and the last.

-- The store itself: whether it takes writes, the data key, and the keys of idempotent calls.
create table pulse (
	id bigint not null primary key,
	at bigint not null
);

create table data_keys (
	id        bigint not null primary key,
	wrapped   bytea  not null,
	master_id text   not null
);

create table idempotency (
	account_id    text   not null,
	key           text   not null,
	digest        bytea  not null,
	record_id     text   not null,
	answer        bytea,
	running_until bigint not null default 0,
	holder        text   not null default '', -- of a call that has no record yet
	created_at    bigint not null,
	primary key (account_id, key)
) without rowid;
create index idempotency_created on idempotency (created_at);

-- Accounts, tokens, money.
create table accounts (
	id         text    not null primary key,
	email      text    not null unique,
	key_hash   bytea   not null,
	admin      boolean not null default false,
	sandbox    boolean not null default false,
	quota      text    not null default '', -- what may be made in a day or a month; empty: no bound
	created_at bigint  not null,
	mac        bytea   not null -- keyed digest of the row
);

create table tokens (
	id                    text    not null primary key,
	account_id            text    not null references accounts (id),
	hash                  bytea   not null unique,
	refresh_hash          bytea   unique,
	parent_id             text    references tokens (id) on delete cascade on update cascade,
	line_id               text    not null unique,
	line_until            bigint  not null,
	life                  bigint  not null,
	last_four             text    not null,
	name                  text    not null default '',
	scopes                text    not null,
	addresses             text    not null default '',
	addresses_given       boolean not null default false, -- by the API key or the operator, and not by a token
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
	wallet_amount         bigint  not null default 0,
	mac                   bytea   not null -- keyed digest of what the token is and may do
);
create index tokens_account on tokens (account_id, id);
create index tokens_parent on tokens (parent_id);

-- Refresh tokens that were used, and the tokens that they replaced.
create table spent_tokens (
	refresh_hash bytea  not null primary key,
	token_id     text   not null,
	account_id   text   not null,
	line_id      text   not null,
	spent_at     bigint not null,
	mac          bytea  not null -- keyed digest: which line a token was of
);
create index spent_tokens_token on spent_tokens (token_id);
create index spent_tokens_spent on spent_tokens (spent_at);

create table wallets (
	account_id text   not null primary key references accounts (id),
	credit     bigint not null check (credit between 0 and 2000000000000000),
	created_at bigint not null,
	updated_at bigint not null
);

-- A movement of a wallet. One that a call was charged with says what for and how it
-- was paid, free ones and those of subscriptions too, which move no money. Once the
-- record that it paid for is gone, that is null. Its account is no reference: each
-- charge would lock, and log, the row of the account.
create table wallet_transactions (
	amount      bigint not null, -- that moved; spending is below zero
	vat         bigint not null default 0,
	created_at  bigint not null,
	count       bigint default 0, -- what the charge pays for, in all
	free        bigint default 0, -- of these
	paid        bigint default 0, -- of these, with money
	taken       bigint default 0, -- the money
	refunded_at bigint default 0,
	id          text   not null primary key,
	account_id  text   not null,
	description text   not null,
	charge_id   text   default '', -- that a later movement belongs to
	token_id    text   default '',
	product     text   default '', -- empty: it is no charge
	subscribed  text   default '', -- what subscriptions paid
	record_id   text   default ''
) without rowid;
create index wallet_transactions_account on wallet_transactions (account_id, id) where amount <> 0;

create table subscriptions (
	id         text   not null primary key,
	account_id text   not null references accounts (id),
	scope      text   not null,
	method     text   not null,
	domain     text   not null,
	segment    text   not null,
	total      bigint not null,
	available  bigint not null check (available >= 0),
	price      bigint not null,
	starts_at  bigint not null,
	expires_at bigint not null,
	created_at bigint not null,
	updated_at bigint not null
);
create index subscriptions_account on subscriptions (account_id, id);

create table quota_days (
	account_id text   not null,
	product    text   not null,
	day        text   not null,
	used       bigint not null,
	primary key (account_id, product, day)
) without rowid;

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
	account_id   text   not null,
	token_id     text   not null,
	day          text   not null,
	domain       text   not null,
	scope        text   not null,
	address      text   not null,
	requests     bigint not null default 0,
	errors       bigint not null default 0,
	free         bigint not null default 0,
	subscription bigint not null default 0,
	wallet       bigint not null default 0,
	amount       bigint not null default 0,
	primary key (account_id, day, token_id, domain, scope, address)
) without rowid;

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

-- Publications of real-estate quotations that every node serves: the index
-- file is a blob. One row a semester; id is the digest of the index.
create table omi_publications (
	semester   text   not null primary key,
	id         text   not null,
	blob_id    text   not null,
	size       bigint not null,
	created_at bigint not null
);

-- The semester chosen to be active; no row: the newest.
create table omi_active (
	one        integer not null primary key check (one = 1),
	semester   text    not null,
	changed_at bigint  not null
);

-- Credentials: the private key, sealed twice. The id is the certificate's.
create table credentials (
	id           text   primary key,
	account_id   text   not null,
	username     text   not null,
	kind         text   not null,
	algorithm    text   not null,
	public_key   bytea  not null,
	sealed       bytea  not null,
	totp         bytea,
	totp_step    bigint not null default 0,
	level        bigint not null default 0, -- of security; the key is bound to it
	token_key    text   not null default '', -- names the key in the PKCS#11 token, while it is there
	remote       text   not null default '', -- provider that has the key; '-': it has it no more for us
	remote_token bytea, -- of the holder there, sealed under what the password opens
	created_at   bigint not null,
	unique (account_id, username)
);
-- One key pair serves one kind. One at a provider may be taken into use again.
create unique index credentials_public_key on credentials (public_key) where remote <> '-';

-- Failures by account and username, known or not.
create table credential_locks (
	id           text   primary key,
	failures     bigint not null,
	day          bigint not null,
	day_failures bigint not null,
	locked_until bigint not null,
	hard         bigint not null
);

-- Judgements of passwords and codes that have begun and are not settled yet.
create table credential_attempts (
	id       text   primary key,
	lock_id  text   not null, -- of credential_locks
	begun_at bigint not null
);
create index credential_attempts_lock on credential_attempts (lock_id);

-- The embedded authority: its keys, and what it issued.
create table authority_keys (
	name        text   primary key,
	sealed      bytea  not null,
	certificate bytea,
	created_at  bigint not null
);

create table authority_issued (
	serial         text   primary key,
	certificate_id text   not null, -- empty: the authority's own
	certificate    bytea  not null,
	not_after      bigint not null,
	revoked_at     bigint not null default 0,
	reason         bigint not null default 0,
	created_at     bigint not null,
	mac            bytea  -- keyed digest of the row
);
create index authority_issued_revoked on authority_issued (revoked_at);

create table authority_crl (
	name        text   primary key,
	number      bigint not null,
	crl         bytea  not null,
	this_update bigint not null,
	next_update bigint not null
);

-- Certificates bought.
create table certificates (
	id               text   primary key,
	account_id       text   not null,
	provider         text   not null,
	kind             text   not null,
	state            text   not null,
	owner            text   not null,
	custom_reference text   not null default '',
	subject          text   not null default '{}',
	identification   text   not null,
	key_algorithm    text   not null,
	validity_years   bigint not null,
	security_level   bigint not null,
	callback         bytea,
	link             bytea, -- the secret part of certificateLink, sealed
	link_purpose     text   not null default 'identify',
	shown_at         bigint not null default 0,
	shown_to         text   not null default '', -- the address that they were shown to
	credentials_once bytea, -- sealed until they were shown
	charge_id        text   not null default '',
	serial           text   not null default '',
	certificate      bytea,
	chain            bytea,
	subject_dn       text   not null default '',
	issuer_dn        text   not null default '',
	not_before       bigint not null default 0,
	not_after        bigint not null default 0,
	created_at       bigint not null,
	updated_at       bigint not null,
	expire_at        bigint not null,
	certified        bytea, -- what identification proved, sealed
	statement        bytea, -- that waits for a signature, sealed
	browser          bytea, -- hash of the one that went through the identification, sealed
	login            bytea, -- of the holder at the provider of a remote key, sealed, until a credential is chosen
	refusals         bigint not null default 0, -- of identifications; the fifth ends the order
	bound            bytea  -- keyed digest of what was ordered
);
create index certificates_account on certificates (account_id, id);
create index certificates_state on certificates (state, not_after);
create index certificates_filters on certificates (account_id, kind, state, id);
create index certificates_all on certificates (kind, state, id);

-- Evidence of who the holder is.
create table identifications (
	id             text   primary key,
	certificate_id text   not null,
	method         text   not null,
	state          text   not null, -- PENDING, APPROVED, REFUSED
	detail         bytea, -- sealed JSON
	blobs          text   not null default '[]',
	decided_by     text   not null default '',
	reason         text   not null default '',
	created_at     bigint not null,
	decided_at     bigint not null default 0,
	browser        bytea
);
create index identifications_certificate on identifications (certificate_id, id);
create unique index identifications_pending on identifications (certificate_id) where state = 'PENDING';

-- Requests to identity providers, each answered once. An answer that is believed
-- waits, sealed, for the browser that began.
create table identification_requests (
	id             text   primary key, -- hash of the request's id
	certificate_id text   not null,
	method         text   not null,
	sealed         bytea  not null, -- what the method keeps, and the browser that began
	until          bigint not null,
	answered_at    bigint not null default 0,
	token          text   not null default '', -- hash of what the way back carries
	answer         bytea  -- sealed, until it is taken
);
create index identification_requests_certificate on identification_requests (certificate_id);
create index identification_requests_until on identification_requests (until);
create unique index identification_requests_token on identification_requests (token) where token <> '';

-- Assertions and tokens that were accepted, each once.
create table identification_answers (
	id    text   primary key, -- hash
	until bigint not null
);
create index identification_answers_until on identification_answers (until);

-- Client certificates for mutual TLS.
create table client_certificates (
	id          text    primary key,
	account_id  text    not null,
	name        text    not null,
	fingerprint text    not null,
	subject     text    not null,
	not_after   bigint  not null,
	given       boolean not null default false, -- by the API key or the operator, and not by a token
	created_at  bigint  not null,
	mac         bytea   not null, -- keyed digest of the row
	unique (account_id, fingerprint)
);

-- Signature records.
create table signatures (
	turn             bigint not null default 0, -- of its account; 0: of a call that waits for it
	error_number     bigint not null default 0,
	failures         bigint not null default 0, -- how often work on it failed for reasons of our own
	approval_until   bigint not null default 0,
	acts             bigint not null default 0, -- of people, that were asked for and are not made yet
	files_until      bigint not null default 0,
	created_at       bigint not null,
	id               text   primary key,
	account_id       text   not null,
	token_id         text   not null default '',
	request_id       text   not null default '',
	caller_address   text   not null default '',
	certificate_type text   not null,
	certificate_id   text   not null default '',
	options          text   not null default '{}',
	title            text   not null default '',
	description      text   not null default '',
	callback         bytea, -- sealed
	charge_id        text   not null default '',
	approval         text   not null default '', -- '', WAITING, APPROVED, REFUSED
	approved_by      text   not null default '',
	approval_proof   bytea, -- that it was approved by that token, sealed
	signature_type   text   not null default '',
	achieved_level   text   not null default '',
	signer           text   not null default '', -- what is known of the certificate that signed, as JSON
	results          text   not null default '', -- of a batch: how many were signed, and each as JSON
	error_message    text   not null default '',
	secret           bytea, -- password and what else must wait, sealed; gone at the end
	starts           bigint not null default 0, -- how often work on it was begun
	lease_until      bigint not null default 0,
	updated_at       bigint not null,
	lease_by         text   not null default '', -- who is working on it
	state            text   not null
);
-- Every filter of a list has an index that ends in the list's order, and every
-- sweep one of what it looks for alone.
create index signatures_account on signatures (account_id, id);
create index signatures_filters on signatures (account_id, certificate_type, signature_type, state, id);
-- What is to be worked on, in its order, and the last turn of an account. What waits for an
-- approval stands in neither: a claim would read through all of it.
create index signatures_turn on signatures (turn, id) where state in ('WAIT_VALIDATION', 'WAIT_SIGNERS', 'WAIT_SIGN') and not (state in ('WAIT_SIGN') and approval = 'WAITING') and not (state in ('WAIT_SIGNERS') and acts = 0);
create index signatures_last_turn on signatures (account_id, turn) where state in ('WAIT_VALIDATION', 'WAIT_SIGNERS', 'WAIT_SIGN') and not (state in ('WAIT_SIGN') and approval = 'WAITING') and not (state in ('WAIT_SIGNERS') and acts = 0) and turn > 0;
create index signatures_approval on signatures (account_id, id) where approval = 'WAITING';
create index signatures_approval_until on signatures (approval_until) where approval = 'WAITING';
create index signatures_files on signatures (files_until) where files_until > 0 and state in ('DONE', 'ERROR');
create index signatures_created on signatures (created_at) where state in ('DONE', 'ERROR');

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
	md5          bytea   not null,
	sha256       bytea   not null,
	name         text    not null default '', -- empty: that of its digest or, of what was signed, of its record
	blob         text    not null default '',
	primary key (signature_id, role, position)
) without rowid;
-- A blob is found by its id, without its place in a pack.
create index signature_files_blob on signature_files (substr(blob, 1, 24)) where blob <> '';

-- People who are asked to sign a record. All that decides is sealed; version is that of
-- the row, and the last event that names a person has a digest of it.
create table signers (
	signature_id text   not null,
	position     bigint not null,
	id           text   not null, -- a UUID
	version      bigint not null,
	sealed       bytea  not null,
	primary key (signature_id, position)
) without rowid;
create unique index signers_id on signers (id);

-- Documents with places that are kept to be asked for again.
create table templates (
	id         text   not null primary key,
	account_id text   not null,
	sealed     bytea  not null,
	blob       text   not null, -- its document
	created_at bigint not null
);
create index templates_account on templates (account_id, id);

-- One row before each use of a private key.
create table signing_intents (
	position       bigint not null,
	created_at     bigint not null,
	finished_at    bigint not null default 0,
	outcome        text   not null default '', -- '', USED, SIGNED, FAILED, UNKNOWN
	signature_id   text   not null,
	id             text   not null,
	account_id     text   not null,
	certificate_id text   not null,
	digest         bytea  not null
	-- sqlite: , primary key (signature_id, id)
) without rowid;
-- postgres: create index signing_intents_signature on signing_intents (signature_id);
create index signing_intents_open on signing_intents (certificate_id) where outcome = '';

-- The audit log. A leaf of the tree holds a digest of the payload, so that the
-- payload can be erased and the log still be verified. A row has all events of one
-- record that were written together: kind has one word for each, seq is the place of
-- the first; its digests follow from its text until that is erased. base is the size
-- of the tree that the writer knew of; mac authenticates the row under the master key.
-- postgres: create sequence audit_arrival;
create table audit_events (
	created_at bigint not null,
	base       bigint not null,
	seq        bigint,
	n          bigint, -- order of arrival, until it has a place; of PostgreSQL alone
	mac        bytea  not null,
	account_id text   not null,
	record_id  text   not null,
	kind       text   not null,
	salt       bytea,
	digest     bytea  not null,
	payload    bytea
);
-- A record has few rows, which are put in order when they are read.
create index audit_events_record on audit_events (record_id);
-- What the authority holds its own table against, and whether it has read all of it.
create index audit_events_standing on audit_events (record_id) where kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed');
create index audit_events_standing_seq on audit_events (seq) where kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed');
-- The last that was said of a credential: one that signs every day has many codes.
create index audit_events_credential on audit_events (record_id, kind, seq) where kind in ('certificate-key', 'certificate-code');
create unique index audit_events_seq on audit_events (seq) where seq is not null;
-- What waits for its place is known by its arrival.
-- postgres: alter table audit_events alter n set default nextval('audit_arrival');
-- postgres: create unique index audit_events_pending on audit_events (n) where seq is null;

-- Texts that many events repeat, by their digest: what such an event keeps is
-- the difference.
create table audit_dictionaries (
	id   bytea primary key,
	text bytea not null
) without rowid;

create table audit_hashes (
	position bigint primary key,
	hash     bytea  not null
);

-- edge is the right edge of the tree: with it a leaf is added without a look at
-- the hashes before it. checkpoint is the size of the last checkpoint and last the
-- digest of it; mac authenticates the row under the master key, and is missing
-- only while the log is empty.
create table audit_head (
	id         bigint primary key,
	size       bigint not null,
	edge       bytea,
	checkpoint bigint not null default -1,
	last       bytea,
	mac        bytea
);
insert into audit_head (id, size) values (1, 0);

create table audit_checkpoints (
	size       bigint primary key,
	note       text   not null,
	token      bytea,
	created_at bigint not null
);

-- Callbacks.
create table callbacks (
	id           text   primary key,
	account_id   text   not null,
	scope        text   not null,
	record_id    text   not null,
	url          text   not null,
	method       text   not null,
	field        text   not null,
	headers      bytea, -- sealed
	custom       text   not null default '',
	state        text   not null, -- that it tells of; the rest is in the record
	reached_at   bigint not null, -- when the record came to it
	retry        bigint not null,
	settled      bigint not null default 0, -- attempts whose outcome is known
	webhook_id   text   not null, -- the same when a message is sent again
	active       bigint not null default 1,
	status       bigint not null default 0,
	problem      text   not null default '',
	elapsed      bigint not null default 0,
	started_at   bigint not null default 0,
	completed_at bigint not null default 0,
	turn         bigint not null default 0,
	lease_by     text   not null default '', -- who is making an attempt
	lease_until  bigint not null default 0, -- without lease_by: no attempt before
	starts       bigint not null default 0,
	failures     bigint not null default 0, -- of our own
	created_at   bigint not null
);
create index callbacks_due on callbacks (lease_until) where active = 1;
create index callbacks_account on callbacks (account_id, id);
create index callbacks_record on callbacks (record_id);

create table callback_secrets (
	id         text   primary key,
	account_id text   not null,
	secret     bytea  not null,
	expires_at bigint not null default 0,
	created_at bigint not null
);
create index callback_secrets_account on callback_secrets (account_id, id);

-- Work that has no record of its own, and what is done again and again.
create table work (
	id          text   not null primary key,
	kind        text   not null,
	name        text   not null,
	account_id  text   not null default '',
	detail      text   not null default '',
	turn        bigint not null default 0,
	lease_by    text   not null default '', -- who is working on it
	lease_until bigint not null default 0, -- without lease_by: not before
	starts      bigint not null default 0,
	failures    bigint not null default 0,
	dead        bigint not null default 0, -- it has failed too often
	created_at  bigint not null
);

-- The Cloud Signature Consortium API. A token of its OAuth flow is a token of
-- the account; here stands what it was given for.
create table csc_tokens (
	token_id       text  not null primary key references tokens (id) on delete cascade on update cascade,
	hash           bytea not null unique,
	client_id      text  not null,
	certificate_id text  not null,
	scope          text  not null, -- service, credential
	mac            bytea not null
) without rowid;

-- Applications that may ask holders for their consent.
create table csc_clients (
	id         text   not null primary key,
	name       text   not null,
	redirects  text   not null, -- a JSON array
	secret     bytea, -- its hash; null: a public client
	mac        bytea  not null,
	created_at bigint not null
) without rowid;

-- Authorisation requests that clients pushed, and codes that holders gave.
create table csc_requests (
	hash       bytea  not null primary key,
	client_id  text   not null,
	sealed     bytea  not null, -- what was asked for, under the request URI and the master key
	used_at    bigint not null default 0,
	expires_at bigint not null
) without rowid;
create index csc_requests_expires on csc_requests (expires_at);

create table csc_codes (
	hash           bytea  not null primary key,
	account_id     text   not null,
	client_id      text   not null,
	certificate_id text   not null,
	sealed         bytea, -- what was consented to and the holder's word, under the code and the master key
	token_id       text   not null default '', -- what it was exchanged for
	used_at        bigint not null default 0,
	expires_at     bigint not null
) without rowid;
create index csc_codes_expires on csc_codes (expires_at);

create table csc_refresh (
	hash           bytea  not null primary key,
	token_id       text   not null, -- the token it renews
	account_id     text   not null,
	client_id      text   not null,
	certificate_id text   not null,
	sealed         bytea  not null, -- the same, under the refresh token and the master key
	used_at        bigint not null default 0,
	expires_at     bigint not null
) without rowid;
create index csc_refresh_expires on csc_refresh (expires_at);

-- Signature activation data, and the use of each hash that it authorises.
create table csc_sads (
	id             text   not null primary key,
	hash           bytea  not null unique,
	account_id     text   not null,
	token_id       text   not null, -- the bearer that asked
	client_id      text   not null,
	certificate_id text   not null,
	sealed         bytea  not null, -- under the SAD and the master key
	expires_at     bigint not null
) without rowid;
create index csc_sads_expires on csc_sads (expires_at);

create table csc_hashes (
	sad_id    text   not null references csc_sads (id) on delete cascade,
	position  bigint not null,
	state     text   not null default '', -- then RESERVED, WAITING for an approval, USED
	record_id text   not null default '',
	primary key (sad_id, position)
) without rowid;

-- Browsers that are logged in to the console, and links that log one in.
create table console_sessions (
	hash       bytea   not null primary key,
	account_id text    not null,
	token_id   text    not null, -- that the session came from, and ends with
	own        boolean not null, -- the token was made for the session
	created_at bigint  not null,
	seen_at    bigint  not null,
	ended_at   bigint  not null default 0,
	agent      text    not null default '', -- the browser and the address that logged in
	mac        bytea   not null -- keyed digest of what does not change
);
create index console_sessions_created on console_sessions (created_at);

create table console_links (
	hash       bytea  not null primary key,
	account_id text   not null,
	expire_at  bigint not null,
	mac        bytea  not null
);

-- People of an account who use the console, each with a token that stands for them.
create table members (
	id         text   not null primary key,
	account_id text   not null,
	email      text   not null,
	seat       text   not null default '', -- id of the token; empty: the invitation is open
	sealed     bytea  not null, -- all that they are, bound to the row
	updated_at bigint not null
);
create index members_account on members (account_id, id);
create index members_email on members (email);
create index members_seat on members (seat);

-- These rows are written twice within a second or so, and then never again: with
-- the usual fifth of a table that may be dead before it is swept, a fifth of it
-- would stay empty.
-- postgres: alter table audit_events set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
-- postgres: alter table signatures set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
-- postgres: alter table signing_intents set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000);
