-- A thread's turns are shown the notes of its channel: what they have noted may tell what was said there. And a daemon of a version
-- before that takes a text back knows no notes.

-- The channel that a thread belongs to; null: it is no thread, or its channel is unknown.
create function parent_channel(p_channel bigint) returns bigint language sql stable as $$
  select p.id from channels t join channels p on p.platform = t.platform and p.name = t.place->'parent'->>'id'
   where t.id = p_channel and t.kind = 'thread'
$$;

create function thread_channels(p_channel bigint) returns setof bigint language sql stable as $$
  select t.id from channels p
    join channels t on t.kind = 'thread' and t.platform = p.platform and t.place->'parent'->>'id' = p.name
   where p.id = p_channel and t.id <> p.id
$$;

-- How often a text was edited or taken back that a turn of the channel may have seen.
create function notes_taken_back(p_channel bigint) returns bigint language sql stable as $$
  select coalesce(sum(p.taken_back), 0)::bigint from search_progress p
   where p.channel_id in (p_channel, parent_channel(p_channel))
$$;

-- Notes a line that a running turn is about to write. Null: a text of the channel, or of the thread's channel, was taken back since
-- the turn has looked, and what its model has read of it may be in the line.
create or replace function add_note(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_agent text, p_file text, p_text text, p_taken_back bigint
) returns bigint language plpgsql as $$
declare v_id bigint; v_parent bigint := parent_channel(p_channel);
begin
  perform lock_owned(p_channel, p_epoch);
  if v_parent is not null then
    -- Whoever takes a text back holds this row: either the line is there for them to see, or their count is there to be seen here.
    insert into search_progress (channel_id, indexed_to) values (v_parent, 0) on conflict do nothing;
    perform from search_progress p where p.channel_id = v_parent for share;
  end if;
  if p_taken_back <> notes_taken_back(p_channel) then return null; end if;
  insert into notes (channel_id, turn_id, agent, file, text, read_to)
  select p_channel, t.id, p_agent, p_file, p_text, t.to_seq from turns t where t.id = p_turn and t.channel_id = p_channel
  returning id into strict v_id;
  return v_id;
end $$;

-- Whoever looks for the lines that tell of a text says so, by `weir.looks_for_notes`, in the transaction that takes it back. In one of
-- a version before, every line goes whose turn may have read the text: nobody can tell any more which of them repeat it.
create function entries_take_notes() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('weir.looks_for_notes', true), '') <> '' then return null; end if;
  update notes n set text = '', gone_at = clock_timestamp()
   where n.gone_at is null
     and (n.channel_id = new.channel_id and n.read_to >= new.seq
          or n.channel_id in (select thread_channels(new.channel_id)));
  return null;
end $$;
create constraint trigger entries_take_notes after update of deleted_at on entries deferrable initially deferred
  for each row when (old.kind = 'user' and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_take_notes();
create constraint trigger revisions_take_notes after insert on revisions deferrable initially deferred
  for each row execute function entries_take_notes();

-- The notes of a channel were shown in its threads: a hash of them tells of a line that has gone.
create function notes_void_context() returns trigger language plpgsql as $$
begin
  perform void_context_records(t, 0) from thread_channels(new.channel_id) t;
  return null;
end $$;
create constraint trigger notes_void_context after update of gone_at on notes deferrable initially deferred
  for each row when (old.gone_at is null and new.gone_at is not null) execute function notes_void_context();

-- A turn asks for the lines of its files that are to go, or have gone.
create index notes_gone_of_file on notes (agent, file) where gone_at is not null;
comment on column notes.gone_at is 'since when it tells of something that was taken back; the row goes a month later, unless the line still stands in the file';
