-- Compaction: cover, then cut. Jobs make summaries, and `covered_to` moves only with the summary that covers.

create table jobs (
  id            bigint generated always as identity primary key,
  channel_id    bigint  not null references channels,
  kind          text    not null check (kind in ('leaf', 'merge', 'redo')),
  tier          text    not null check (tier in ('background', 'aggressive', 'emergency', 'forced')),
  from_seq      bigint  not null,
  to_seq        bigint  not null,
  state         text    not null default 'running'
                constraint jobs_state_known
                check (state in ('running', 'staged', 'ahead', 'committed', 'failed', 'stale', 'void')),
  attempt       integer not null default 1 check (attempt >= 1),
  leased_until  timestamptz not null default now(), -- unused: a job has no lease, the channel's owner owns it
  -- what the model was paid for, stored before the commit, so that a crash repeats the commit and not the spending
  result        jsonb,
  reason        text,
  created_at    timestamptz not null default now(),
  ended_at      timestamptz,
  level         integer not null default 1 check (level >= 1),
  saw_from      bigint, -- the first entry whose words it may have read, neighbouring summaries included
  -- a text of its range was edited after it began: its summary is to be written again
  edited        boolean not null default false,
  source_tokens integer not null default 0,
  model         text,
  memories      integer not null default 0,
  edited_seqs   bigint[] not null default '{}', -- entries that were edited after it began: they prove no memory of it
  -- terms that these edits removed from all that it had read: a memory that tells one of them is left out
  edited_terms  text[]   not null default '{}',
  is_ahead      boolean not null default false, -- its summary is committed together with others, when a tier is reached
  check (from_seq <= to_seq),
  constraint jobs_finished_has_result check (state not in ('staged', 'ahead') or result is not null),
  constraint jobs_end_is_told check ((state in ('running', 'staged', 'ahead')) = (ended_at is null)),
  constraint jobs_ahead_apart exclude using gist (channel_id with =, int8range(from_seq, to_seq, '[]') with &&) where (state = 'ahead')
);
alter table jobs alter column result set statistics 0, alter column reason set statistics 0, alter column edited_terms set statistics 0;
create unique index jobs_one_live on jobs (channel_id) where state in ('running', 'staged');
create index jobs_of_channel on jobs (channel_id, id);

-- The live summaries stand for the covered entries in the view; the others are kept to be read again.
create table summaries (
  id            bigint generated always as identity primary key,
  channel_id    bigint  not null references channels,
  from_seq      bigint  not null check (from_seq >= 1),
  to_seq        bigint  not null,
  level         integer not null default 1 check (level >= 1),
  -- reset: covers without a text, because the owner asked for it
  kind          text    not null check (kind in ('model', 'digest', 'reset')),
  text          text    not null,
  tokens        integer not null check (tokens >= 0),
  model         text,
  job_id        bigint references jobs,
  live          boolean not null default true,
  needs_redo    boolean not null default false,
  created_at    timestamptz not null default now(),
  saw_from      bigint, -- the first entry whose words it may hold; null: from_seq
  messages      bigint, -- messages, calls and results in its range; notices are not counted; null: a reset
  first_at      timestamptz, -- when the first of these was said; null: there are none
  last_at       timestamptz,
  -- {text, tokens}: the extract of what its range says since an edit, which it becomes as soon as no view shows it
  substitute    jsonb,
  -- of the first level: since when texts of its range are no longer kept, so that it cannot be written again
  texts_gone_at timestamptz,
  texts_gone_to bigint, -- of the first level: up to where the texts of its range are no longer kept; null: all are kept
  check (from_seq <= to_seq),
  check ((kind = 'reset') = (text !~ '\S')),
  exclude using gist (channel_id with =, int8range(from_seq, to_seq, '[]') with &&) where (live)
);
alter table summaries alter column text set statistics 0, alter column substitute set statistics 0;
create index summaries_live on summaries (channel_id, from_seq) where live;
create index summaries_of_channel on summaries (channel_id, from_seq);
create index summaries_to_redo on summaries (channel_id) where live and needs_redo;
create index summaries_with_texts on summaries (channel_id, from_seq, id) where level = 1 and coalesce(texts_gone_to, 0) < to_seq;
create index summaries_without_texts on summaries (channel_id, from_seq) where level = 1 and texts_gone_at is not null;

-- At every commit, the live summaries tile 1..covered_to.
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

-- An ended job keeps no words: neither its result nor the terms of edits.
create function jobs_forget_result() returns trigger language plpgsql as $$
begin
  if new.state not in ('running', 'staged', 'ahead') then
    new.result := null;
    new.edited_seqs := '{}';
    new.edited_terms := '{}';
  end if;
  return new;
end $$;
create trigger jobs_forget_result before update on jobs for each row execute function jobs_forget_result();

-- Counts the messages of a new summary, and notes when the first and the last were said. Older summaries that tile the beginning
-- of the range are added up instead of reading their entries, since a merge may cover very many. The result is exact, because
-- entries never change their kind or their time.
create function summaries_tell_span() returns trigger language plpgsql as $$
declare v_next bigint := new.from_seq; v_part record;
begin
  new.messages := 0;
  while v_next <= new.to_seq loop
    select s.to_seq, s.messages, s.first_at, s.last_at into v_part from summaries s
     where s.channel_id = new.channel_id and s.from_seq = v_next and s.to_seq <= new.to_seq and s.messages is not null
     order by s.to_seq desc, s.id desc limit 1;
    if not found then
      select new.to_seq as to_seq, count(*) as messages, min(e.at) as first_at, max(e.at) as last_at into v_part from entries e
       where e.channel_id = new.channel_id and e.seq between v_next and new.to_seq and e.kind <> 'notice';
    end if;
    new.messages := new.messages + v_part.messages;
    new.first_at := least(new.first_at, v_part.first_at);
    new.last_at := greatest(new.last_at, v_part.last_at);
    v_next := v_part.to_seq + 1;
  end loop;
  return new;
end $$;
create trigger summaries_tell_span before insert on summaries
  for each row when (new.kind <> 'reset') execute function summaries_tell_span();

-- A summary that leaves the view takes its substitute, and so holds nothing of the text before an edit.
create function summaries_take_substitute() returns trigger language plpgsql as $$
begin
  new.text := old.substitute->>'text';
  new.tokens := (old.substitute->>'tokens')::integer;
  new.kind := 'digest';
  new.model := null;
  new.substitute := null;
  return new;
end $$;
create trigger summaries_take_substitute before update on summaries
  for each row when (old.live and not new.live and old.substitute is not null) execute function summaries_take_substitute();

-- A summary whose texts are no longer kept cannot be written again from them.
create function summaries_keep_unread() returns trigger language plpgsql as $$
begin
  new.needs_redo := false;
  return new;
end $$;
create trigger summaries_keep_unread before update of needs_redo on summaries
  for each row when (new.needs_redo and new.texts_gone_at is not null) execute function summaries_keep_unread();

-- Begins a job of the channel's owner. The job reads the neighbouring summary before its range as well, and so all that this
-- summary has read. A leaf that is written ahead does not, so that a deletion voids only the stretch in which it is. If tools
-- were called in the stretch, it may have read anything that was in view then, because a call repeats what its model has read.
create function begin_job(
  p_channel bigint, p_epoch bigint, p_kind text, p_tier text, p_from bigint, p_to bigint, p_level integer,
  p_source_tokens integer, p_is_ahead boolean default false
) returns setof jobs language plpgsql as $$
declare v_is_stretch boolean := p_is_ahead and p_kind = 'leaf'; v_is_all boolean; v_view bigint;
begin
  perform lock_owned(p_channel, p_epoch);
  v_is_all := v_is_stretch and exists (
    select from entries e where e.channel_id = p_channel and e.seq between p_from and p_to and e.kind = 'tool_call');
  if v_is_all then
    select c.covered_to + 1 into v_view from channels c where c.id = p_channel;
  end if;
  return query
    insert into jobs (channel_id, kind, tier, from_seq, to_seq, level, source_tokens, is_ahead, saw_from)
    values (p_channel, p_kind, p_tier, p_from, p_to, p_level, p_source_tokens, p_is_ahead,
            least(p_from, v_view, (select min(coalesce(s.saw_from, s.from_seq)) from summaries s
                            where s.channel_id = p_channel and s.live and s.kind <> 'reset'
                              and (v_is_all or (not v_is_stretch and s.to_seq >= p_from - 1 and s.from_seq <= p_to))),
                  -- The note of an edit tells what an entry says now, and that entry may stand before the range.
                  (select min((e.data->>'edits')::bigint) from entries e
                    where e.channel_id = p_channel and e.seq between p_from and p_to and e.kind = 'notice')))
    returning *;
end $$;

-- Gives the live job of a channel to its new owner. A running job begins again; a staged one stays as it is.
create function take_job(p_channel bigint, p_epoch bigint) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    update jobs set attempt = attempt + (state = 'running')::integer
     where channel_id = p_channel and state in ('running', 'staged') returning *;
end $$;

-- Whether a merge or a redo still replaces what it has read.
create function replaces_same(p_job jobs) returns boolean language sql stable as $$
  select coalesce(sum(s.to_seq - s.from_seq + 1), 0) = p_job.to_seq - p_job.from_seq + 1 from summaries s
   where s.channel_id = p_job.channel_id and s.live and s.kind <> 'reset'
     and s.from_seq >= p_job.from_seq and s.to_seq <= p_job.to_seq
$$;

-- Puts the summary of a finished job in its place, with its memories, and ends the job. Sources that were edited after the job had
-- begun are left out, and so are memories that lose all sources or tell what an edit removed. The caller holds the channel's row
-- lock, and moves the watermark for a leaf.
create function put_summary(p_job jobs) returns void language plpgsql as $$
declare v_summary bigint; v_memories integer := 0; v_memory jsonb; v_sources jsonb;
begin
  update summaries s set live = false
   where p_job.kind <> 'leaf' and s.channel_id = p_job.channel_id and s.live
     and s.from_seq >= p_job.from_seq and s.to_seq <= p_job.to_seq;
  insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, model, job_id, saw_from, needs_redo)
  select p_job.channel_id, p_job.from_seq, p_job.to_seq, p_job.level, r.kind, r.text, r.tokens, r.model, p_job.id, p_job.saw_from,
         p_job.edited or (r.kind = 'digest' and not coalesce(r."isFinal", false))
    from jsonb_to_record(p_job.result->'summary') as r (kind text, text text, tokens integer, model text, "isFinal" boolean)
  returning id into strict v_summary;
  if p_job.kind = 'leaf' then
    for v_memory in select * from jsonb_array_elements(p_job.result->'memories') loop
      select coalesce(jsonb_agg(s), '[]') into v_sources from jsonb_array_elements(v_memory->'sources') s
       where not (s->>'seq')::bigint = any (p_job.edited_seqs);
      continue when v_sources = '[]' or exists (
        select from jsonb_array_elements_text(coalesce(v_memory->'telling', '[]')) t where t = any (p_job.edited_terms));
      perform add_memory(p_job.channel_id, v_summary, v_memory || jsonb_build_object('sources', v_sources));
      v_memories := v_memories + 1;
    end loop;
  end if;
  update jobs set state = 'committed', memories = v_memories, ended_at = clock_timestamp() where id = p_job.id;
end $$;

-- Commits a staged job in one transaction: its summary replaces those of its range, the watermark moves, and its memories are
-- added. Asked twice, it answers the same. It locks the channel's row before the job's, as every other writer does.
-- outcome: committed; stale (the range is not what was summarised); gone (another attempt, or an ended job).
create function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
declare v_job jobs; v_channel channels; v_is_same boolean;
begin
  select c.* into strict v_channel from channels c join jobs j on j.channel_id = c.id where j.id = p_job for no key update of c;
  select j.* into strict v_job from jobs j where j.id = p_job for update;
  if v_job.attempt = p_attempt and v_job.state in ('committed', 'stale') then outcome := v_job.state; return; end if;
  if v_job.attempt <> p_attempt or v_job.state <> 'staged' then outcome := 'gone'; return; end if;
  v_is_same := case when v_job.kind = 'leaf'
    then v_job.from_seq = v_channel.covered_to + 1 and v_job.to_seq <= v_channel.last_seq
    else replaces_same(v_job) end;
  if not v_is_same then
    update jobs set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp() where id = p_job;
    outcome := 'stale';
    return;
  end if;
  perform put_summary(v_job);
  if v_job.kind = 'leaf' then
    update channels set covered_to = v_job.to_seq where id = v_job.channel_id;
  end if;
  outcome := 'committed';
end $$;

-- Commits everything that was written ahead, in one transaction: first the merges, which make room, then the leafs in the order of
-- the log, as many as may be live. Returns the jobs as they were before it, with their results.
create function commit_ahead(p_channel bigint, p_epoch bigint, p_most_live integer) returns setof jobs language plpgsql as $$
declare v_job jobs; v_covered bigint; v_live integer;
begin
  perform lock_owned(p_channel, p_epoch);
  for v_job in select j.* from jobs j where j.channel_id = p_channel and j.state = 'ahead' and j.kind = 'merge' order by j.id loop
    if replaces_same(v_job) then
      perform put_summary(v_job);
      return next v_job;
    else
      update jobs set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp() where id = v_job.id;
    end if;
  end loop;
  select c.covered_to into strict v_covered from channels c where c.id = p_channel;
  select count(*) into v_live from summaries s where s.channel_id = p_channel and s.live and s.kind <> 'reset';
  for v_job in select j.* from jobs j where j.channel_id = p_channel and j.state = 'ahead' and j.kind = 'leaf' order by j.from_seq loop
    exit when v_job.from_seq <> v_covered + 1 or v_live >= p_most_live;
    perform put_summary(v_job);
    v_covered := v_job.to_seq;
    v_live := v_live + 1;
    return next v_job;
  end loop;
  update channels c set covered_to = v_covered where c.id = p_channel and c.covered_to < v_covered;
end $$;

-- Voids what is written ahead where another summary was committed first: one that a person forced, or a reset.
create function channels_void_ahead() returns trigger language plpgsql as $$
begin
  update jobs j set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp()
   where j.channel_id = new.id and (j.state = 'ahead' or (j.state = 'running' and j.is_ahead))
     and case when j.kind = 'leaf' then j.from_seq <= new.covered_to else not replaces_same(j) end;
  return null;
end $$;
create trigger channels_void_ahead after update of covered_to on channels
  for each row when (old.covered_to < new.covered_to) execute function channels_void_ahead();

-- `/reset`: covers everything up to p_to without a text, voids the live job, and settles what was due. Memories stay, and so does
-- the turn of a message behind p_to.
-- turn_id: the turn that settles (null: nothing was due). message_ids: the messages whose wait ends.
create function reset_channel(
  p_channel bigint, p_epoch bigint, p_to bigint,
  out turn_id bigint, out message_ids text[]
) language plpgsql as $$
declare v_channel channels; v_from bigint; v_to bigint;
begin
  perform lock_owned(p_channel, p_epoch);
  select c.* into strict v_channel from channels c where c.id = p_channel;
  select min(e.seq), max(e.seq), array_agg(e.message_id order by e.seq) into v_from, v_to, message_ids from entries e
   where e.channel_id = p_channel and e.addressed and e.seq > v_channel.settled_to and e.seq <= p_to;
  update turns t set state = 'stopped', reason = 'reset', epoch = p_epoch, settled_at = clock_timestamp()
   where t.channel_id = p_channel and t.state = 'running' and t.from_seq <= p_to returning t.id into turn_id;
  if turn_id is null and v_from is not null then
    insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
    values (p_channel, p_epoch, v_from, v_to, 'stopped', 'reset', clock_timestamp()) returning id into turn_id;
  end if;
  perform void_draft(reset_channel.turn_id, p_epoch);
  update jobs set state = 'void', ended_at = clock_timestamp(), reason = 'reset'
   where channel_id = p_channel and state in ('running', 'staged');
  if p_to > v_channel.covered_to then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;
