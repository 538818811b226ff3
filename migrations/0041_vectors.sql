-- What texts mean, as an embedding model tells it: one bit for each number of its vector (its sign). The tables stay empty where no
-- embedding model is configured. A vector tells of its text: it goes with it, whoever takes the text back.

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
-- What a text says is not to stand in the statistics of its column.
alter table memory_vectors alter column bits set statistics 0;
alter table entry_vectors alter column bits set statistics 0;

-- How far a channel has vectors, and of which model: those of another are of no use, and go when the first of this one come.
create table vector_progress (
  channel_id  bigint primary key references channels,
  model       text   not null,
  entries_to  bigint not null default 0,
  memories_to bigint not null default 0
);
comment on column vector_progress.memories_to is 'the last memory, by id: those of a channel are written under its row lock, so that they come in the order of their ids';

create function entries_drop_vector() returns trigger language plpgsql as $$
begin
  delete from entry_vectors v where v.channel_id = new.channel_id and v.seq = new.seq;
  return null;
end $$;
create trigger entries_drop_vector after update on entries
  for each row when (old.text <> new.text or old.deleted_at is distinct from new.deleted_at)
  execute function entries_drop_vector();

-- What an edit says is to have a vector as well: those behind it that have one are passed over.
create function revisions_drop_vector() returns trigger language plpgsql as $$
begin
  delete from entry_vectors v where v.channel_id = new.channel_id and v.seq = new.seq;
  update vector_progress p set entries_to = new.seq - 1 where p.channel_id = new.channel_id and p.entries_to >= new.seq;
  return null;
end $$;
create trigger revisions_drop_vector after insert on revisions
  for each row execute function revisions_drop_vector();

-- Begins a channel's vectors, anew where they are of another model. Returns how far they reach.
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

-- Keeps vectors of texts that were read before: of those that still say the same, for between reading and keeping they were sent
-- away. The channel counts as done up to p_entries_to and p_memories_to, unless it was edited or begun anew meanwhile.
-- p_entries: [[seq, md5 of the text, bits]]; p_memories: [[id, bits]].
create function keep_vectors(
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
