-- What a public channel remembers may be shared with its workspace.

alter table channels add column is_private boolean, add column shares_memory boolean not null default false;
comment on column channels.is_private is 'as its platform has told last; null: it has not, and the channel counts as private';
comment on column channels.shares_memory is 'the configuration shares what is remembered of it with its workspace, as long as it is public';

-- Adds a memory, or its sources to the same memory that is there already. It keeps what its job had read, and by which terms it
-- tells that. What a public channel says that shares is the workspace's.
-- p_summary: the summary of the job that found it; null: somebody asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, telling?, sources: [{seq, quote}]}.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint;
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

-- What a channel has shared is its own again once it is private, for a daemon of an older version as well, and stays so.
create function channels_keep_memories() returns trigger language plpgsql as $$
begin
  update memories m set scope = 'channel' where m.channel_id = new.id and m.scope = 'workspace';
  return null;
end $$;
create trigger channels_keep_memories after update of is_private on channels
  for each row when (new.is_private and old.is_private is distinct from new.is_private)
  execute function channels_keep_memories();
