-- A memory tells of which days it speaks, beside when it was said; what people mean by their words is one, too.

alter table memories add column refers_from date, add column refers_to date,
  add constraint memories_refers check ((refers_from is null) = (refers_to is null) and refers_from <= refers_to);
alter table memories alter column refers_from set statistics 0, alter column refers_to set statistics 0;
comment on column memories.refers_from is 'refers_from..refers_to: the days that it tells of; null: none, or an older version wrote it';

-- Of its marks those that take one value (`memory/statement-marks.ts`).
alter table memories add column slots text[];
alter table memories alter column slots set statistics 0;
comment on column memories.slots is 'the dates, numbers, negations and days of its statement, and c: for a change; null: written by an older version';

-- Two people who disagree, each way round. No row says what they said, and it goes with either memory. Of memories of an older version
-- there is none until one of the two is said anew.
create table memory_disputes (
  memory_id bigint not null references memories on delete cascade,
  other_id  bigint not null references memories on delete cascade,
  primary key (memory_id, other_id)
);
create index memory_disputes_of_other on memory_disputes (other_id);

alter table memories drop constraint memories_type_check,
  add constraint memories_type_check check (type in ('fact', 'preference', 'decision', 'commitment', 'event',
                                                     'observation', 'goal', 'todo', 'identity', 'term'));

-- Adds a memory, or its sources to the same memory that is there already: the same words, or nearly, with the same numbers,
-- negations and names, of the same days. It keeps what its job had read, and by which terms it tells that. What a public channel says that shares is
-- the workspace's. What the same person has said otherwise of the same thing before ends with it; if that was said later, it ends
-- with that. Events and observations are of their time, and todos are many: they end nothing.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, refers?: {from, to}, telling?, marks?, about?, slots?, sources: [{seq, quote}]}.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare
  v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint; v_is_new boolean := false;
  v_marks text[] := case when p_memory ? 'marks' then array(select jsonb_array_elements_text(p_memory->'marks') m order by m) end;
  v_about text[] := case when p_memory ? 'about' then array(select jsonb_array_elements_text(p_memory->'about') w order by w) end;
  v_refers_from date := (p_memory->'refers'->>'from')::date; v_refers_to date := (p_memory->'refers'->>'to')::date;
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
     and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
   order by m.id limit 1;
  if v_id is null and v_marks is not null then
    select m.id into v_id from memories m
     where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
       and m.type = p_memory->>'type' and m.marks = v_marks and normal_text(m.subject) = v_subject
       and similarity(normal_text(m.statement), v_text) >= 0.85
       and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
     order by similarity(normal_text(m.statement), v_text) desc, m.id limit 1;
  end if;
  if v_id is null then
    v_is_new := true;
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from,
                          summary_id, read_from, read_to, refers_from, refers_to, telling, marks, about, slots)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to, v_refers_from, v_refers_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end, v_marks, v_about,
            case when p_memory ? 'slots' then array(select jsonb_array_elements_text(p_memory->'slots') m order by m) end)
    returning id into v_id;
  else
    update memories m set read_from = least(m.read_from, v_from), read_to = greatest(m.read_to, v_to),
                          refers_from = coalesce(m.refers_from, v_refers_from), refers_to = coalesce(m.refers_to, v_refers_to)
     where m.id = v_id and (v_from is not null or v_refers_from is not null);
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
  if v_is_new then perform note_disputes(v_id); end if;
  perform end_outdated(v_id, memory_asserter(v_id, p_memory->>'assertedBy'));
  return v_id;
end $$;

-- Returns the acronyms of a text that would be common words in small letters (IT, WHO; US, which is no stop word here), each once and in order as a lexeme that no word
-- has: =US. Who writes everything in capitals writes none. A row that was indexed before has none, and is found by its other words.
create function acronyms(p_text text) returns text[] language plpgsql immutable parallel safe as $$
begin
  if p_text !~ '\m[A-Z]{2,5}\M' or (p_text !~ '[a-z]{2}' and p_text ~ '\S\s+\S') then return '{}'; end if;
  return array(
    select distinct '=' || words.word[1] collate "C" as lexeme from regexp_matches(p_text, '\m([A-Z]{2,5})\M', 'g') words (word)
     where words.word[1] = 'US' or to_tsvector('english', words.word[1]) = ''::tsvector order by lexeme);
end $$;

-- Writes the index rows of p_from..p_to anew. Author and text weigh A, the text before them D; identifiers, pairs and acronyms are added.
-- Each entry is read once, and each text is made into lexemes once. The caller holds the lock of `lock_search`.
create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
declare v_edited boolean := exists (
  select from revisions r where r.channel_id = p_channel and r.seq between p_from - 1 and p_to);
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv, line)
  select p_channel, spoken.seq, left(concat_ws(' ', spoken.author_name, spoken.text), 20000),
         own.lexemes || setweight(coalesce(spoken.before, ''), 'D'),
         ranked_line(spoken.at, spoken.author_name, spoken.text, own.lexemes)
    from (
      select read.*, lag(case when length(read.text) <= 2000 then read.words
                              else to_tsvector('english', left(read.text, 2000)) end) over (order by read.seq) as before
        from (
          select said.*, case when said.kind in ('user', 'assistant') then to_tsvector('english', left(said.text, 20000)) end as words
            from (
              select e.seq, e.kind, e.deleted_at, e.author_name, e.at,
                     case when v_edited then entry_text(p_channel, e.seq, e.text) else e.text end as text
                from entries e where e.channel_id = p_channel and e.seq between p_from - 1 and p_to
               offset 0
            ) said
           offset 0
        ) read
    ) spoken
   cross join lateral (
      select setweight(to_tsvector('english', coalesce(spoken.author_name, '')) || spoken.words, 'A')
             || array_to_tsvector(identifier_parts(left(spoken.text, 20000)))
             || array_to_tsvector(acronyms(left(spoken.text, 20000)))
             || array_to_tsvector(character_pairs(left(concat_ws(' ', spoken.author_name, spoken.text), 2000))) as lexemes
      offset 0
   ) own
   where spoken.seq >= p_from and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null;
end $$;

-- When a person (null: the agent) said last what a memory tells; null: they did not.
create function last_said(p_memory bigint, p_by text) returns timestamptz language sql stable as $$
  select max(e.at) from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where s.memory_id = p_memory and e.author_id is not distinct from p_by
$$;

-- Did nobody but this person (null: the agent) say it?
create function said_alone(p_memory bigint, p_by text) returns boolean language sql stable as $$
  select not exists (
    select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
     where s.memory_id = p_memory and e.kind = 'user' and e.author_id is distinct from p_by)
$$;

-- Does a later statement of the same subject take an earlier one's place? It says something else of the same thing, and not only another
-- name: who speaks German may speak French as well. Another name does so where the later one says that something has changed, and of
-- what people have one of. A word means what was said of it last.
create function takes_place(p_old memories, p_new memories) returns boolean language sql stable as $$
  select case
    when p_old.type <> p_new.type or p_old.type in ('event', 'observation', 'todo') then false
    when p_old.type = 'term' then normal_text(p_old.statement) <> normal_text(p_new.statement)
    else coalesce(says_otherwise(p_old.marks, p_old.about, p_new.marks, p_new.about), false)
         and (p_old.slots is null or p_new.slots is null or 'c:' = any (p_new.slots)
              or array_remove(p_old.slots, 'c:') <> p_new.slots
              or p_old.type in ('preference', 'decision', 'goal', 'commitment'))
  end
$$;

-- What somebody has said (anew) ends what they said otherwise before, or ends with what they said after it.
drop function end_outdated(bigint);
create function end_outdated(p_memory bigint, p_by text) returns void language plpgsql as $$
declare v_new memories; v_other memories; v_at timestamptz := last_said(p_memory, p_by); v_other_at timestamptz;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.type in ('event', 'observation', 'todo') or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
  for v_other in
    select m.* from memories m
     where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
       and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
     order by m.valid_from, m.id
  loop
    v_other_at := last_said(v_other.id, p_by);
    -- What somebody else has said as well is not only the speaker's to end.
    if v_other_at <= v_at and takes_place(v_other, v_new) and said_alone(v_other.id, p_by) then
      update memories m set valid_to = v_at, superseded_by = v_new.id where m.id = v_other.id;
    elsif v_other_at > v_at and takes_place(v_new, v_other) and said_alone(v_new.id, p_by) then
      update memories m set valid_to = v_other_at, superseded_by = v_other.id where m.id = v_new.id;
      return;
    end if;
  end loop;
end $$;

-- Notes who says otherwise than a new memory.
create function note_disputes(p_memory bigint) returns void language plpgsql as $$
declare v_new memories;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.type in ('event', 'observation', 'todo') or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
  insert into memory_disputes (memory_id, other_id)
  select pair.one, pair.other from memories m cross join lateral (values (v_new.id, m.id), (m.id, v_new.id)) pair (one, other)
   where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
     and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
     and (takes_place(m, v_new) or takes_place(v_new, m))
     and memory_asserter(m.id, m.asserted_by) is distinct from memory_asserter(v_new.id, v_new.asserted_by)
  on conflict do nothing;
end $$;

-- Removes those of these memories of a channel that nothing proves any more, and of the others the name of who says them no longer. What
-- the former had ended holds again, or ends with what had ended them; so does what its own speaker had ended by one of the others, and
-- says so no longer, or not last. Returns which went. The caller holds the channel's row lock.
create or replace function drop_unproved(p_channel bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare
  v_one memories; v_by text;
  -- `+ 0`: by their ids, and not by all of the channel.
  v_gone bigint[] := array(
    select m.id from memories m
     where m.id = any (p_memories) and m.channel_id + 0 = p_channel
       and not exists (select from memory_sources s where s.memory_id = m.id));
begin
  for v_one in select g.* from memories g where g.id = any (v_gone) order by g.valid_from, g.id loop
    update memories m set superseded_by = v_one.superseded_by, valid_to = v_one.valid_to where m.superseded_by = v_one.id;
  end loop;
  delete from memories m where m.id = any (v_gone);
  -- Whose last words for it were taken back has not said it: it is told as said by the first who still does, on that day. Where the
  -- agent itself has said it, nobody can tell any more whose it was.
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
  return v_gone;
end $$;
