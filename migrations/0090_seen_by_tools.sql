-- What a tool has found out may be a memory: results of its calls prove it, and nobody has said it. It shows in its channel and that
-- channel's threads alone, and is compared with no statement of a person. A newer call of the same tool about the same subject ends it.

alter table memories add column tool text; -- the tool whose results prove it; null: people's words prove it, or the agent's
-- It is looked through by the channel, and by what a newer call ends.
create index memories_seen on memories (channel_id, tool, md5(normal_text(subject)), valid_to) where tool is not null;
alter index memories_seen alter column 3 set statistics 0;

-- Returns the newest answer of a model whose calls returned what proves a memory: their results stand right behind it.
create function last_called(p_memory bigint) returns bigint language sql stable as $$
  select max((select max(c.seq) from entries c where c.channel_id = s.channel_id and c.kind = 'tool_call' and c.seq < s.seq))
    from memory_sources s where s.memory_id = p_memory
$$;

-- Ends what older calls of the same tool have found about the same subject, or the memory itself if a newer call did. What calls of one
-- answer have found stands side by side.
create function end_seen(p_new memories) returns void language plpgsql as $$
declare v_other memories; v_called bigint := last_called(p_new.id); v_other_called bigint;
begin
  for v_other in
    select m.* from memories m
     where m.channel_id = p_new.channel_id and m.tool = p_new.tool and m.agent = p_new.agent and m.scope = p_new.scope
       and m.valid_to is null and m.id <> p_new.id
       and md5(normal_text(m.subject)) = md5(normal_text(p_new.subject)) and normal_text(m.subject) = normal_text(p_new.subject)
     order by m.valid_from, m.id
  loop
    v_other_called := last_called(v_other.id);
    if v_other_called < v_called then
      update memories m set valid_to = last_said(p_new.id, null), superseded_by = p_new.id where m.id = v_other.id;
    elsif v_other_called > v_called then
      update memories m set valid_to = last_said(v_other.id, null), superseded_by = v_other.id where m.id = p_new.id;
      return;
    end if;
  end loop;
end $$;

-- Ends what the same person said otherwise before, or the memory itself if they said that later, as 0087 has it. Of what a tool has
-- found, see `end_seen`.
create or replace function end_outdated(p_memory bigint, p_by text) returns void language plpgsql as $$
declare v_new memories; v_other memories; v_at timestamptz := last_said(p_memory, p_by); v_other_at timestamptz;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.tool is not null then perform end_seen(v_new); return; end if;
  if v_new.type = 'observation' or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
  for v_other in
    select m.* from memories m
     where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
       and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
     order by m.valid_from, m.id
  loop
    v_other_at := last_said(v_other.id, p_by);
    if v_other_at <= v_at and takes_place(v_other, v_new) and said_alone(v_other.id, p_by) then
      update memories m set valid_to = v_at, superseded_by = v_new.id where m.id = v_other.id;
    elsif v_other_at > v_at and takes_place(v_new, v_other) and said_alone(v_new.id, p_by) then
      update memories m set valid_to = v_other_at, superseded_by = v_other.id where m.id = v_new.id;
      return;
    end if;
  end loop;
end $$;

-- Returns with whom a memory is shared, and the sources on which it rests, as the baseline has it. What a tool has found is not shared.
create or replace function memory_scope(p_channel channels, p_summary bigint, p_memory jsonb, out scope text, out sources jsonb)
language plpgsql stable as $$
declare v_public bigint[]; v_kept jsonb;
begin
  sources := p_memory->'sources';
  scope := case when p_channel.kind = 'dm' then 'dm' else 'channel' end;
  if p_memory ? 'tool' or p_channel.kind <> 'channel' or not p_channel.shares_memory or p_channel.is_private is distinct from false
     or p_channel.workspace = ''
  then return; end if;
  if p_channel.privacy_from is null and p_channel.privacy_after = 0
     and not exists (select from entries e where e.channel_id = p_channel.id and e.data ? 'late')
     and not exists (select from revisions r where r.channel_id = p_channel.id and r.is_late)
  then scope := 'workspace'; return; end if;
  v_public := said_in_public(p_channel.id, array(
    select (s->>'seq')::bigint from jsonb_array_elements(sources) s
    union
    select seq::bigint from jsonb_each(coalesce(p_memory->'said', '{}')) t, jsonb_array_elements_text(t.value) seq));
  select jsonb_agg(s.value order by s.place) into v_kept
    from jsonb_array_elements(sources) with ordinality s (value, place) where (s.value->>'seq')::bigint = any (v_public);
  if v_kept is null then return; end if;
  if jsonb_array_length(v_kept) < jsonb_array_length(sources) and not exists (
    select from entries e where e.channel_id = p_channel.id and e.seq = any (v_public) and e.kind = 'user'
                            and e.seq in (select (s->>'seq')::bigint from jsonb_array_elements(v_kept) s))
  then return; end if;
  if p_memory ? 'said' then
    if exists (select from jsonb_each(p_memory->'said') t
                where exists (select from jsonb_array_elements_text(t.value) seq where seq::bigint <> all (v_public))
                  and not exists (select from jsonb_array_elements_text(t.value) seq join jsonb_array_elements(v_kept) s
                                      on (s->>'seq')::bigint = seq::bigint))
    then return; end if;
    -- If some sources were left out, one message must say everything: several together may say what was said in private.
    if jsonb_array_length(v_kept) < jsonb_array_length(sources) and not exists (
      select from jsonb_array_elements(v_kept) s
       where not exists (select from jsonb_each(p_memory->'said') t where not t.value @> jsonb_build_array(s->'seq')))
    then return; end if;
  -- A job that did not note where the terms stand may have read them anywhere. A memory that a person asks for is in its sources.
  elsif p_summary is not null or jsonb_array_length(v_kept) < jsonb_array_length(sources) then
    return;
  end if;
  scope := 'workspace';
  sources := v_kept;
end $$;

-- Returns the turn that made due work: an occurrence of its reminder, a report of its subagent, its hand-off, or its call that a person
-- has allowed. Null: the message is none of these.
create function made_by(p_channel bigint, p_message_id text) returns bigint language sql stable as $$
  select case substring(p_message_id from '^(reminder|subagent|handoff|approval)/')
    when 'reminder' then (select r.turn_id from reminders r where r.id = reminder_of(p_message_id))
    when 'subagent' then (select s.turn_id from subagents s
      where s.channel_id = p_channel and s.number = substring(p_message_id from '^subagent/(\d{1,9})(?:/|$)')::integer)
    when 'approval' then (select a.turn_id from approvals a
      where a.channel_id = p_channel and a.id = substring(p_message_id from '^approval/(\d{1,15})$')::bigint)
    when 'handoff' then substring(p_message_id from '^handoff/(\d{1,18})/')::bigint
  end
$$;

-- Returns the turn that asked a person to allow the call with this result. Null: nobody was asked.
create function allowed_for(p_channel bigint, p_result entries) returns bigint language sql stable as $$
  select a.turn_id from approvals a
   where a.channel_id = p_channel and a.id = substring(p_result.data->>'call_id' from '^approval_(\d{1,15})$')::bigint
$$;

-- Whether a tool returned a result for a message of this person; null: for one that is deleted. Its turn had the message to answer, or due
-- work of a turn that had it. The same in the other direction is `results_for`.
create function is_for(p_channel bigint, p_result bigint, p_by text) returns boolean language plpgsql stable as $$
declare v_turns bigint[]; v_turn turns; v_place integer := 1;
begin
  select array_remove(array[e.turn_id, allowed_for(p_channel, e)], null) into v_turns from entries e
   where e.channel_id = p_channel and e.seq = p_result;
  while v_place <= cardinality(v_turns) loop
    select t.* into v_turn from turns t where t.id = v_turns[v_place] and t.channel_id = p_channel;
    if exists (
      select from entries d where d.channel_id = p_channel and d.addressed and d.seq between v_turn.from_seq and v_turn.to_seq
         and case when p_by is null then d.deleted_at is not null else d.author_id = p_by and d.deleted_at is null end)
    then return true; end if;
    v_turns := v_turns || array(
      select distinct made.turn_id from entries d cross join lateral made_by(p_channel, d.message_id) made (turn_id)
       where d.channel_id = p_channel and d.message_id ~ '^(reminder|subagent|handoff|approval)/'
         and d.seq between v_turn.from_seq and v_turn.to_seq and made.turn_id <> all (v_turns));
    v_place := v_place + 1;
  end loop;
  return false;
end $$;

-- Whether a tool returned a result for a message that is deleted: then it proves nothing.
create function is_for_deleted(p_channel bigint, p_result bigint) returns boolean language sql stable as $$
  select is_for(p_channel, p_result, null)
$$;

-- Returns the results that prove something and that tools returned for a message, as `is_for` has it.
create function results_for(p_channel bigint, p_message bigint) returns setof bigint language sql stable as $$
  with recursive due as materialized (
    select d.seq, made_by(p_channel, d.message_id) as turn_id from entries d
     where d.channel_id = p_channel and d.seq > p_message and d.message_id ~ '^(reminder|subagent|handoff|approval)/'
  ), asked (turn_id) as (
    select t.id from turns t where t.channel_id = p_channel and t.to_seq >= p_message and t.from_seq <= p_message
    union
    select t.id from asked join due on due.turn_id = asked.turn_id
      join turns t on t.channel_id = p_channel and t.to_seq >= due.seq and t.from_seq <= due.seq
  )
  select distinct s.seq
    from memories m join memory_sources s on s.memory_id = m.id
    join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where m.channel_id = p_channel and m.tool is not null and s.channel_id = p_channel and s.seq > p_message
     and (e.turn_id in (select turn_id from asked)
          or e.data->>'call_id' ~ '^approval_\d{1,15}$' and allowed_for(p_channel, e) in (select turn_id from asked))
$$;

-- Adds a memory, or its sources to the same memory that is there already, as the baseline has it. p_memory also has tool?: results of
-- that tool prove it, and neither those that are deleted by now nor those for deleted messages do; if none is left, nothing is added, and
-- it returns null.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare
  v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint; v_is_new boolean := false;
  v_marks text[] := case when p_memory ? 'marks' then array(select jsonb_array_elements_text(p_memory->'marks') m order by m) end;
  v_about text[] := case when p_memory ? 'about' then array(select jsonb_array_elements_text(p_memory->'about') w order by w) end;
  v_refers_from date; v_refers_to date; v_sources jsonb;
  v_tool text := p_memory->>'tool'; v_text text := normal_text(p_memory->>'statement'); v_subject text := normal_text(p_memory->>'subject');
begin
  select * into strict v_channel from channels where id = p_channel;
  select s.scope, s.sources into v_scope, v_sources from memory_scope(v_channel, p_summary, p_memory) s;
  if v_tool is not null then
    select jsonb_agg(s.value order by s.place) into v_sources from jsonb_array_elements(v_sources) with ordinality s (value, place)
      join entries e on e.channel_id = p_channel and e.seq = (s.value->>'seq')::bigint and e.kind = 'tool_result' and e.deleted_at is null
     where not is_for_deleted(p_channel, e.seq);
    if v_sources is null then return null; end if;
  end if;
  if v_tool is null and jsonb_array_length(v_sources) < jsonb_array_length(p_memory->'sources') then
    -- Its speaker and its times follow from the sources that remain.
    p_memory := p_memory - 'refers' || (
      select jsonb_build_object('assertedBy', (array_agg(e.author_name order by s.place))[1], 'at', max(e.at))
        from jsonb_array_elements(v_sources) with ordinality s (value, place)
        join entries e on e.channel_id = p_channel and e.seq = (s.value->>'seq')::bigint and e.kind = 'user');
  end if;
  v_refers_from := (p_memory->'refers'->>'from')::date;
  v_refers_to := (p_memory->'refers'->>'to')::date;
  select coalesce(j.saw_from, j.from_seq), j.to_seq into v_from, v_to
    from summaries s join jobs j on j.id = s.job_id where s.id = p_summary;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and md5(normal_text(m.statement)) = md5(v_text) and normal_text(m.statement) = v_text
     and m.type = p_memory->>'type' and m.tool is not distinct from v_tool and normal_text(m.subject) = v_subject
     and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
   order by m.id limit 1;
  if v_id is null and v_marks is not null then
    select m.id into v_id from memories m
     where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
       and m.type = p_memory->>'type' and m.tool is not distinct from v_tool and m.marks = v_marks and normal_text(m.subject) = v_subject
       and similarity(normal_text(m.statement), v_text) >= 0.85
       and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
     order by similarity(normal_text(m.statement), v_text) desc, m.id limit 1;
  end if;
  if v_id is null then
    v_is_new := true;
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from,
                          summary_id, read_from, read_to, refers_from, refers_to, telling, marks, about, slots, tool, judged)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to, v_refers_from, v_refers_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end, v_marks, v_about,
            case when p_memory ? 'slots' then array(select jsonb_array_elements_text(p_memory->'slots') m order by m) end,
            v_tool, v_tool is not null)
    returning id into v_id;
  else
    update memories m set read_from = least(m.read_from, v_from), read_to = greatest(m.read_to, v_to),
                          refers_from = coalesce(m.refers_from, v_refers_from), refers_to = coalesce(m.refers_to, v_refers_to)
     where m.id = v_id and (v_from is not null or v_refers_from is not null);
  end if;
  for v_source in select * from jsonb_array_elements(v_sources) loop
    -- An agent that repeats a memory does not prove what somebody else has said.
    if not v_is_new and memory_asserter(v_id, p_memory->>'assertedBy') is not null and exists (
      select from entries e where e.channel_id = p_channel and e.seq = (v_source->>'seq')::bigint and e.kind = 'assistant')
    then
      perform count_rejected(p_channel, array['restated_memory']);
      continue;
    end if;
    insert into memory_sources (memory_id, channel_id, seq, quote)
    values (v_id, p_channel, (v_source->>'seq')::bigint, v_source->>'quote')
    on conflict (memory_id, channel_id, seq) do nothing;
  end loop;
  if v_tool is not null then
    update memories m set valid_from = last_said(v_id, null) where m.id = v_id;
  elsif v_is_new then
    perform note_disputes(v_id);
  end if;
  perform end_outdated(v_id, memory_asserter(v_id, p_memory->>'assertedBy'));
  return v_id;
end $$;

-- Removes those of these memories of a channel that have no source left, as the baseline has it. What a tool has found is from the time of
-- its last result. What holds again of it, or has lost a result, ends where a newer call has found something else.
create or replace function drop_unproved(p_channel bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare
  v_one memories; v_by text; v_ended bigint[] := '{}';
  -- `+ 0`: the plan reads them by id, and not the whole channel.
  v_gone bigint[] := array(
    select m.id from memories m
     where m.id = any (p_memories) and m.channel_id + 0 = p_channel
       and not exists (select from memory_sources s where s.memory_id = m.id));
begin
  for v_one in select g.* from memories g where g.id = any (v_gone) order by g.valid_from, g.id loop
    v_ended := v_ended || array(select m.id from memories m where m.superseded_by = v_one.id and m.tool is not null);
    update memories m set superseded_by = v_one.superseded_by, valid_to = v_one.valid_to where m.superseded_by = v_one.id;
  end loop;
  delete from memories m where m.id = any (v_gone);
  -- It was seen when a tool returned it last.
  update memories m set valid_from = last_said(m.id, null) where m.id = any (p_memories) and m.tool is not null;
  -- If the named speaker no longer says it, the first person who does becomes its speaker, on that day. If the agent itself has said
  -- it, nobody can tell whose it was, and the name stays.
  update memories m set asserted_by = first.author_name, valid_from = first.at
    from memories known
    cross join lateral (
      select e.author_name, e.at from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
       where s.memory_id = known.id and e.kind = 'user' order by s.seq limit 1
    ) first
   where known.id = any (p_memories) and m.id = known.id and not exists (
     select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
      where s.memory_id = m.id and (e.kind <> 'user' or e.author_name = m.asserted_by));
  for v_one in select m.* from memories m where m.superseded_by = any (p_memories) order by m.id loop
    v_by := memory_asserter(v_one.id, v_one.asserted_by);
    continue when last_said(v_one.superseded_by, v_by) >= last_said(v_one.id, v_by);
    update memories m set superseded_by = null, valid_to = null where m.id = v_one.id;
    perform end_outdated(v_one.id, v_by);
  end loop;
  for v_one in
    select m.* from memories m
     where (m.id = any (p_memories) or m.id = any (v_ended)) and m.tool is not null and m.valid_to is null order by m.valid_from, m.id
  loop
    perform end_outdated(v_one.id, null);
  end loop;
  return v_gone;
end $$;

-- A result that is blanked proves nothing. Other writers than a deletion blank it as well, as when it leaves the view after an edit.
create function entries_end_seen() returns trigger language plpgsql as $$
begin
  if exists (select from memory_sources s where s.channel_id = new.channel_id and s.seq = new.seq) then
    perform take_proofs(new.channel_id, new.seq, null);
  end if;
  return null;
end $$;
create trigger entries_end_seen after update on entries
  for each row when (new.kind = 'tool_result' and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_end_seen();

-- Ends the proofs that tools returned for a deleted message of a channel. The caller holds the channel's row lock.
create function take_seen(p_channel bigint, p_deleted bigint) returns void language plpgsql as $$
declare v_seq bigint;
begin
  if not exists (select from memories m where m.channel_id = p_channel and m.tool is not null) then return; end if;
  for v_seq in select result from results_for(p_channel, p_deleted) result order by result
  loop
    perform take_proofs(p_channel, v_seq, null);
  end loop;
end $$;

-- Deletes a message, as the baseline has it; also the proofs that tools returned for it, whatever words these have.
create or replace function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
declare v_is_addressed boolean;
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null
  returning e.seq, e.addressed into delete_message.seq, v_is_addressed;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry is indexed with this text, which stood before it.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp(),
                               deleted_seq = least(p.deleted_seq, delete_message.seq)
   where p.channel_id = p_channel;
  perform take_proofs(p_channel, delete_message.seq, null);
  if v_is_addressed then perform take_seen(p_channel, delete_message.seq); end if;
end $$;

-- Puts the summary of a finished job in its place, as the baseline has it. It counts the memories that are there.
create or replace function put_summary(p_job jobs) returns void language plpgsql as $$
declare v_summary bigint; v_memories integer := 0; v_memory jsonb; v_sources jsonb; v_id bigint;
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
      v_id := add_memory(p_job.channel_id, v_summary, v_memory || jsonb_build_object('sources', v_sources));
      v_memories := v_memories + (v_id is not null)::integer;
    end loop;
  end if;
  update jobs set state = 'committed', memories = v_memories, ended_at = clock_timestamp() where id = p_job.id;
end $$;

-- Returns the nearest older memory that says the same as this one, as the baseline has it; of what tools have found, none.
create or replace function same_meaning(p_memory bigint, p_share float8) returns bigint language sql stable as $$
  with near as materialized (
    select o.id, o.subject, n.subject as told, bit_count(v.bits # w.bits) as apart
      from memories n join memory_vectors w on w.memory_id = n.id
      join memories o on o.channel_id = n.channel_id and o.agent = n.agent and o.scope = n.scope and o.valid_to is null and o.same_as is null
                     and o.id < n.id and o.type = n.type and o.marks = n.marks
                     and o.refers_from is not distinct from n.refers_from and o.refers_to is not distinct from n.refers_to
      join memory_vectors v on v.memory_id = o.id
     where n.id = p_memory and n.tool is null and o.tool is null and n.valid_to is null and length(v.bits) = length(w.bits)
       and bit_count(v.bits # w.bits) <= p_share * length(w.bits))
  select id from near where normal_text(subject) = normal_text(told) order by apart, id limit 1
$$;

-- Applies what a summariser says of two memories, as 0086 has it; not of what tools have found.
create or replace function revise_memory(p_channel bigint, p_fresh bigint, p_older bigint, p_change text) returns boolean language plpgsql as $$
declare v_fresh memories; v_older memories; v_by text; v_other text; v_at timestamptz;
begin
  select m.* into v_fresh from memories m where m.id = p_fresh and m.channel_id = p_channel and m.valid_to is null;
  select m.* into v_older from memories m where m.id = p_older and m.channel_id = p_channel and m.valid_to is null;
  if v_fresh.id is null or v_older.id is null or v_fresh.id = v_older.id
     or v_fresh.tool is not null or v_older.tool is not null
     or v_fresh.agent <> v_older.agent or v_fresh.scope <> v_older.scope
  then return false; end if;
  v_by := memory_asserter(v_fresh.id, v_fresh.asserted_by);
  v_other := memory_asserter(v_older.id, v_older.asserted_by);
  v_at := last_said(v_fresh.id, v_by);
  if p_change = 'contradicts' then
    if v_by is not distinct from v_other then return false; end if;
    insert into memory_disputes (memory_id, other_id) values (p_fresh, p_older), (p_older, p_fresh) on conflict do nothing;
    return true;
  end if;
  if v_at < last_said(v_older.id, v_other) then return false; end if;
  if p_change = 'repeats' then
    if v_by is distinct from v_other or v_older.same_as is not null or v_older.type <> v_fresh.type then return false; end if;
    update memories m set same_as = p_older where m.id = p_fresh or m.same_as = p_fresh;
    update memories m set stands_for = true where m.id = p_older and not m.stands_for;
    return true;
  end if;
  if v_by is distinct from v_other and (
    v_by is null or normal_text(v_older.subject) <> normal_text(v_fresh.asserted_by)
    or not said_alone(p_older, v_other)
    or exists (select from speakers s where s.channel_id = p_channel and s.name = v_fresh.asserted_by and s.author_id <> v_by))
  then return false; end if;
  if v_by is not distinct from v_other and not said_alone(p_older, v_by) then return false; end if;
  update memories m set valid_to = v_at, superseded_by = p_fresh where m.id = p_older;
  return true;
end $$;
