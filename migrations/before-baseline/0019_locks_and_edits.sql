-- A compaction's commit and a deletion hold their channel's lock, for which its messages wait: what they look for is found
-- by an index, however much a channel has gathered.

-- One index instead of two, or a planner without statistics takes the other one.
drop index memories_in_scope;
create index memories_in_scope on memories (agent, scope, channel_id, md5(normal_text(statement))) where valid_to is null;
create index memories_superseded on memories (superseded_by) where superseded_by is not null;
create index summaries_of_channel on summaries (channel_id, from_seq);

-- As before, by the index.
create or replace function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare v_channel channels; v_scope text; v_id bigint; v_source jsonb;
begin
  select * into strict v_channel from channels where id = p_channel;
  v_scope := case v_channel.kind when 'dm' then 'dm' else 'channel' end;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and md5(normal_text(m.statement)) = md5(normal_text(p_memory->>'statement'))
     and normal_text(m.statement) = normal_text(p_memory->>'statement')
     and m.type = p_memory->>'type' and normal_text(m.subject) = normal_text(p_memory->>'subject')
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

-- As before; of the memories only those are looked at that the message proved.
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

-- As before; a channel whose row is locked has no rows here: it is written alone, and the others do not wait for it.
create or replace function append_listened(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_channel bigint; v_messages jsonb; m jsonb;
begin
  for batch, v_channel, v_messages in
    select b.place, (b.batch->>'channel')::bigint, b.batch->'messages'
      from jsonb_array_elements(p_batches) with ordinality b (batch, place) order by 2, 1
  loop
    perform from channels c where c.id = v_channel for no key update skip locked;
    continue when not found;
    if jsonb_array_length(v_messages) = 1 then
      m := v_messages->0;
      select a.seq, a.duplicate, a.due into seq, duplicate, due
        from append_message(v_channel, m->>'message_id', m->>'author_id', m->>'author_name', (m->>'author_bot')::boolean,
                            m->>'text', (m->>'tokens')::integer, (m->>'at')::timestamptz, (m->>'addressed')::boolean,
                            m->>'reply_to') a;
      return next;
    else
      for seq, duplicate, due in select a.seq, a.duplicate, a.due from append_messages(v_channel, v_messages) a loop
        return next;
      end loop;
    end if;
  end loop;
end $$;

-- As before; moreover a summary of the note of an earlier edit holds what that edit said, and is to be written again, too.
create or replace function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
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
  v_seqs := array(select r.noted_seq from revisions r
                   where r.channel_id = p_channel and r.seq = v_entry.seq and r.noted_seq is not null) || v_entry.seq;
  update summaries s set needs_redo = true
   where s.channel_id = p_channel and s.live and s.kind <> 'reset'
     and exists (select from unnest(v_seqs) v where v between s.from_seq and s.to_seq);
  update jobs j set edited = true
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and exists (select from unnest(v_seqs) v where v between j.from_seq and j.to_seq);
end $$;
