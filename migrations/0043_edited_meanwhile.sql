-- What was edited while its vector was being made is read again: its channel counts as done up to there alone, or what it says now
-- would never have a vector.

create or replace function keep_vectors(
  p_channel bigint, p_model text, p_from bigint, p_entries_to bigint, p_memories_to bigint, p_entries jsonb, p_memories jsonb
) returns void language plpgsql as $$
declare v_edited bigint;
begin
  -- No text goes between looking at it and keeping its vector.
  perform lock_search(p_channel);
  if not exists (select from vector_progress p where p.channel_id = p_channel and p.model = p_model) then return; end if;
  insert into entry_vectors (channel_id, seq, bits)
  select p_channel, e.seq, (v->>2)::bit varying
    from jsonb_array_elements(p_entries) v
    join entries e on e.channel_id = p_channel and e.seq = (v->>0)::bigint
   where e.deleted_at is null and md5(entry_text(p_channel, e.seq, e.text)) = v->>1
  on conflict (channel_id, seq) do update set bits = excluded.bits;
  insert into memory_vectors (memory_id, bits)
  select m.id, (v->>1)::bit varying
    from jsonb_array_elements(p_memories) v
    join memories m on m.id = (v->>0)::bigint and m.channel_id = p_channel
     for key share of m
  on conflict (memory_id) do update set bits = excluded.bits;
  select min(e.seq) into v_edited
    from jsonb_array_elements(p_entries) v
    join entries e on e.channel_id = p_channel and e.seq = (v->>0)::bigint
   where e.deleted_at is null and md5(entry_text(p_channel, e.seq, e.text)) <> v->>1;
  update vector_progress p set entries_to = least(p_entries_to, v_edited - 1), memories_to = p_memories_to
   where p.channel_id = p_channel and p.model = p_model and p.entries_to = p_from;
end $$;
