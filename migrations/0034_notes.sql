-- What an agent has written into the notes of a channel, line by line: a text that is taken back later takes the lines that tell of it.
-- A line stands in a file of the agent's folder, with the id of its row behind it.

create table notes (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null references channels (id),
  turn_id     bigint not null references turns (id),
  agent       text   not null,
  file        text   not null,
  text        text   not null,
  read_to     bigint not null,
  written_at  timestamptz not null default clock_timestamp(),
  gone_at     timestamptz,
  constraint notes_gone_tell_nothing check (gone_at is null or text = '')
);
-- What a text says is not to stand in the statistics of its column.
alter table notes alter column text set statistics 0;
create index notes_of_channel on notes (channel_id);
create index notes_gone on notes (agent, id) where gone_at is not null;
comment on column notes.file is 'in the folder of the agent';
comment on column notes.read_to is 'the last message that its turn answers: whoever wrote it may have read everything up to there';
comment on column notes.gone_at is 'since when it tells of something that was taken back; the row goes once the line has left the file';

-- Counts how often a text of the channel was edited or taken back: whoever reads it twice knows whether that happened in between.
alter table search_progress add column taken_back bigint not null default 0;
create function search_progress_count() returns trigger language plpgsql as $$
begin
  if new.erased_at is not null and new.erased_at is distinct from old.erased_at then
    new.taken_back := old.taken_back + 1;
  end if;
  return new;
end $$;
create trigger search_progress_count before update of erased_at on search_progress
  for each row execute function search_progress_count();

-- Notes a line that a running turn is about to write. Null: a text of the channel was taken back since the turn has looked, and what
-- its model has read of it may be in the line.
create function add_note(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_agent text, p_file text, p_text text, p_taken_back bigint
) returns bigint language plpgsql as $$
declare v_id bigint;
begin
  perform lock_owned(p_channel, p_epoch);
  if p_taken_back <> coalesce((select p.taken_back from search_progress p where p.channel_id = p_channel), 0) then
    return null;
  end if;
  insert into notes (channel_id, turn_id, agent, file, text, read_to)
  select p_channel, t.id, p_agent, p_file, p_text, t.to_seq from turns t where t.id = p_turn and t.channel_id = p_channel
  returning id into strict v_id;
  return v_id;
end $$;
