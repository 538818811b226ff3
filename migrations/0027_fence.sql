-- The fence is one function: who writes for a channel's owner asks it, directly or through a trigger.

-- Refuses a daemon that has lost the channel, and locks the channel's row against a takeover until the transaction ends.
-- p_lock: 'key share', for a note that holds up no append; 'share', which also waits for edits and deletions; or 'no key update',
-- for a caller that appends to the channel.
create function assert_epoch(p_channel bigint, p_epoch bigint, p_lock text) returns void language plpgsql as $$
declare v_epoch bigint;
begin
  case p_lock
    when 'key share' then select epoch into v_epoch from channels where id = p_channel for key share;
    when 'share' then select epoch into v_epoch from channels where id = p_channel for share;
    when 'no key update' then select epoch into v_epoch from channels where id = p_channel for no key update;
  end case;
  if v_epoch is distinct from p_epoch then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
end $$;

-- Locks the channel's row for its owner, and refuses every other daemon.
create or replace function lock_owned(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
begin
  perform assert_epoch(p_channel, p_epoch, 'no key update');
end $$;

-- The trigger of `deliveries`.
create or replace function refuse_old_epoch() returns trigger language plpgsql as $$
begin
  perform assert_epoch(new.channel_id, new.epoch, 'key share');
  return new;
end $$;

-- The trigger of `turns`. An edit asks whether a turn has read the text; a turn that began at the same time would read it unseen.
create or replace function turns_refuse_old_epoch() returns trigger language plpgsql as $$
begin
  perform assert_epoch(new.channel_id, new.epoch, 'share');
  return new;
end $$;

-- Entries take the next seqs of their channel. The epoch is checked by the statement that moves the channel's row; the fence
-- tells why it moved nothing.
create or replace function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_epoch bigint;
begin
  update channels c set last_seq = a.last
    from (select min(channel_id) as channel_id, min(seq) as first, max(seq) as last, count(*) as count, min(epoch) as epoch
            from added having min(channel_id) = max(channel_id) and min(epoch) is not distinct from max(epoch)) a
   where c.id = a.channel_id and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
     and (a.epoch is null or c.epoch = a.epoch);
  if found or not exists (select from added) then
    return null;
  end if;
  select channel_id, seq, epoch into v_channel, v_first, v_epoch from added order by channel_id, seq limit 1;
  if v_epoch is not null then
    perform assert_epoch(v_channel, v_epoch, 'key share');
  end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;

-- Settles a turn in one transaction: its last entry (or none), its outcome, the watermark, its deliveries and the bill of its
-- model calls.
-- p_keys: an idempotency key for each part of the text; a part that was already opened while streaming keeps its own.
-- p_calls: rows of model_calls by their columns, or null.
-- parts: the deliveries that are to be sent, as [{id, part, key, message_id, drafted}].
create or replace function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb,
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- The epoch is checked first, by the statement that moves the watermark: a daemon that has lost the channel gets the error of
  -- the fence, also if another daemon has settled the turn.
  select t.to_seq into v_to from turns t where t.id = p_turn and t.channel_id = p_channel;
  update channels c set settled_to = greatest(c.settled_to, v_to)
   where c.id = p_channel and c.epoch = p_epoch returning c.last_seq + 1 into entry_seq;
  if not found then
    perform assert_epoch(p_channel, p_epoch, 'no key update');
  end if;
  update turns set state = p_state, reason = p_reason, model_ms = p_model_ms, settled_at = clock_timestamp(), epoch = p_epoch
   where id = p_turn and channel_id = p_channel and state = 'running';
  if not found then
    raise exception 'turn % of channel % is not running', p_turn, p_channel using errcode = 'WE001';
  end if;
  if p_calls is not null then
    insert into model_calls (channel_id, turn_id, purpose, model, outcome, estimated_tokens, prompt_tokens, cached_tokens,
                             completion_tokens, first_token_ms, total_ms)
    select c.channel_id, c.turn_id, c.purpose, c.model, c.outcome, c.estimated_tokens, c.prompt_tokens, c.cached_tokens,
           c.completion_tokens, c.first_token_ms, c.total_ms
      from jsonb_to_recordset(p_calls) as c (
        channel_id bigint, turn_id bigint, purpose text, model text, outcome text, estimated_tokens integer,
        prompt_tokens integer, cached_tokens integer, completion_tokens integer, first_token_ms integer, total_ms integer);
  end if;
  parts := '[]';
  if p_entry is null then
    entry_seq := null;
  else
    insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch, data)
    values (p_channel, entry_seq, p_entry->>'kind', p_at, p_entry->>'text', (p_entry->>'tokens')::integer,
            p_turn, v_to, p_epoch, p_entry->'data');
  end if;
  if cardinality(p_keys) > 0 then
    with made as (
      insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key)
      select p_channel, p_turn, k.part - 1, p_epoch, settle_turn.entry_seq, k.key
        from unnest(p_keys) with ordinality as k (key, part)
      on conflict (turn_id, part) do update set entry_seq = excluded.entry_seq, epoch = excluded.epoch
      returning id, part, idempotency_key, message_id, drafted, state
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'part', d.part, 'key', d.idempotency_key,
                                                 'message_id', d.message_id, 'drafted', d.drafted) order by d.part), '[]')
      into parts from made d where d.state = 'pending';
  else
    perform void_draft(p_turn, p_epoch);
  end if;
end $$;

-- `/reset`: covers everything up to p_to without a text, voids the live job, and settles what was due. Memories stay, and so does
-- the turn of a message behind p_to.
-- turn_id: the turn that settles (null: nothing was due). message_ids: the messages whose wait ends.
create or replace function reset_channel(
  p_channel bigint, p_epoch bigint, p_to bigint,
  out turn_id bigint, out message_ids text[]
) language plpgsql as $$
declare v_channel channels; v_from bigint; v_to bigint;
begin
  perform lock_owned(p_channel, p_epoch);
  select c.* into strict v_channel from channels c where c.id = p_channel;
  select min(e.seq), max(e.seq), array_agg(e.message_id order by e.seq) into v_from, v_to, message_ids from entries e
   where e.channel_id = p_channel and e.addressed and e.seq > v_channel.settled_to and e.seq <= p_to;
  update turns t set state = 'stopped', reason = 'reset', epoch = p_epoch, settled_at = clock_timestamp()
   where t.channel_id = p_channel and t.state = 'running' and t.from_seq <= p_to returning t.id into turn_id;
  if turn_id is null and v_from is not null then
    insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
    values (p_channel, p_epoch, v_from, v_to, 'stopped', 'reset', clock_timestamp()) returning id into turn_id;
  end if;
  perform void_draft(reset_channel.turn_id, p_epoch);
  update jobs set state = 'void', ended_at = clock_timestamp(), reason = 'reset'
   where channel_id = p_channel and state in ('running', 'staged');
  if p_to > v_channel.covered_to then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;
