-- What texts mean, as an embedding model says: one bit for each number of its vector (its sign). The tables stay empty where no
-- embedding model is configured. A vector tells of its text, and is deleted with it.

create table memory_vectors (
  memory_id bigint primary key references memories on delete cascade,
  bits      bit varying not null
);
create table entry_vectors (
  channel_id bigint not null,
  seq        bigint not null,
  bits       bit varying not null,
  primary key (channel_id, seq)
);
alter table memory_vectors alter column bits set statistics 0;
alter table entry_vectors alter column bits set statistics 0;

-- How far a channel has vectors, and of which model: those of another model are useless, and are deleted when the first of this one come.
create table vector_progress (
  channel_id  bigint primary key references channels,
  model       text   not null,
  entries_to  bigint not null default 0,
  -- the last memory, by id: those of a channel are written under its row lock, so that they come in the order of their ids
  memories_to bigint not null default 0
);

-- A deleted or expired text loses its vector; an edited one by `store/deletion/carriers/vectors.ts`.
create function entries_drop_vector() returns trigger language plpgsql as $$
begin
  delete from entry_vectors v where v.channel_id = new.channel_id and v.seq = new.seq;
  return null;
end $$;
create trigger entries_drop_vector after update on entries
  for each row when (old.text <> new.text or old.deleted_at is distinct from new.deleted_at)
  execute function entries_drop_vector();

-- Begins a channel's vectors, from the start where they are of another model. Returns how far they reach.
create function begin_vectors(p_channel bigint, p_model text, out entries_to bigint, out memories_to bigint) language plpgsql as $$
begin
  perform lock_search(p_channel);
  select p.entries_to, p.memories_to into entries_to, memories_to from vector_progress p where p.channel_id = p_channel and p.model = p_model;
  if found then return; end if;
  delete from entry_vectors v where v.channel_id = p_channel;
  delete from memory_vectors v using memories m where m.id = v.memory_id and m.channel_id = p_channel;
  insert into vector_progress (channel_id, model) values (p_channel, p_model)
  on conflict (channel_id) do update set model = excluded.model, entries_to = 0, memories_to = 0;
  entries_to := 0;
  memories_to := 0;
end $$;

-- Keeps vectors of texts that were read before, of those that still say the same: the texts were sent to the model in between. The
-- channel counts as done up to p_entries_to and p_memories_to, unless it was edited or begun again meanwhile. It holds the lock of
-- `lock_search`, so that no text is retracted between looking at it and keeping its vector.
-- p_entries: [[seq, md5 of the text, bits]]; p_memories: [[id, bits]].
create function keep_vectors(
  p_channel bigint, p_model text, p_from bigint, p_entries_to bigint, p_memories_to bigint, p_entries jsonb, p_memories jsonb
) returns void language plpgsql as $$
declare v_edited bigint;
begin
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

-- A memory that says in other words what an older one says is shown as one more proof of that one. Both rows stay, each with its own
-- sources, so that an end, an edit or a deletion of one removes nothing of the other: it then shows again.

-- Returns the nearest older memory that says the same as this one: of the same kind, of the same thing, of the same days, with the same
-- numbers, negations and names, and with a vector that differs in at most p_share of its bits. Null: there is none.
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

-- Puts a new memory of a channel behind an older one that says the same. The search comes before the channel's lock, since it compares
-- with the whole channel, and messages would wait; under the lock both must still hold. Returns whether there is one.
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
