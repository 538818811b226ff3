-- How far the connections to a platform were heard, so that the next start, or the daemon that has the connection next, goes on there
-- and misses nothing.

create table gateway_sessions (
  platform   text        not null check (platform <> ''),
  shard      smallint    not null check (shard >= 0),
  shards     smallint    not null check (shards > shard),
  account    text        not null check (account <> ''),
  session    text        not null check (session <> ''),
  resume_url text        not null,
  sequence   bigint      not null check (sequence >= 0),
  heard_at   timestamptz not null default clock_timestamp(),
  primary key (platform, shard)
);
comment on column gateway_sessions.shards is 'among how many shards the servers were divided: with another number of them it is another session';
comment on column gateway_sessions.account is 'the platform''s id of the bot';
comment on column gateway_sessions.sequence is 'everything up to this event is in the log, or left no trace there: it never stands above what is';
comment on column gateway_sessions.heard_at is 'when the session was known to live: platforms keep one for some minutes only';
