-- +goose Up
-- Publications of real-estate quotations that every node serves: the index
-- file is a blob. One row a semester; id is the digest of the index.
create table omi_publications (
	semester   text not null primary key,
	id         text not null,
	blob_id    text not null,
	size       bigint not null,
	created_at bigint not null
);

-- The semester chosen to be active; no row: the newest.
create table omi_active (
	one        integer not null primary key check (one = 1),
	semester   text not null,
	changed_at bigint not null
);
