-- Commands in messages are no messages of the log: what was run is noted here, so that a later look at what was said there
-- does not run it again.
create table run_commands (
  platform   text not null,
  message_id text not null,
  claim      uuid not null,
  run_at     timestamptz not null default now(),
  primary key (platform, message_id)
);
comment on column run_commands.claim is 'of who ran it: an attempt whose answer was lost finds its own';
