-- Summaries are written ahead: the result of such a job waits in the state `ahead`, and is in no view. When a tier is reached, all
-- that waits is committed in one transaction. A daemon of the version before knows no such jobs: it summarises their ranges itself.

alter table jobs add column is_ahead boolean not null default false;
comment on column jobs.is_ahead is 'its summary is committed together with others, when a tier is reached';

do $$
declare v_name text;
begin
  for v_name in select conname from pg_constraint
                 where conrelid = 'jobs'::regclass and contype = 'c' and pg_get_constraintdef(oid) like '%staged%' loop
    execute format('alter table jobs drop constraint %I', v_name);
  end loop;
end $$;
alter table jobs
  add constraint jobs_state_known check (state in ('running', 'staged', 'ahead', 'committed', 'failed', 'stale', 'void')),
  add constraint jobs_finished_has_result check (state not in ('staged', 'ahead') or result is not null),
  add constraint jobs_end_is_told check ((state in ('running', 'staged', 'ahead')) = (ended_at is null)),
  add constraint jobs_ahead_apart exclude using gist (channel_id with =, int8range(from_seq, to_seq, '[]') with &&)
    where (state = 'ahead');

create or replace function jobs_forget_result() returns trigger language plpgsql as $$
begin
  if new.state not in ('running', 'staged', 'ahead') then
    new.result := null;
    new.edited_seqs := '{}';
    new.edited_terms := '{}';
  end if;
  return new;
end $$;

-- Begins a job of the channel's owner. The job reads the neighbouring summary before its range as well, and so all that this
-- summary has read. A leaf that is written ahead does not, so that a deletion voids the stretch alone in which it is; but if tools
-- were called in it, it may have read anything that was in view then: what a model calls a tool with retells what it has read.
drop function begin_job(bigint, bigint, text, text, bigint, bigint, integer, integer, integer);
create function begin_job(
  p_channel bigint, p_epoch bigint, p_kind text, p_tier text, p_from bigint, p_to bigint, p_level integer,
  p_source_tokens integer, p_lease_ms integer default null, p_is_ahead boolean default false
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

-- Does a merge or a redo still replace what it has read?
create function replaces_same(p_job jobs) returns boolean language sql stable as $$
  select coalesce(sum(s.to_seq - s.from_seq + 1), 0) = p_job.to_seq - p_job.from_seq + 1 from summaries s
   where s.channel_id = p_job.channel_id and s.live and s.kind <> 'reset'
     and s.from_seq >= p_job.from_seq and s.to_seq <= p_job.to_seq
$$;

-- Puts the summary of a finished job in its place, with its memories, and ends the job. A memory of what was edited after the job
-- had begun is left out. The caller holds the channel's row lock, and moves the watermark for a leaf.
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
-- added. Asked twice, it answers the same.
-- outcome: committed; stale (the range is not what was summarised); gone (another attempt, or an ended job).
create or replace function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
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

-- Commits what was written ahead, all of it in one transaction: first the merges, which make room, then the leafs in the order of
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

-- Voids what was written ahead of these entries, or is being written. An edit or a deletion inside voids a stretch; the next one
-- is written from the text as it is then.
create function void_ahead(p_channel bigint, p_seqs bigint[], p_reason text) returns void language sql as $$
  update jobs j set state = 'stale', reason = p_reason, ended_at = clock_timestamp()
   where j.channel_id = p_channel and (j.state = 'ahead' or (j.state = 'running' and j.is_ahead))
     and exists (select from unnest(p_seqs) s where s between coalesce(j.saw_from, j.from_seq) and j.to_seq)
$$;

create function revisions_void_ahead() returns trigger language plpgsql as $$
begin
  perform void_ahead(new.channel_id, new.seq || array(
    select r.noted_seq from revisions r where r.channel_id = new.channel_id and r.seq = new.seq and r.noted_seq is not null),
    'a message that it had read was edited');
  return null;
end $$;
create trigger revisions_void_ahead after insert on revisions for each row execute function revisions_void_ahead();

-- A deletion blanks a message's text, and the arguments of tool calls that tell of it. The order of the view is not the question
-- here: an entry that is covered already is in no stretch.
create function entries_void_ahead() returns trigger language plpgsql as $$
begin
  perform void_ahead(new.channel_id, array[new.seq], 'a message that it had read was deleted');
  return null;
end $$;
create trigger entries_void_ahead after update on entries
  for each row when (old.text <> new.text or old.data is distinct from new.data or old.deleted_at is distinct from new.deleted_at)
  execute function entries_void_ahead();

-- Another summary came first: of a daemon of the version before, of one that somebody forced, or a reset.
create function channels_void_ahead() returns trigger language plpgsql as $$
begin
  update jobs j set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp()
   where j.channel_id = new.id and (j.state = 'ahead' or (j.state = 'running' and j.is_ahead))
     and case when j.kind = 'leaf' then j.from_seq <= new.covered_to else not replaces_same(j) end;
  return null;
end $$;
create trigger channels_void_ahead after update of covered_to on channels
  for each row when (old.covered_to < new.covered_to) execute function channels_void_ahead();
