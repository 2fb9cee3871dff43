-- +goose Up

-- Who waits for work, in the order in which accounts take turns. A row leaves
-- when its work is taken up.
create table job_line (
	id         text   not null primary key,
	account_id text   not null,
	turn       bigint not null,
	ends       bigint not null, -- turn + weight: the account's next turn
	created_at bigint not null
) without rowid;
create index job_line_turn on job_line (turn, id);
create index job_line_account on job_line (account_id, ends);

-- How often work on a record was begun, and how often it failed for reasons of
-- our own.
alter table signatures add column starts bigint not null default 0;
alter table signatures add column failures bigint not null default 0;
