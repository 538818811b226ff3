-- Turns: their entries and how they end.

-- Locks the channel's row for its owner, and refuses every other daemon.
create function lock_owned(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
begin
  perform from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
end $$;

-- Appends entries of a running turn, in order. p_entries: [{kind, text, tokens, data}].
create function append_turn_entries(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_after bigint, p_at timestamptz, p_entries jsonb,
  out first_seq bigint
) language plpgsql as $$
declare v_entry jsonb; v_next bigint;
begin
  select c.last_seq + 1 into strict v_next from channels c where c.id = p_channel for no key update;
  first_seq := v_next;
  for v_entry in select * from jsonb_array_elements(p_entries) loop
    insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch, data)
    values (p_channel, v_next, v_entry->>'kind', p_at, v_entry->>'text', (v_entry->>'tokens')::integer,
            p_turn, p_after, p_epoch, v_entry->'data');
    v_next := v_next + 1;
  end loop;
end $$;

-- Withdraws a draft whose answer never came, if nothing of it was shown. A draft with a message on the platform stays pending
-- until the platform has taken the message back: an earlier run of the turn may have shown it.
create function void_draft(p_turn bigint, p_epoch bigint) returns void language sql as $$
  update deliveries set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where turn_id = p_turn and state = 'pending' and entry_seq is null and message_id is null;
$$;

-- Settles a turn in one transaction: its last entry (or none), its outcome, the watermark, its deliveries and the bill of its
-- model calls.
-- p_keys: an idempotency key for each part of the text; a part that was already opened while streaming keeps its own.
-- p_calls: rows of model_calls by their columns, or null.
-- parts: the deliveries that are to be sent, as [{id, part, key, message_id, drafted}].
create function settle_turn(
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
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
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
