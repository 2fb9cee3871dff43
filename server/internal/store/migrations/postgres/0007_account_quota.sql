-- +goose Up

-- What an account may have made in a day or a month; empty: no bound.
alter table accounts add column quota text not null default '';
