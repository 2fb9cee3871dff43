-- +goose Up

-- Browsers that are logged in to the console, and links that log one in.
create table console_sessions (
	hash       blob    not null primary key,
	account_id text    not null,
	token_id   text    not null, -- that the session came from, and ends with
	own        boolean not null, -- the token was made for the session
	created_at integer not null,
	seen_at    integer not null,
	ended_at   integer not null default 0,
	mac        blob    not null -- keyed digest of what does not change
);
create index console_sessions_created on console_sessions (created_at);

create table console_links (
	hash       blob    not null primary key,
	account_id text    not null,
	expire_at  integer not null,
	mac        blob    not null
);
