-- What an older memory says in other words, by their vectors, is shown as one more proof of that one. Both rows stay, each with its own
-- sources, so that an end, an edit or a deletion of one takes nothing of the other: what stood behind it shows again.

alter table memories add column same_as bigint references memories on delete set null,
                     add column stands_for boolean not null default false;
create index memories_same_as on memories (same_as) where same_as is not null;
comment on column memories.same_as is 'an older memory that says the same in other words, and is shown in its place while it holds';
comment on column memories.stands_for is 'some memory may be the same as this one; only then is it looked for';

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

-- Puts a new memory of a channel behind an older one that says the same. Looked for before the channel is locked, since that compares it
-- with all of the channel, and what people say would wait; then only where both hold still. Returns whether there is one.
create function fold_memory(p_channel bigint, p_memory bigint, p_share float8) returns boolean language plpgsql as $$
declare v_older bigint;
begin
  perform from memories m where m.id = p_memory and m.channel_id = p_channel;
  if not found then return false; end if;
  v_older := same_meaning(p_memory, p_share);
  if v_older is null then return false; end if;
  perform from channels c where c.id = p_channel for no key update;
  perform from memories o join memories n on n.id = p_memory and n.valid_to is null and n.scope = o.scope
   where o.id = v_older and o.valid_to is null and o.same_as is null;
  if not found then return false; end if;
  update memories m set same_as = v_older where m.id = p_memory or m.same_as = p_memory;
  update memories m set stands_for = true where m.id = v_older and not m.stands_for;
  return true;
end $$;
