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
