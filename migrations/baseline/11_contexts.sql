-- What the last request of a turn was made of: numbers, hashes and ranges, and of people's words no more than those by which sections
-- were chosen. A retraction deletes the records of all turns that can have seen the text, in the same transaction.

create table context_records (
  turn_id    bigint primary key references turns,
  channel_id bigint not null references channels,
  at         timestamptz not null,
  -- The newest entry that the turn can have seen.
  seen_to    bigint not null,
  memories   bigint[] not null,
  content    jsonb not null
);
alter table context_records alter column content set statistics 0;
create index context_records_of_channel on context_records (channel_id, turn_id);
create index context_records_memories on context_records using gin (memories);

-- A retraction holds this row until it commits, so that no record can be written beside it.
create table context_voids (
  channel_id bigint primary key references channels,
  -- when a text of the channel was last retracted: turns that had begun before may have seen it
  voided_at  timestamptz not null default '-infinity'
);

-- Each channel has such a row from its beginning: a row that does not exist cannot be locked.
create function channels_have_voids() returns trigger language plpgsql as $$
begin
  insert into context_voids (channel_id) values (new.id);
  return null;
end $$;
create trigger channels_have_voids after insert on channels for each row execute function channels_have_voids();

-- Notes that a text of the channel is retracted, and deletes the records of turns that can have seen the entry.
create function void_context_records(p_channel bigint, p_seq bigint) returns void language plpgsql as $$
begin
  update context_voids v set voided_at = clock_timestamp() where v.channel_id = p_channel;
  delete from context_records r where r.channel_id = p_channel and r.seen_to >= p_seq;
end $$;

-- Triggers of entries and revisions: a retraction voids what may have shown its text.
create function entries_void_context() returns trigger language plpgsql as $$
begin
  perform void_context_records(new.channel_id, new.seq);
  return null;
end $$;

-- A memory may have been shown in other channels than its own.
create function memories_void_context() returns trigger language plpgsql as $$
begin
  perform void_context_records(old.channel_id, 0);
  delete from context_records r where r.memories @> array[old.id];
  return null;
end $$;

-- Deferred, so that `voided_at` is the time of the commit: until then a turn still reads the old text. An expired text was not retracted.
create constraint trigger entries_void_context after update on entries deferrable initially deferred
  for each row when (old.expired_at is not distinct from new.expired_at
                     and (old.text <> new.text or old.data is distinct from new.data or old.deleted_at is distinct from new.deleted_at))
  execute function entries_void_context();
create constraint trigger revisions_void_context after insert on revisions deferrable initially deferred
  for each row execute function entries_void_context();
create constraint trigger memories_void_context after delete on memories deferrable initially deferred
  for each row execute function memories_void_context();
