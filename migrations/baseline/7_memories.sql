-- Memories: each has at least one source, and is written under its channel's row lock.

-- Adds a memory, or its sources to the same memory that is there already. It keeps what its job had read, and by which terms it
-- tells that.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, telling?, sources: [{seq, quote}]}.
create function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
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

-- Appends the words of somebody who wants them remembered, as a message that is not addressed to anybody, and adds the memory that
-- they prove, in one transaction. A repeated call brings nothing back: if the message was deleted or edited meanwhile, it adds no
-- memory. proofs: how many messages prove the memory now.
create function remember_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_text text, p_tokens integer, p_at timestamptz,
  p_memory jsonb,
  out entry_seq bigint, out memory bigint, out proofs bigint
) language plpgsql as $$
declare v_source jsonb; v_deleted boolean; v_edited text;
begin
  select a.seq into entry_seq
    from append_message(p_channel, p_message_id, p_author_id, p_author_name, false, p_text, p_tokens, p_at, false, null) a;
  select e.deleted_at is not null,
         (select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq order by r.revision desc limit 1)
    into v_deleted, v_edited from entries e where e.channel_id = p_channel and e.seq = entry_seq;
  if v_deleted or v_edited <> p_text then
    proofs := 0;
    return;
  end if;
  v_source := jsonb_build_object('seq', entry_seq, 'quote', p_memory->'sources'->0->>'quote');
  memory := add_memory(p_channel, null, p_memory || jsonb_build_object('sources', jsonb_build_array(v_source)));
  select count(*) into proofs from memory_sources s where s.memory_id = remember_message.memory;
end $$;

-- Removes a memory with all of its sources; the messages stay. Returns whether there was one.
create function forget_memory(p_channel bigint, p_memory bigint) returns boolean language plpgsql as $$
begin
  perform from channels c where c.id = p_channel for no key update;
  update memories m set superseded_by = null where m.superseded_by = p_memory and m.channel_id = p_channel;
  delete from memory_sources s where s.memory_id = p_memory
     and exists (select from memories m where m.id = p_memory and m.channel_id = p_channel);
  delete from memories m where m.id = p_memory and m.channel_id = p_channel;
  return found;
end $$;
