-- A model may have been asked before a deletion of which its turn comes to know nothing: what it read is compared with what is gone.

-- Turns are shown the notes of their channel, and of a thread's channel, and the log does not say which of them have read a line.
alter table search_progress add column shown_gone_at timestamptz;
comment on column search_progress.shown_gone_at is
  'when notes last went with what another channel said, that any turn here may have been shown; null: the channel''s owner knows of it';

-- Locks a channel that was shown what goes in another one, so that nobody writes a note or a call there meanwhile that tells of it.
create function lock_shown_in(p_channel bigint) returns void language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update search_progress p set erased_at = clock_timestamp() where p.channel_id = p_channel;
end $$;

-- Any turn that runs in a channel may have been shown what goes, and no call of it says so. The caller has locked it as above.
create function note_shown_gone(p_channel bigint) returns void language sql as $$
  update search_progress p set shown_gone_at = clock_timestamp() where p.channel_id = p_channel
$$;

-- Whether a turn that writes knows what was deleted of what its model may have read: also one that has begun behind a deletion may have
-- been asked by rows of before it, until its owner has read them anew.
create or replace function knows_deletions(p_channel bigint, p_turn bigint) returns boolean language sql stable as $$
  select not exists (
    select from search_progress p join turns t on t.id = p_turn
     where p.channel_id = p_channel and (p.deleted_seq <= t.to_seq or p.shown_gone_at > t.started_at))
$$;

-- The last deletion of which the rows do not say yet that the channel's owner knows.
create function last_deletion(p_channel bigint) returns timestamptz language sql stable as $$
  select greatest(p.deleted_at, p.shown_gone_at) from search_progress p where p.channel_id = p_channel
$$;

-- The channel's owner has read the rows as they were behind the deletion of p_last, and no turn of it runs. Returns whether that is all:
-- of a later one it has read nothing, and then it knows of none. Of a daemon that has lost the channel it says nothing.
create function know_deletions(p_channel bigint, p_epoch bigint, p_last timestamptz) returns boolean language plpgsql as $$
begin
  update search_progress p set deleted_at = null, deleted_seq = null, shown_gone_at = null
   where p.channel_id = p_channel and greatest(p.deleted_at, p.shown_gone_at) = p_last
     and exists (select from channels c where c.id = p_channel and c.epoch = p_epoch);
  return coalesce(last_deletion(p_channel), p_last) = p_last;
end $$;
-- As a daemon of an older version calls it.
create or replace function know_deletions(p_channel bigint, p_epoch bigint) returns void language sql as $$
  update search_progress p set deleted_at = null, deleted_seq = null, shown_gone_at = null
   where p.channel_id = p_channel and last_deletion(p_channel) is not null
     and exists (select from channels c where c.id = p_channel and c.epoch = p_epoch)
$$;

-- A turn may call its tools with words that are taken back before that, or just then: a message of its channel, or a memory of another one
-- that it was shown. With each of its calls stands which memories those were: so a deletion there finds the call. One that comes too late
-- is blank from the beginning, with what it has brought, whoever owns the channel and knows of the deletion or not.
create or replace function entries_blank_late_call() returns trigger language plpgsql as $$
declare
  v_shown bigint[] := array(select jsonb_array_elements_text(new.data->'recalled'->'memories')::bigint);
  v_is_late boolean := not knows_deletions(new.channel_id, new.turn_id);
begin
  if new.kind = 'tool_result' then
    if v_is_late then
      update entries e set text = '', deleted_at = clock_timestamp() where e.channel_id = new.channel_id and e.seq = new.seq;
    end if;
  -- Whoever takes a memory holds it, and may wait for this channel: what is held counts as gone.
  elsif v_is_late
     or (select count(*) from (select from memories m where m.id = any (v_shown) for key share skip locked) there) < cardinality(v_shown) then
    update entries e set text = '', data = without_arguments(e.data) where e.channel_id = new.channel_id and e.seq = new.seq;
    -- What was appended with it. A result may repeat what its tool was called with.
    update entries e set text = '', deleted_at = clock_timestamp()
     where e.channel_id = new.channel_id and e.seq > new.seq and e.turn_id = new.turn_id and e.kind = 'tool_result' and e.text <> ''
       and new.data->'calls' @> jsonb_build_array(jsonb_build_object('id', e.data->>'call_id'));
  end if;
  return null;
end $$;

-- Settles a turn that ends with a hand-off, and appends what it hands over, in one transaction: neither is there without the other.
-- p_message: a message as `append_messages` takes it; its id is made of the turn's. handed_seq: null: the log has it already.
create or replace function settle_handing_over(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb, p_message jsonb,
  out entry_seq bigint, out parts jsonb, out handed_seq bigint, out handed_text text
) language plpgsql as $$
declare v_message jsonb := p_message;
begin
  perform from channels c where c.id = p_channel for no key update;
  -- A model that was asked before a text was taken back may tell of it: the hand-off then says nothing of its own.
  if not knows_deletions(p_channel, p_turn)
     or exists (select from search_progress s join turns t on t.id = p_turn
                 where s.channel_id = p_channel and s.erased_at > t.started_at) then
    v_message := p_message || '{"text": "A message was changed or deleted meanwhile: answer what the conversation asks now."}';
  end if;
  select s.entry_seq, s.parts into entry_seq, parts
    from settle_turn(p_channel, p_epoch, p_turn, p_state, p_reason, p_model_ms, p_at, p_entry, p_keys, p_calls) s;
  select a.seq into handed_seq from append_messages(p_channel, jsonb_build_array(v_message)) a where not a.duplicate;
  handed_text := v_message->>'text';
end $$;
