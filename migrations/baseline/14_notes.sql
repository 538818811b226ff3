-- What an agent has written into the notes of a channel, line by line: a retraction removes the lines that tell of the text. A line stands
-- in a file of the agent's folder, with the id of its row behind it. A thread's turns are shown the notes of its channel as well.

create table notes (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null references channels (id),
  turn_id     bigint not null references turns (id),
  agent       text   not null,
  file        text   not null, -- in the folder of the agent
  text        text   not null,
  read_to     bigint not null, -- the last message that its turn answers: its writer may have read everything up to there
  written_at  timestamptz not null default clock_timestamp(),
  -- since when it tells of something that was retracted; the row is deleted a month later, unless the line still stands in the
  -- file
  gone_at     timestamptz,
  constraint notes_gone_tell_nothing check (gone_at is null or text = '')
);
alter table notes alter column text set statistics 0;
create index notes_of_channel on notes (channel_id);
create index notes_gone on notes (agent, id) where gone_at is not null;
-- A turn asks for the lines of its files that are to be removed, or have been.
create index notes_gone_of_file on notes (agent, file) where gone_at is not null;

-- Returns how often a text was retracted that a turn of the channel may have seen.
create function notes_taken_back(p_channel bigint) returns bigint language sql stable as $$
  select coalesce(sum(p.taken_back), 0)::bigint from search_progress p
   where p.channel_id in (p_channel, parent_channel(p_channel))
$$;

-- Locks the channel's row for its owner, and before it, of a thread, the row of `lock_search` of its channel, which a retraction there
-- holds while it goes on to the threads. So either the retraction sees what is written here, or the writer sees its count; and as both
-- take the locks in the same order, they cannot deadlock.
create function lock_owned_below(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
declare v_parent bigint := parent_channel(p_channel);
begin
  if v_parent is not null then
    insert into search_progress (channel_id, indexed_to) values (v_parent, 0) on conflict do nothing;
    perform from search_progress p where p.channel_id = v_parent for share;
  end if;
  perform lock_owned(p_channel, p_epoch);
end $$;

-- Notes a line that a running turn is about to write. Null: a text of the channel, or of the thread's channel, was retracted since
-- the turn has looked, and the line may hold what its model has read of it.
create function add_note(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_agent text, p_file text, p_text text, p_taken_back bigint
) returns bigint language plpgsql as $$
declare v_id bigint;
begin
  perform lock_owned_below(p_channel, p_epoch);
  if p_taken_back <> notes_taken_back(p_channel) then return null; end if;
  insert into notes (channel_id, turn_id, agent, file, text, read_to)
  select p_channel, t.id, p_agent, p_file, p_text, t.to_seq from turns t where t.id = p_turn and t.channel_id = p_channel
  returning id into strict v_id;
  return v_id;
end $$;

-- The notes of a channel were shown in its threads: records of turns there have a hash of the removed line.
create function notes_void_context() returns trigger language plpgsql as $$
begin
  perform void_context_records(t, 0) from thread_channels(new.channel_id) t;
  return null;
end $$;
create constraint trigger notes_void_context after update of gone_at on notes deferrable initially deferred
  for each row when (old.gone_at is null and new.gone_at is not null) execute function notes_void_context();
