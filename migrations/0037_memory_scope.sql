-- What a public channel remembers may be shared with its workspace, and what somebody said is ended by what they said later.

alter table channels add column is_private boolean, add column shares_memory boolean not null default false;
comment on column channels.is_private is 'as its platform has told last; null: it has not, and the channel counts as private';
comment on column channels.shares_memory is 'the configuration shares what is remembered of it with its workspace, as long as it is public';

-- What statements are compared by (`memory/statement-marks.ts`).
alter table memories add column marks text[], add column about text[];
alter table memories alter column marks set statistics 0, alter column about set statistics 0;
comment on column memories.marks is 'the numbers, negations and names of its statement; null: written by an older version, and compared with nothing';
comment on column memories.about is 'its other words';
comment on column memories.valid_to is 'when its speaker said something newer of the same';

-- Memories that were refused: how many, and never what they said.
create table memory_rejections (
  channel_id bigint not null references channels,
  reason     text   not null,
  count      bigint not null,
  last_at    timestamptz not null default clock_timestamp(),
  primary key (channel_id, reason)
);

create function count_rejected(p_channel bigint, p_reasons text[]) returns void language sql as $$
  insert into memory_rejections (channel_id, reason, count)
  select p_channel, r, count(*) from unnest(p_reasons) r group by r order by r
  on conflict (channel_id, reason)
  do update set count = memory_rejections.count + excluded.count, last_at = excluded.last_at
$$;

-- By the id of a person: names change, and anybody can take one. Null: the agent itself.
create function memory_asserter(p_memory bigint, p_asserted_by text) returns text language sql stable as $$
  select e.author_id from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where s.memory_id = p_memory and e.kind = 'user' order by e.author_name <> p_asserted_by, s.seq limit 1
$$;

-- Marks that begin like this.
create function marks_like(p_marks text[], p_pattern text) returns text[] language sql immutable as $$
  select array(select m from unnest(p_marks) m where m like p_pattern order by m)
$$;

-- Does one statement say something else of the same thing than another? Three quarters of what they are about is the same, and what
-- counts is not. With another date as well as another number they tell of two times.
create function says_otherwise(p_marks text[], p_about text[], q_marks text[], q_about text[]) returns boolean
language sql immutable as $$
  select cardinality(p_about) > 0 and cardinality(q_about) > 0
     and 4 * (select count(*) from unnest(p_about) w where w = any (q_about))
         >= 3 * (select count(distinct w) from unnest(p_about || q_about) w)
     and array(select m from unnest(p_marks) m where m not like '^%' order by m)
         <> array(select m from unnest(q_marks) m where m not like '^%' order by m)
     and (marks_like(p_marks, 'd:%') = marks_like(q_marks, 'd:%') or marks_like(p_marks, 'n:%') = marks_like(q_marks, 'n:%'))
$$;

-- Adds a memory, or its sources to the same memory that is there already: the same words, or nearly, with the same numbers,
-- negations and names. It keeps what its job had read, and by which terms it tells that. What a public channel says that shares is
-- the workspace's. What the same person has said otherwise of the same thing before ends with it; if that was said later, it ends
-- with that. Events and observations are of their time, and todos are many: they end nothing.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, telling?, marks?, about?, sources: [{seq, quote}]}.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare
  v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint; v_is_new boolean := false;
  v_marks text[] := case when p_memory ? 'marks' then array(select jsonb_array_elements_text(p_memory->'marks') m order by m) end;
  v_about text[] := case when p_memory ? 'about' then array(select jsonb_array_elements_text(p_memory->'about') w order by w) end;
  v_text text := normal_text(p_memory->>'statement'); v_subject text := normal_text(p_memory->>'subject');
begin
  select * into strict v_channel from channels where id = p_channel;
  v_scope := case when v_channel.kind = 'dm' then 'dm'
                  when v_channel.kind = 'channel' and v_channel.shares_memory and v_channel.is_private = false
                   and v_channel.workspace <> '' then 'workspace'
                  else 'channel' end;
  select coalesce(j.saw_from, j.from_seq), j.to_seq into v_from, v_to
    from summaries s join jobs j on j.id = s.job_id where s.id = p_summary;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and md5(normal_text(m.statement)) = md5(v_text) and normal_text(m.statement) = v_text
     and m.type = p_memory->>'type' and normal_text(m.subject) = v_subject
   order by m.id limit 1;
  if v_id is null and v_marks is not null then
    select m.id into v_id from memories m
     where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
       and m.type = p_memory->>'type' and m.marks = v_marks and normal_text(m.subject) = v_subject
       and similarity(normal_text(m.statement), v_text) >= 0.85
     order by similarity(normal_text(m.statement), v_text) desc, m.id limit 1;
  end if;
  if v_id is null then
    v_is_new := true;
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from,
                          summary_id, read_from, read_to, telling, marks, about)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end, v_marks, v_about)
    returning id into v_id;
  elsif v_from is not null then
    update memories m set read_from = least(m.read_from, v_from), read_to = greatest(m.read_to, v_to) where m.id = v_id;
  end if;
  for v_source in select * from jsonb_array_elements(p_memory->'sources') loop
    -- What the agent repeats proves nothing of what somebody else has said.
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
  if v_is_new then perform end_outdated(v_id); end if;
  return v_id;
end $$;

-- A new memory ends what its speaker said otherwise before, or ends with what was said after it.
create function end_outdated(p_memory bigint) returns void language plpgsql as $$
declare v_new memories; v_other memories;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.about is null or v_new.about = '{}' or v_new.type in ('event', 'observation', 'todo') then return; end if;
  for v_other in
    select m.* from memories m
     where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
       and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
       and says_otherwise(m.marks, m.about, v_new.marks, v_new.about)
       and memory_asserter(m.id, m.asserted_by) is not distinct from memory_asserter(v_new.id, v_new.asserted_by)
       -- What somebody else has said as well is not only the speaker's to end.
       and not exists (
         select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
          where s.memory_id = m.id and e.kind = 'user' and e.author_id <> memory_asserter(m.id, m.asserted_by))
     order by m.valid_from, m.id
  loop
    if v_other.valid_from <= v_new.valid_from then
      update memories m set valid_to = v_new.valid_from, superseded_by = v_new.id where m.id = v_other.id;
    else
      update memories m set valid_to = v_other.valid_from, superseded_by = v_other.id where m.id = v_new.id;
      return;
    end if;
  end loop;
end $$;

-- Removes those of these memories of a channel that nothing proves any more. What they had ended holds again, or ends with what had
-- ended them. Returns which. The caller holds the channel's row lock.
create or replace function drop_unproved(p_channel bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare
  v_one memories;
  -- `+ 0`: by their ids, and not by all of the channel.
  v_gone bigint[] := array(
    select m.id from memories m
     where m.id = any (p_memories) and m.channel_id + 0 = p_channel
       and not exists (select from memory_sources s where s.memory_id = m.id));
begin
  if v_gone = '{}' then return v_gone; end if;
  for v_one in select g.* from memories g where g.id = any (v_gone) order by g.valid_from, g.id loop
    update memories m set superseded_by = v_one.superseded_by, valid_to = v_one.valid_to where m.superseded_by = v_one.id;
  end loop;
  delete from memories m where m.id = any (v_gone);
  return v_gone;
end $$;

-- What a channel has shared is its own again once it is private, for a daemon of an older version as well, and stays so.
create function channels_keep_memories() returns trigger language plpgsql as $$
begin
  update memories m set scope = 'channel' where m.channel_id = new.id and m.scope = 'workspace';
  return null;
end $$;
create trigger channels_keep_memories after update of is_private on channels
  for each row when (new.is_private and old.is_private is distinct from new.is_private)
  execute function channels_keep_memories();

-- Where memories of another channel were shown: what that channel's model made of them goes with them.
create table memory_showings (
  memory_id  bigint not null,
  channel_id bigint not null references channels,
  -- The first message of the first turn that was shown it.
  seq        bigint not null,
  primary key (memory_id, channel_id)
);
comment on table memory_showings is 'memories that turns of other channels were shown; it has no text, and a row stays when its memory is gone';

create function entries_note_showings() returns trigger language plpgsql as $$
begin
  insert into memory_showings (memory_id, channel_id, seq)
  select m.id, new.channel_id, t.from_seq
    from jsonb_array_elements_text(
           coalesce(nullif(new.data->'memories', 'null'), '[]') || coalesce(nullif(new.data->'recalled'->'memories', 'null'), '[]')) shown (id)
    join memories m on m.id = shown.id::bigint and m.channel_id <> new.channel_id
    join turns t on t.id = new.turn_id
  on conflict do nothing;
  return null;
end $$;
create trigger entries_note_showings after insert on entries
  for each row when (new.turn_id is not null and (new.data ? 'memories' or new.data ? 'recalled'))
  execute function entries_note_showings();
