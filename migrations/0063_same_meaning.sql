-- What an older memory says in other words, by their vectors, is shown as one more proof of that one. Both rows stay, each with its own
-- sources, so that an end, an edit or a deletion of one takes nothing of the other: what stood behind it shows again.

alter table memories add column same_as bigint references memories on delete set null,
                     add column stands_for boolean not null default false;
create index memories_same_as on memories (same_as) where same_as is not null;
comment on column memories.same_as is 'an older memory that says the same in other words, and is shown in its place while it holds';
comment on column memories.stands_for is 'some memory may be the same as this one; only then is it looked for';

-- Puts new memories of a channel behind older ones that say the same: of the same kind, of the same thing, of the same days, with the
-- same numbers, negations and names, and with vectors that differ in at most p_share of their bits. Returns which.
create function fold_memories(p_channel bigint, p_memories bigint[], p_share float8) returns bigint[] language plpgsql as $$
declare v_new memories; v_older bigint; v_folded bigint[] := '{}';
begin
  perform from channels c where c.id = p_channel for no key update;
  for v_new in
    select m.* from memories m where m.id = any (p_memories) and m.channel_id + 0 = p_channel and m.valid_to is null and m.marks is not null
     order by m.id
  loop
    select o.id into v_older
      from memories o join memory_vectors v on v.memory_id = o.id join memory_vectors w on w.memory_id = v_new.id
     where o.agent = v_new.agent and o.scope = v_new.scope and o.channel_id = p_channel and o.valid_to is null and o.same_as is null
       and o.id < v_new.id and o.type = v_new.type and o.marks = v_new.marks and normal_text(o.subject) = normal_text(v_new.subject)
       and o.refers_from is not distinct from v_new.refers_from and o.refers_to is not distinct from v_new.refers_to
       and length(v.bits) = length(w.bits) and bit_count(v.bits # w.bits) <= p_share * length(w.bits)
     order by bit_count(v.bits # w.bits), o.id limit 1;
    continue when v_older is null;
    update memories m set same_as = v_older where m.id = v_new.id or m.same_as = v_new.id;
    update memories m set stands_for = true where m.id = v_older and not m.stands_for;
    v_folded := v_folded || v_new.id;
  end loop;
  return v_folded;
end $$;
