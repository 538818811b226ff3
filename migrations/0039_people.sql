-- What people can see, take along and delete.

-- The platform's id of a message of the log: what it was received with, or, of the agent's own, what it was delivered as.
create function source_message_id(p_entry entries) returns text language sql stable as $$
  select coalesce(p_entry.message_id, (
    select d.message_id from deliveries d
     where d.channel_id = p_entry.channel_id and d.turn_id = p_entry.turn_id and d.entry_seq = p_entry.seq and d.message_id is not null
     order by d.part limit 1))
$$;

-- Requests of command-line programs to forget a person in a channel. A daemon of a version before leaves them alone.
alter table requests add column person text;
alter table requests drop constraint requests_kind_known;
alter table requests add constraint requests_kind_known check (kind in ('compact', 'redo', 'forget')),
                     add constraint requests_forget_has_person check ((kind = 'forget') = (person is not null));
comment on column requests.person is 'the platform''s id of who is to be forgotten in the channel';

-- Memories that were carried over in a file.

alter table memories add column imported_at timestamptz;
comment on column memories.imported_at is 'when it was read from a file; null: it was found or said here';

-- Adds a memory from a file, whose sources the caller has checked under this channel's row lock. It is never seen by more people than
-- it was, and ends no later. What may have been read by whoever wrote it is anything of the channel: a text that is taken back takes it
-- in any doubt. Null: it is known.
create function import_memory(p_channel bigint, p_memory jsonb, p_scope text, p_until timestamptz) returns bigint
language plpgsql as $$
declare v_last bigint; v_known bigint; v_id bigint;
begin
  select last_seq into strict v_last from channels where id = p_channel for no key update;
  if exists (
    select from memories m
     where m.channel_id = p_channel and m.type = p_memory->>'type'
       and normal_text(m.subject) = normal_text(p_memory->>'subject')
       and normal_text(m.statement) = normal_text(p_memory->>'statement'))
  then return null; end if;
  select coalesce(max(m.id), 0) into v_known from memories m;
  v_id := add_memory(p_channel, null, p_memory);
  -- Nearly the same is there: the sources are its proofs now.
  if v_id <= v_known then return null; end if;
  update memories m
     set imported_at = clock_timestamp(), read_from = 1, read_to = v_last,
         scope = case when p_scope = 'channel' and m.scope = 'workspace' then 'channel' else m.scope end,
         valid_to = least(m.valid_to, p_until)
   where m.id = v_id;
  return v_id;
end $$;

-- Whose memories an agent is told beside its own, as the configuration has it that a daemon has started with last.

create table shared_memories (
  agent text not null check (agent <> ''),
  other text not null check (other <> '' and other <> agent),
  primary key (agent, other)
);
comment on table shared_memories is 'the agent may be told what is remembered for the other one, in the same places in which it is told its own';
