-- What is kept for platforms and their adapters.

-- Up to when each platform was heard. Later messages of a channel that the log does not know are looked for, too.
create table heard_marks (
  platform text        not null,
  account  text        not null, -- the bot as whom Weir listens, by the platform's id
  heard_to timestamptz not null, -- everything that was said to it before is in the log, or on record as missing
  primary key (platform, account)
);

-- Commands in messages are no messages of the log. Each command that has run is noted here, so that reading the channel's past
-- messages again does not run it again.
create table run_commands (
  platform   text not null,
  message_id text not null,
  claim      uuid not null, -- of the attempt that ran it: one whose answer was lost finds its own
  run_at     timestamptz not null default now(),
  primary key (platform, message_id)
);

-- In which servers a name of the configuration holds, as [{id, name}]: settled when Weir first starts with that name. A name
-- decides nothing by itself, because anybody may take one.
create table confirmed_names (
  platform     text  not null,
  kind         text  not null check (kind in ('workspace', 'channel', 'role')),
  name         text  not null,
  servers      jsonb not null,
  confirmed_at timestamptz not null default now(),
  primary key (platform, kind, name)
);

-- How far the connections to a platform were heard: the next start, or the daemon that has the connection next, resumes there and
-- misses nothing.
create table gateway_sessions (
  platform   text        not null check (platform <> ''),
  shard      smallint    not null check (shard >= 0),
  -- among how many shards the servers were divided: with another number of them it is another session
  shards     smallint    not null check (shards > shard),
  account    text        not null check (account <> ''), -- the platform's id of the bot
  session    text        not null check (session <> ''),
  resume_url text        not null,
  -- everything up to this event is in the log, or left no trace there: it is never ahead of the log
  sequence   bigint      not null check (sequence >= 0),
  -- when the session was known to live: platforms keep one for some minutes only
  heard_at   timestamptz not null default clock_timestamp(),
  primary key (platform, shard)
);
