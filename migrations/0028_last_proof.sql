-- A memory goes with its last source: one function, however the source went.

-- Removes those of these memories of a channel that nothing proves any more. Returns which. The caller holds the channel's row lock.
create function drop_unproved(p_channel bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare
  v_gone bigint[] := array(
    select m.id from memories m
     where m.id = any (p_memories) and m.channel_id = p_channel
       and not exists (select from memory_sources s where s.memory_id = m.id));
begin
  update memories m set superseded_by = null where m.superseded_by = any (v_gone);
  delete from memories m where m.id = any (v_gone);
  return v_gone;
end $$;

-- An entry proves these memories no more (null: all that it proves). Returns those that nothing else proves, and that went.
create function take_proofs(p_channel bigint, p_seq bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare v_proved bigint[];
begin
  perform from channels c where c.id = p_channel for no key update;
  with taken as (
    delete from memory_sources s
     where s.channel_id = p_channel and s.seq = p_seq and (p_memories is null or s.memory_id = any (p_memories))
    returning s.memory_id
  ) select array_agg(taken.memory_id) into v_proved from taken;
  return drop_unproved(p_channel, v_proved);
end $$;

-- Removes a memory with all of its sources; the messages stay. Returns whether there was one.
create or replace function forget_memory(p_channel bigint, p_memory bigint) returns boolean language plpgsql as $$
begin
  perform from channels c where c.id = p_channel for no key update;
  delete from memory_sources s where s.memory_id = p_memory
     and exists (select from memories m where m.id = p_memory and m.channel_id = p_channel);
  return drop_unproved(p_channel, array[p_memory]) <> '{}';
end $$;

-- Deletes a message: its text goes from the log, its revisions and the search index; a job that may have read it is stale; and a
-- memory goes with its last source. The caller replaces the summaries that may tell it, in the same transaction.
create or replace function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry is indexed with the text before it, which was this one.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp() where p.channel_id = p_channel;
  update jobs j set state = 'stale', reason = 'a message that it had read was deleted', ended_at = clock_timestamp()
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and delete_message.seq between coalesce(j.saw_from, j.from_seq) and j.to_seq;
  perform take_proofs(p_channel, delete_message.seq, null);
end $$;
