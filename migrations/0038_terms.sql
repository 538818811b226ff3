-- A memory tells of which days it speaks, beside when it was said; what people mean by their words is one, too.

alter table memories add column refers_from date, add column refers_to date,
  add constraint memories_refers check ((refers_from is null) = (refers_to is null) and refers_from <= refers_to);
alter table memories alter column refers_from set statistics 0, alter column refers_to set statistics 0;
comment on column memories.refers_from is 'refers_from..refers_to: the days that it tells of; null: none, or an older version wrote it';

alter table memories drop constraint memories_type_check,
  add constraint memories_type_check check (type in ('fact', 'preference', 'decision', 'commitment', 'event',
                                                     'observation', 'goal', 'todo', 'identity', 'term'));

-- Adds a memory, or its sources to the same memory that is there already: the same words, or nearly, with the same numbers,
-- negations and names, of the same days. It keeps what its job had read, and by which terms it tells that. What a public channel says that shares is
-- the workspace's. What the same person has said otherwise of the same thing before ends with it; if that was said later, it ends
-- with that. Events and observations are of their time, and todos are many: they end nothing.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, refers?: {from, to}, telling?, marks?, about?, sources: [{seq, quote}]}.
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
                          summary_id, read_from, read_to, refers_from, refers_to, telling, marks, about)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to, v_refers_from, v_refers_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end, v_marks, v_about)
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
  if v_is_new then perform end_outdated(v_id); end if;
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
