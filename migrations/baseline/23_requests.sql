-- Requests to a running daemon: of a command-line program, or of another daemon to the owner of a channel.

create table requests (
  id         bigint generated always as identity primary key,
  channel_id bigint references channels, -- null: it is about no channel
  kind       text   not null constraint requests_kind_known
             check (kind in ('compact', 'redo', 'forget', 'status', 'reload', 'stop', 'reset')),
  created_at timestamptz not null default now(),
  taken_at   timestamptz,
  ended_at   timestamptz,
  answer     jsonb,
  job_id     bigint,
  taken_as   text, -- unused
  person     text, -- the platform's id of the person who is to be forgotten in the channel
  -- of compact: what the summary is to keep above all, in somebody's words; it is removed when the request is taken
  focus      text,
  for_daemon text, -- its name in the cluster; null: any may take it
  for_host   text, -- the machine whose daemon takes it first; null: any
  constraint requests_redo_has_job check ((kind = 'redo') = (job_id is not null)),
  constraint requests_forget_has_person check ((kind = 'forget') = (person is not null)),
  constraint requests_of_daemon_has_no_channel check ((kind in ('status', 'reload')) = (channel_id is null))
);
alter table requests alter column answer set statistics 0, alter column focus set statistics 0;
create index requests_waiting on requests (id) where taken_at is null;

-- Wakes the daemons that listen.
create function requests_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('weir_requests', new.id::text);
  return null;
end $$;
create trigger requests_notify after insert on requests for each row execute function requests_notify();
