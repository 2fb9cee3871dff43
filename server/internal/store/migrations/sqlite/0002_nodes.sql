-- +goose Up
create table nodes (
	id      text    not null primary key,
	seen_at integer not null
) without rowid;
