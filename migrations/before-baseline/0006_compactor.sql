-- What the compactor writes: jobs step by step, their commit, and what edits and deletions do to it.

alter table jobs
  add column level         integer not null default 1 check (level >= 1),
  add column saw_from      bigint,
  add column edited        boolean not null default false,
  add column source_tokens integer not null default 0,
  add column model         text,
  add column memories      integer not null default 0;
comment on column jobs.saw_from is 'the first entry whose words it may have read, neighbouring summaries included';
comment on column jobs.edited is 'somebody edited a text of its range after it began: its summary is to be written again';

alter table summaries add column saw_from bigint;
comment on column summaries.saw_from is 'the first entry whose words it may hold; null: from_seq';

-- What was said stays in a job's row no longer than the job lives.
create function jobs_forget_result() returns trigger language plpgsql as $$
begin
  if new.state not in ('running', 'staged') then new.result := null; end if;
  return new;
end $$;
create trigger jobs_forget_result before update on jobs for each row execute function jobs_forget_result();

-- Takes the channel's row lock for its owner, and refuses everybody else.
create function lock_owned(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
begin
  perform from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
end $$;

-- A new job of a channel's owner. The neighbouring summary before it is read as well, and all that this one has read.
create function begin_job(
  p_channel bigint, p_epoch bigint, p_kind text, p_tier text, p_from bigint, p_to bigint, p_level integer,
  p_source_tokens integer, p_lease_ms integer
) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    insert into jobs (channel_id, kind, tier, from_seq, to_seq, level, source_tokens, leased_until, saw_from)
    values (p_channel, p_kind, p_tier, p_from, p_to, p_level, p_source_tokens, now() + p_lease_ms * interval '1 ms',
            least(p_from, (select min(coalesce(s.saw_from, s.from_seq)) from summaries s
                            where s.channel_id = p_channel and s.live and s.kind <> 'reset'
                              and s.to_seq >= p_from - 1 and s.from_seq <= p_to),
                  -- The note of an edit says what an entry says now that may stand before the range.
                  (select min((e.data->>'edits')::bigint) from entries e
                    where e.channel_id = p_channel and e.seq between p_from and p_to and e.kind = 'notice')))
    returning *;
end $$;

-- The live job of a channel, for its new owner: a running one is begun again, what is staged stays as it is.
create function take_job(p_channel bigint, p_epoch bigint, p_lease_ms integer) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    update jobs set attempt = attempt + (state = 'running')::integer, leased_until = now() + p_lease_ms * interval '1 ms'
     where channel_id = p_channel and state in ('running', 'staged') returning *;
end $$;

-- The same memory said again is one more proof of it.
create function normal_text(p_text text) returns text language sql immutable as $$
  select trim(regexp_replace(lower(p_text), '[[:space:][:punct:]]+', ' ', 'g'))
$$;

create function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare v_channel channels; v_scope text; v_id bigint; v_source jsonb;
begin
  select * into strict v_channel from channels where id = p_channel;
  v_scope := case v_channel.kind when 'dm' then 'dm' else 'channel' end;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and m.type = p_memory->>'type' and normal_text(m.subject) = normal_text(p_memory->>'subject')
     and normal_text(m.statement) = normal_text(p_memory->>'statement')
   order by m.id limit 1;
  if v_id is null then
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from, summary_id)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary)
    returning id into v_id;
  end if;
  for v_source in select * from jsonb_array_elements(p_memory->'sources') loop
    insert into memory_sources (memory_id, channel_id, seq, quote)
    values (v_id, p_channel, (v_source->>'seq')::bigint, v_source->>'quote')
    on conflict (memory_id, channel_id, seq) do nothing;
  end loop;
  return v_id;
end $$;

-- The one transaction that covers. outcome: committed, stale (the range is not what was summarised), gone.
create function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
declare v_job jobs; v_channel channels; v_summary bigint; v_is_same boolean; v_memories integer := 0; v_memory jsonb;
begin
  select c.* into strict v_channel from channels c join jobs j on j.channel_id = c.id where j.id = p_job for no key update of c;
  select j.* into strict v_job from jobs j where j.id = p_job for update;
  if v_job.attempt = p_attempt and v_job.state in ('committed', 'stale') then outcome := v_job.state; return; end if;
  if v_job.attempt <> p_attempt or v_job.state <> 'staged' then outcome := 'gone'; return; end if;
  if v_job.kind = 'leaf' then
    v_is_same := v_job.from_seq = v_channel.covered_to + 1 and v_job.to_seq <= v_channel.last_seq;
  else
    select coalesce(sum(s.to_seq - s.from_seq + 1), 0) = v_job.to_seq - v_job.from_seq + 1 into v_is_same from summaries s
     where s.channel_id = v_job.channel_id and s.live and s.kind <> 'reset'
       and s.from_seq >= v_job.from_seq and s.to_seq <= v_job.to_seq;
  end if;
  if not v_is_same then
    update jobs set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp() where id = p_job;
    outcome := 'stale';
    return;
  end if;
  update summaries s set live = false
   where v_job.kind <> 'leaf' and s.channel_id = v_job.channel_id and s.live
     and s.from_seq >= v_job.from_seq and s.to_seq <= v_job.to_seq;
  insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, model, job_id, saw_from, needs_redo)
  select v_job.channel_id, v_job.from_seq, v_job.to_seq, v_job.level, r.kind, r.text, r.tokens, r.model, p_job, v_job.saw_from,
         v_job.edited or (r.kind = 'digest' and not coalesce(r."isFinal", false))
    from jsonb_to_record(v_job.result->'summary') as r (kind text, text text, tokens integer, model text, "isFinal" boolean)
  returning id into strict v_summary;
  if v_job.kind = 'leaf' then
    update channels set covered_to = v_job.to_seq where id = v_job.channel_id;
    for v_memory in select * from jsonb_array_elements(v_job.result->'memories') loop
      perform add_memory(v_job.channel_id, v_summary, v_memory);
      v_memories := v_memories + 1;
    end loop;
  end if;
  update jobs set state = 'committed', memories = v_memories, ended_at = clock_timestamp() where id = p_job;
  outcome := 'committed';
end $$;

-- As before; moreover a summary, or a job, that holds the old text is to be written again.
create or replace function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz;
begin
  perform lock_search(p_channel);
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.* into v_entry from entries e
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null;
  if not found then outcome := 'unknown'; return; end if;
  seq := v_entry.seq;
  select r.text, r.revision, r.at into v_current, v_revision, v_at from revisions r
   where r.channel_id = p_channel and r.seq = v_entry.seq order by r.revision desc limit 1;
  if coalesce(v_current, v_entry.text) = p_text or v_at > p_at then outcome := 'unchanged'; return; end if;
  outcome := 'replaced';
  if exists (select from turns t where t.channel_id = p_channel and t.to_seq >= v_entry.seq) then
    outcome := 'noted';
    noted_seq := v_last + 1;
    insert into entries (channel_id, seq, kind, at, text, tokens, data)
    values (p_channel, noted_seq, 'notice', p_at, '', p_tokens, jsonb_build_object('edits', v_entry.seq));
  end if;
  insert into revisions (channel_id, seq, revision, text, at, noted_seq)
  values (p_channel, v_entry.seq, coalesce(v_revision, 0) + 1, p_text, p_at, edit_message.noted_seq);
  perform index_entries(p_channel, v_entry.seq, v_entry.seq + 1);
  update summaries s set needs_redo = true
   where s.channel_id = p_channel and s.live and s.kind <> 'reset' and v_entry.seq between s.from_seq and s.to_seq;
  update jobs j set edited = true
   where j.channel_id = p_channel and j.state in ('running', 'staged') and v_entry.seq between j.from_seq and j.to_seq;
end $$;

-- As before; moreover the jobs that may have read the text are stale, and a memory goes with its last source. The
-- summaries that may hold it are replaced by the caller, in the same transaction.
create or replace function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
declare v_gone bigint[];
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry was indexed with this one as its neighbour.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update jobs j set state = 'stale', reason = 'a message that it had read was deleted', ended_at = clock_timestamp()
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and delete_message.seq between coalesce(j.saw_from, j.from_seq) and j.to_seq;
  delete from memory_sources s where s.channel_id = p_channel and s.seq = delete_message.seq;
  select array_agg(m.id) into v_gone from memories m
   where m.channel_id = p_channel and not exists (select from memory_sources s where s.memory_id = m.id);
  update memories m set superseded_by = null where m.superseded_by = any (v_gone);
  delete from memories m where m.id = any (v_gone);
end $$;

-- Memories are found by their words, within the channel or the workspace that may see them.
alter table memories add column tsv tsvector
  generated always as (to_tsvector('english', subject || ' ' || asserted_by || ' ' || statement)) stored;
create index memories_words on memories using gin (channel_id, tsv) with (fastupdate = off);
create index memories_shared_words on memories using gin (workspace, tsv) with (fastupdate = off) where scope = 'workspace';

-- What a command-line program beside a running daemon asks it to do.
create table requests (
  id         bigint generated always as identity primary key,
  channel_id bigint not null references channels,
  kind       text   not null check (kind in ('compact')),
  created_at timestamptz not null default now(),
  taken_at   timestamptz,
  ended_at   timestamptz,
  answer     jsonb
);
create index requests_waiting on requests (id) where taken_at is null;

create function requests_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('weir_requests', new.id::text);
  return null;
end $$;
create trigger requests_notify after insert on requests for each row execute function requests_notify();

create index summaries_to_redo on summaries (channel_id) where live and needs_redo;
