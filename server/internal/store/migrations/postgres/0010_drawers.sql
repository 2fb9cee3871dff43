-- +goose Up

-- Parts of a fund (the credit of a wallet, the requests of a subscription), so that
-- transactions which take from it at the same time need not wait for each other.
-- What a fund has is its own row and these together.
create table drawers (
	slot       bigint not null,
	amount     bigint not null check (amount >= 0),
	updated_at bigint not null,
	owner      text   not null, -- account_id of the wallet, id of the subscription
	primary key (owner, slot)
);
