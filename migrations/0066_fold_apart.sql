-- What says the same is looked for before its channel is locked: each look-up compares a new memory with all of the channel, and what
-- people say would wait for it.

-- The older memory that says the same as this one: of the same kind, of the same thing, of the same days, with the same numbers,
-- negations and names, and with a vector that differs in at most p_share of its bits. The nearest; null where there is none.
create function same_meaning(p_memory bigint, p_share float8) returns bigint language sql stable as $$
  with near as materialized (
    select o.id, o.subject, n.subject as told, bit_count(v.bits # w.bits) as apart
      from memories n join memory_vectors w on w.memory_id = n.id
      join memories o on o.channel_id = n.channel_id and o.agent = n.agent and o.scope = n.scope and o.valid_to is null and o.same_as is null
                     and o.id < n.id and o.type = n.type and o.marks = n.marks
                     and o.refers_from is not distinct from n.refers_from and o.refers_to is not distinct from n.refers_to
      join memory_vectors v on v.memory_id = o.id
     where n.id = p_memory and n.valid_to is null and length(v.bits) = length(w.bits)
       and bit_count(v.bits # w.bits) <= p_share * length(w.bits))
  select id from near where normal_text(subject) = normal_text(told) order by apart, id limit 1
$$;

-- Puts new memories of a channel behind older ones that say the same, each under the channel's lock, and only where both hold still.
-- Returns which. Whoever gives one at a time has the lock for no look-up at all.
create or replace function fold_memories(p_channel bigint, p_memories bigint[], p_share float8) returns bigint[] language plpgsql as $$
declare v_new bigint; v_older bigint; v_folded bigint[] := '{}';
begin
  for v_new in select m.id from memories m where m.id = any (p_memories) and m.channel_id + 0 = p_channel order by m.id loop
    v_older := same_meaning(v_new, p_share);
    continue when v_older is null;
    perform from channels c where c.id = p_channel for no key update;
    perform from memories o join memories n on n.id = v_new and n.valid_to is null and n.scope = o.scope
     where o.id = v_older and o.valid_to is null and o.same_as is null;
    continue when not found;
    update memories m set same_as = v_older where m.id = v_new or m.same_as = v_new;
    update memories m set stands_for = true where m.id = v_older and not m.stands_for;
    v_folded := v_folded || v_new;
  end loop;
  return v_folded;
end $$;
