-- +goose Up

-- Texts that many events repeat, by their digest: what such an event keeps is
-- the difference.
create table audit_dictionaries (
	id   blob primary key,
	text blob not null
) without rowid;

-- Every filter of a list has an index that ends in the list's order, and every
-- sweep one of what it looks for alone. Tombstones stand in none.
drop index signatures_account;
drop index signatures_state;
drop index signatures_files;
create index signatures_account on signatures (account_id, id) where deleted_at = 0;
create index signatures_filters on signatures (account_id, certificate_type, signature_type, state, id) where deleted_at = 0;
create index signatures_waiting on signatures (state, updated_at) where state in ('WAIT_VALIDATION', 'WAIT_SIGN');
create index signatures_approval on signatures (account_id, id) where approval = 'WAITING';
create index signatures_approval_until on signatures (approval_until) where approval = 'WAITING';
create index signatures_files on signatures (files_until) where files_until > 0 and deleted_at = 0;
create index signatures_created on signatures (created_at) where deleted_at = 0;

create index certificates_filters on certificates (account_id, kind, state, id);
create index certificates_all on certificates (kind, state, id);

-- A blob is found by its id, without its place in a pack.
drop index signature_files_blob;
create index signature_files_blob on signature_files (substr(blob, 1, 24)) where blob <> '';

-- Whether the authority has read all of them.
create index audit_events_standing_seq on audit_events (seq) where kind in ('certificate-revoked', 'certificate-suspended', 'certificate-resumed');
