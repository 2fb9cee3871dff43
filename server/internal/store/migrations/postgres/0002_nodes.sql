-- +goose Up
create table nodes (
	id      text   not null primary key,
	seen_at bigint not null
);
