-- Whose a memory is follows from when it was said, and not from when it was summarised: only what people say while their channel is known
-- to be public is shared.

-- Which of these entries of a channel were said while everybody of its workspace could read it, as far as is known. A person's message
-- was: since the channel is public, and heard when it was said or edited. What Weir wrote may repeat anything that was said before.
create function said_in_public(p_channel bigint, p_seqs bigint[]) returns bigint[] language sql stable as $$
  select coalesce(array_agg(e.seq), '{}')
    from channels c join entries e on e.channel_id = c.id
   where c.id = p_channel and c.is_private = false and e.seq = any (p_seqs) and e.deleted_at is null and e.seq > c.privacy_after
     and case when e.kind = 'user' and not is_due_work(e.message_id)
              then (c.privacy_from is null or e.at >= c.privacy_from) and not coalesce(e.data ? 'late', false)
                   and not exists (select from revisions r where r.channel_id = c.id and r.seq = e.seq and r.is_late)
              else c.privacy_from is null
                   and not exists (select from entries l where l.channel_id = c.id and l.seq < e.seq and l.data ? 'late')
                   and not exists (select from revisions r where r.channel_id = c.id and r.seq < e.seq and r.is_late)
         end
$$;

-- With whom a memory is shared, and the sources on whose strength it is. The workspace's are those of a public channel that shares. Where
-- something of the channel was said in private, or may have been, it must rest on what was said in public: such sources alone remain
-- its, and each term of its statement stands in one of them, or in nothing that its job had read and that was not said in public.
create function memory_scope(p_channel channels, p_summary bigint, p_memory jsonb, out scope text, out sources jsonb)
language plpgsql stable as $$
declare v_public bigint[]; v_kept jsonb;
begin
  sources := p_memory->'sources';
  scope := case when p_channel.kind = 'dm' then 'dm' else 'channel' end;
  if p_channel.kind <> 'channel' or not p_channel.shares_memory or p_channel.is_private is distinct from false
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
    -- Beside a source of another time, one message must say it all: several may say together what was said in private.
    if jsonb_array_length(v_kept) < jsonb_array_length(sources) and not exists (
      select from jsonb_array_elements(v_kept) s
       where not exists (select from jsonb_each(p_memory->'said') t where not t.value @> jsonb_build_array(s->'seq')))
    then return; end if;
  -- A job that did not note where the terms stand may have read them anywhere. What somebody asks for is in its sources.
  elsif p_summary is not null or jsonb_array_length(v_kept) < jsonb_array_length(sources) then
    return;
  end if;
  scope := 'workspace';
  sources := v_kept;
end $$;

-- Adds a memory, or its sources to the same memory that is there already: the same words, or nearly, with the same numbers,
-- negations and names, of the same days. It keeps what its job had read, and by which terms it tells that. `memory_scope` says whose it
-- is. What the same person has said otherwise of the same thing before ends with it; if that was said later, it ends
-- with that. Events and observations are of their time, and todos are many: they end nothing.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, refers?: {from, to}, telling?, marks?, about?, slots?, sources: [{seq, quote}],
-- said?: {term: [seq]}}; said: of the terms that anything has which its job had read, the entries that do; 0: something else does.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare
  v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint; v_is_new boolean := false;
  v_marks text[] := case when p_memory ? 'marks' then array(select jsonb_array_elements_text(p_memory->'marks') m order by m) end;
  v_about text[] := case when p_memory ? 'about' then array(select jsonb_array_elements_text(p_memory->'about') w order by w) end;
  v_refers_from date; v_refers_to date; v_sources jsonb;
  v_text text := normal_text(p_memory->>'statement'); v_subject text := normal_text(p_memory->>'subject');
begin
  select * into strict v_channel from channels where id = p_channel;
  select s.scope, s.sources into v_scope, v_sources from memory_scope(v_channel, p_summary, p_memory) s;
  if jsonb_array_length(v_sources) < jsonb_array_length(p_memory->'sources') then
    -- Who says it, when, and of which days, is no more than its sources tell.
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
  for v_source in select * from jsonb_array_elements(v_sources) loop
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
