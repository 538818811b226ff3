-- Summaries and the jobs that make them. Cover, then cut: `covered_to` moves only with the summary that covers.

create table jobs (
  id           bigint generated always as identity primary key,
  channel_id   bigint not null references channels,
  kind         text   not null check (kind in ('leaf', 'merge', 'redo')),
  tier         text   not null check (tier in ('background', 'aggressive', 'emergency', 'forced')),
  from_seq     bigint not null,
  to_seq       bigint not null,
  state        text   not null default 'running'
               check (state in ('running', 'staged', 'committed', 'failed', 'stale', 'void')),
  attempt      integer not null default 1 check (attempt >= 1),
  leased_until timestamptz not null,
  result       jsonb,
  reason       text,
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  check (from_seq <= to_seq),
  check (state <> 'staged' or result is not null),
  check ((state in ('running', 'staged')) = (ended_at is null))
);
create unique index jobs_one_live on jobs (channel_id) where state in ('running', 'staged');
create index jobs_of_channel on jobs (channel_id, id);
comment on column jobs.result is 'what the model was paid for, stored before the commit, so that a crash repeats the commit and not the spending';

create table summaries (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null references channels,
  from_seq    bigint not null check (from_seq >= 1),
  to_seq      bigint not null,
  level       integer not null default 1 check (level >= 1),
  kind        text   not null check (kind in ('model', 'digest', 'reset')),
  text        text   not null,
  tokens      integer not null check (tokens >= 0),
  model       text,
  job_id      bigint references jobs,
  live        boolean not null default true,
  needs_redo  boolean not null default false,
  created_at  timestamptz not null default now(),
  check (from_seq <= to_seq),
  check ((kind = 'reset') = (text !~ '\S')),
  exclude using gist (channel_id with =, int8range(from_seq, to_seq, '[]') with &&) where (live)
);
create index summaries_live on summaries (channel_id, from_seq) where live;
comment on column summaries.kind is 'reset: covers without a text, because the owner asked for it';

-- I1, I2, I3 in the database: at every commit, live summaries tile 1..covered_to.
create function summaries_tile() returns trigger language plpgsql as $$
declare v_row jsonb := to_jsonb(coalesce(new, old)); v_channel bigint; v_covered bigint; v_length bigint; v_last bigint;
begin
  v_channel := case when tg_table_name = 'channels' then v_row->>'id' else v_row->>'channel_id' end;
  select covered_to into v_covered from channels where id = v_channel;
  select coalesce(sum(to_seq - from_seq + 1), 0), coalesce(max(to_seq), 0) into v_length, v_last
    from summaries where channel_id = v_channel and live;
  if v_covered <> v_length or v_covered <> v_last then
    raise exception 'channel % is covered to %, but its live summaries cover % entries up to %',
      v_channel, v_covered, v_length, v_last using errcode = 'WE001';
  end if;
  return null;
end $$;
create constraint trigger summaries_tile after insert or update or delete on summaries
  deferrable initially deferred for each row execute function summaries_tile();
create constraint trigger channels_tile after update of covered_to on channels
  deferrable initially deferred for each row when (old.covered_to <> new.covered_to) execute function summaries_tile();

-- `/reset`: covers everything up to p_to without a text, voids the running job, and settles what was due; memories stay.
-- turn_id: the turn that settles (null: nothing was due); message_ids: whose messages it ends.
create function reset_channel(
  p_channel bigint, p_epoch bigint, p_to bigint,
  out turn_id bigint, out message_ids text[]
) language plpgsql as $$
declare v_channel channels; v_from bigint; v_to bigint;
begin
  select c.* into v_channel from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
  select min(e.seq), max(e.seq), array_agg(e.message_id order by e.seq) into v_from, v_to, message_ids from entries e
   where e.channel_id = p_channel and e.addressed and e.seq > v_channel.settled_to and e.seq <= p_to;
  update turns t set state = 'stopped', reason = 'reset', epoch = p_epoch, settled_at = clock_timestamp()
   where t.channel_id = p_channel and t.state = 'running' returning t.id into turn_id;
  if turn_id is null and v_from is not null then
    insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
    values (p_channel, p_epoch, v_from, v_to, 'stopped', 'reset', clock_timestamp()) returning id into turn_id;
  end if;
  update deliveries d set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where d.turn_id = reset_channel.turn_id and d.state = 'pending' and d.entry_seq is null;
  update jobs set state = 'void', ended_at = clock_timestamp(), reason = 'reset'
   where channel_id = p_channel and state in ('running', 'staged');
  if p_to > v_channel.covered_to then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;
