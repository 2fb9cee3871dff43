-- +goose Up

-- What identification proved is what is certified; the statement that waits for
-- a signature (sealed); the browser that went through the identification (a hash).
alter table certificates add column certified text not null default '';
alter table certificates add column statement bytea;
alter table certificates add column browser bytea;
alter table identifications add column browser bytea;
