-- What was deleted, edited away or forgotten is told by nothing: what was made of it is found by what its maker had read, and by
-- the terms that it shares with the text (`text/telling-terms.ts`).

alter table memories
  add column read_from bigint,
  add column read_to   bigint,
  add column telling   text[];
comment on column memories.read_from is 'read_from..read_to: the entries whose words the jobs had read that said it; null: it is its sources'' own words';
comment on column memories.telling is 'by which terms it tells what was said; null: written by an older version';
update memories m set read_from = made.first, read_to = made.last
  from (select s.memory_id, min(coalesce(j.saw_from, j.from_seq)) as first, max(j.to_seq) as last
          from memory_sources s
          join jobs j on j.channel_id = s.channel_id and j.kind = 'leaf' and j.state = 'committed' and s.seq between j.from_seq and j.to_seq
         group by s.memory_id) made
 where made.memory_id = m.id;
create index memories_read on memories (channel_id, read_to);

alter table jobs
  add column edited_seqs  bigint[] not null default '{}',
  add column edited_terms text[]   not null default '{}';
comment on column jobs.edited_seqs is 'entries that were edited after it began: what it found in them is no memory';
comment on column jobs.edited_terms is 'terms that these edits took from all that it had read: nor is what tells one of them';

alter table summaries add column substitute jsonb;
comment on column summaries.substitute is '{text, tokens}: the extract of what its range says since an edit, which it becomes as soon as no view shows it';

alter table search_progress add column erased_at timestamptz, add column deleted_at timestamptz;
comment on column search_progress.erased_at is 'when a text of the channel last went: older statistics of the index may tell its words';

comment on column search_progress.deleted_at is 'when a message of the channel was last deleted; null: what its running turn wrote behind that has been seen to';
create index search_erased on search_progress (erased_at) where erased_at is not null;

create index entries_tool_calls on entries (channel_id, seq) where kind = 'tool_call';

-- As before; moreover what is replaced by a newer text may become that text where no view shows it, and the arguments of a call
-- may go. Its name and its id stay, so that its results have a call.
create or replace function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    if new.deleted_at is not null and new.text = '' then return new; end if;
    if new.deleted_at is null and old.deleted_at is null then
      if new.kind = 'user' and new.data is not distinct from old.data
         and new.text = (select r.text from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                          order by r.revision desc limit 1)
         and (new.seq <= (select c.covered_to from channels c where c.id = new.channel_id)
              or not exists (select from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                                                       and r.noted_seq is not null))
      then return new; end if;
      if new.kind = 'tool_call' and new.text in ('', old.text) and new.data - 'calls' = old.data - 'calls'
         and jsonb_array_length(new.data->'calls') = jsonb_array_length(old.data->'calls')
         and not exists (
           select from jsonb_array_elements(new.data->'calls') with ordinality n (call, place)
             join jsonb_array_elements(old.data->'calls') with ordinality o (call, place) using (place)
            where n.call - 'arguments' <> o.call - 'arguments' or n.call->>'arguments' not in ('{}', o.call->>'arguments'))
      then return new; end if;
    end if;
  end if;
  raise exception 'the log is append-only (entry % of channel %)', old.seq, old.channel_id using errcode = 'WE001';
end $$;

create or replace function revisions_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.revision, new.at, new.noted_seq)
         is not distinct from (old.channel_id, old.seq, old.revision, old.at, old.noted_seq)
     and (new.text = '' or new.text = (select r.text from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                                        order by r.revision desc limit 1))
  then return new; end if;
  raise exception 'the log is append-only (revision % of entry % of channel %)', old.revision, old.seq, old.channel_id
    using errcode = 'WE001';
end $$;

-- What somebody has edited away stays only where the view shows it to a model that has read it: the text before the first noted
-- edit, and each note. Everything else of these entries says what they say now. The caller holds the channel's row lock.
create function forget_outdated(p_channel bigint, p_seqs bigint[]) returns void language plpgsql as $$
declare v_covered bigint; v_seq bigint; v_text text; v_last integer; v_unnoted integer; v_is_noted boolean;
begin
  select covered_to into strict v_covered from channels where id = p_channel;
  for v_seq in select distinct s from unnest(p_seqs) s loop
    select r.text, r.revision into v_text, v_last from revisions r
     where r.channel_id = p_channel and r.seq = v_seq order by r.revision desc limit 1;
    continue when not found;
    v_is_noted := exists (select from revisions r where r.channel_id = p_channel and r.seq = v_seq and r.noted_seq is not null);
    update entries e set text = v_text
     where e.channel_id = p_channel and e.seq = v_seq and e.deleted_at is null and e.text <> v_text
       and (v_seq <= v_covered or not v_is_noted);
    -- Of the earlier ones that no view shows only the last before the first note is read, as its first text is. The others go
    -- for good, or each edit would write all of them anew.
    select max(r.revision) into v_unnoted from revisions r
     where r.channel_id = p_channel and r.seq = v_seq and r.noted_seq is null;
    update revisions r set text = case when r.revision = v_unnoted then v_text else '' end
     where r.channel_id = p_channel and r.seq = v_seq and r.revision < v_last
       and r.text <> case when r.revision = v_unnoted then v_text else '' end
       and case when r.noted_seq is not null then r.noted_seq <= v_covered else v_seq <= v_covered or r.revision < v_unnoted end;
  end loop;
end $$;

-- What leaves the view for good takes with it what was edited away meanwhile, and the arguments of the calls that a model made
-- between a text and its edit: nobody asks for them again.
create function channels_forget_outdated() returns trigger language plpgsql as $$
declare v_between int8multirange;
begin
  perform forget_outdated(new.id, array(
    select r.seq from revisions r where r.channel_id = new.id and r.seq > old.covered_to and r.seq <= new.covered_to
    union
    select (e.data->>'edits')::bigint from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'notice' and e.data ? 'edits'));
  select range_agg(int8range(r.seq, r.noted_seq, '()')) into v_between from revisions r
   where r.channel_id = new.id and r.seq < new.covered_to and r.noted_seq > old.covered_to;
  update entries e set data = jsonb_set(e.data, '{calls}', (
           select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
             from jsonb_array_elements(e.data->'calls') with ordinality c (call, place)))
   where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'tool_call'
     and v_between @> e.seq;
  return null;
end $$;
create trigger channels_forget_outdated after update of covered_to on channels
  for each row when (old.covered_to < new.covered_to) execute function channels_forget_outdated();

-- A model that was asked before a deletion may call its tools behind it: such calls of the running turn lose their arguments. To be
-- asked by the channel's owner where its writer has stopped.
create function blank_late_calls(p_channel bigint) returns void language plpgsql as $$
declare v_at timestamptz; v_turn bigint; v_from bigint;
begin
  select deleted_at into v_at from search_progress where channel_id = p_channel and deleted_at is not null for update;
  if not found then return; end if;
  select t.id, t.from_seq into v_turn, v_from from turns t
   where t.channel_id = p_channel and t.state = 'running' and t.started_at < v_at;
  update entries e set text = '', data = jsonb_set(e.data, '{calls}', (
           select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
             from jsonb_array_elements(e.data->'calls') with ordinality c (call, place)))
   where e.channel_id = p_channel and e.kind = 'tool_call' and e.seq > v_from and e.turn_id = v_turn and e.appended_at > v_at;
  update search_progress set deleted_at = null where channel_id = p_channel;
end $$;

-- A summary that no view shows any more holds nothing of what was edited away.
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

-- An older version beside, which knows of none, gives a summary the extract of what a deletion has left: nothing is to bring back
-- what was made before it.
create function summaries_drop_substitute() returns trigger language plpgsql as $$
begin
  new.substitute := null;
  return new;
end $$;
create trigger summaries_drop_substitute before update of text on summaries
  for each row when (new.live and old.substitute is not null and new.substitute = old.substitute)
  execute function summaries_drop_substitute();

-- Takes the locks of a deletion, and tells all that the messages say and have said.
create function texts_to_go(p_channel bigint, p_message_ids text[]) returns table (seq bigint, text text) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  return query
    select e.seq, said.text from entries e
     cross join lateral (select e.text union select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) said
     where e.channel_id = p_channel and e.message_id = any (p_message_ids) and e.deleted_at is null;
end $$;

-- As `edit_message`, and it tells what the message said before; the caller takes what was made of that, in the same transaction.
create function revise_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint, out former text[]
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz; v_seqs bigint[];
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
  former := array(select v_entry.text union
                  select r.text from revisions r where r.channel_id = p_channel and r.seq = v_entry.seq);
  outcome := 'replaced';
  if exists (select from turns t where t.channel_id = p_channel and t.to_seq >= v_entry.seq) then
    outcome := 'noted';
    noted_seq := v_last + 1;
    insert into entries (channel_id, seq, kind, at, text, tokens, data)
    values (p_channel, noted_seq, 'notice', p_at, '', p_tokens, jsonb_build_object('edits', v_entry.seq));
  end if;
  insert into revisions (channel_id, seq, revision, text, at, noted_seq)
  values (p_channel, v_entry.seq, coalesce(v_revision, 0) + 1, p_text, p_at, revise_message.noted_seq);
  perform forget_outdated(p_channel, array[v_entry.seq]);
  perform index_entries(p_channel, v_entry.seq, v_entry.seq + 1);
  update search_progress p set erased_at = clock_timestamp() where p.channel_id = p_channel;
  v_seqs := array(select r.noted_seq from revisions r
                   where r.channel_id = p_channel and r.seq = v_entry.seq and r.noted_seq is not null) || v_entry.seq;
  update summaries s set needs_redo = true
   where s.channel_id = p_channel and s.live and s.kind <> 'reset'
     and exists (select from unnest(v_seqs) v where v between s.from_seq and s.to_seq);
  update jobs j set edited = true
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and exists (select from unnest(v_seqs) v where v between j.from_seq and j.to_seq);
end $$;

-- For an older version beside this one.
create or replace function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
) language sql as $$
  select r.outcome, r.seq, r.noted_seq from revise_message(p_channel, p_message_id, p_text, p_tokens, p_at) r
$$;

-- As before, and it notes when a text went.
create or replace function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
declare v_proved bigint[]; v_gone bigint[];
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry was indexed with this one as its neighbour.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp() where p.channel_id = p_channel;
  update jobs j set state = 'stale', reason = 'a message that it had read was deleted', ended_at = clock_timestamp()
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and delete_message.seq between coalesce(j.saw_from, j.from_seq) and j.to_seq;
  with gone as (
    delete from memory_sources s where s.channel_id = p_channel and s.seq = delete_message.seq returning s.memory_id
  ) select array_agg(distinct gone.memory_id) into v_proved from gone;
  select array_agg(m.id) into v_gone from memories m
   where m.id = any (v_proved) and m.channel_id = p_channel
     and not exists (select from memory_sources s where s.memory_id = m.id);
  update memories m set superseded_by = null where m.superseded_by = any (v_gone);
  delete from memories m where m.id = any (v_gone);
end $$;

-- As before, and a memory keeps what its job had read, and by which terms it tells of it.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint;
begin
  select * into strict v_channel from channels where id = p_channel;
  v_scope := case v_channel.kind when 'dm' then 'dm' else 'channel' end;
  select coalesce(j.saw_from, j.from_seq), j.to_seq into v_from, v_to
    from summaries s join jobs j on j.id = s.job_id where s.id = p_summary;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and md5(normal_text(m.statement)) = md5(normal_text(p_memory->>'statement'))
     and normal_text(m.statement) = normal_text(p_memory->>'statement')
     and m.type = p_memory->>'type' and normal_text(m.subject) = normal_text(p_memory->>'subject')
   order by m.id limit 1;
  if v_id is null then
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from,
                          summary_id, read_from, read_to, telling)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end)
    returning id into v_id;
  elsif v_from is not null then
    update memories m set read_from = least(m.read_from, v_from), read_to = greatest(m.read_to, v_to) where m.id = v_id;
  end if;
  for v_source in select * from jsonb_array_elements(p_memory->'sources') loop
    insert into memory_sources (memory_id, channel_id, seq, quote)
    values (v_id, p_channel, (v_source->>'seq')::bigint, v_source->>'quote')
    on conflict (memory_id, channel_id, seq) do nothing;
  end loop;
  return v_id;
end $$;

-- As before, but what was edited away after the job had begun is no memory.
create or replace function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
declare v_job jobs; v_channel channels; v_summary bigint; v_is_same boolean; v_memories integer := 0; v_memory jsonb; v_sources jsonb;
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
      select coalesce(jsonb_agg(s), '[]') into v_sources from jsonb_array_elements(v_memory->'sources') s
       where not (s->>'seq')::bigint = any (v_job.edited_seqs);
      continue when v_sources = '[]' or exists (
        select from jsonb_array_elements_text(coalesce(v_memory->'telling', '[]')) t where t = any (v_job.edited_terms));
      perform add_memory(v_job.channel_id, v_summary, v_memory || jsonb_build_object('sources', v_sources));
      v_memories := v_memories + 1;
    end loop;
  end if;
  update jobs set state = 'committed', memories = v_memories, ended_at = clock_timestamp() where id = p_job;
  outcome := 'committed';
end $$;

-- The planner's statistics keep words until they are made again, so there are none of what people and models write. Those of the
-- index's words, which tell a recall what is rare, are made again behind an erasure (`store/search/search.ts`).
do $$
declare v_table text; v_column text;
begin
  for v_table, v_column in values
    ('entries', 'text'), ('entries', 'data'), ('revisions', 'text'), ('summaries', 'text'), ('summaries', 'substitute'),
    ('memories', 'subject'), ('memories', 'statement'), ('memories', 'tsv'), ('memories', 'telling'), ('memory_sources', 'quote'),
    ('jobs', 'result'), ('jobs', 'reason'), ('jobs', 'edited_terms'), ('turns', 'reason'), ('requests', 'answer'),
    ('images', 'name'), ('entry_search', 'body')
  loop
    execute format('alter table %I alter column %I set statistics 0', v_table, v_column);
    if to_regprocedure('pg_clear_attribute_stats(text,text,text,boolean)') is not null then
      perform pg_clear_attribute_stats(current_schema()::text, v_table, v_column, false);
    else
      begin
        delete from pg_statistic where starelid = v_table::regclass and staattnum = (
          select attnum from pg_attribute where attrelid = v_table::regclass and attname = v_column);
      exception when insufficient_privilege then
        -- Theirs stay until the server's owner takes them: docs/privacy.md says how.
        null;
      end;
    end if;
  end loop;
end $$;
alter index memories_in_scope alter column 4 set statistics 0;

-- What older versions have left: first texts that no view shows, and memories of words that were edited away.
do $$
declare v_channel bigint; v_seqs bigint[]; v_gone bigint[];
begin
  for v_channel, v_seqs in select r.channel_id, array_agg(distinct r.seq) from revisions r group by r.channel_id loop
    perform forget_outdated(v_channel, v_seqs);
  end loop;
  delete from memory_sources s
   where exists (select from revisions r where r.channel_id = s.channel_id and r.seq = s.seq)
     and position(normal_text(s.quote) in normal_text((select entry_text(e.channel_id, e.seq, e.text) from entries e
                                                        where e.channel_id = s.channel_id and e.seq = s.seq))) = 0;
  v_gone := array(select m.id from memories m where not exists (select from memory_sources s where s.memory_id = m.id));
  update memories m set superseded_by = null where m.superseded_by = any (v_gone);
  delete from memories m where m.id = any (v_gone);
end $$;
