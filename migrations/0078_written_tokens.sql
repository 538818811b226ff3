-- What a provider has written to its cache of a request: it costs more than the rest. Null: a call of an older version, or nobody has told.
alter table model_calls add column written_tokens integer;
comment on column model_calls.written_tokens is 'a part of prompt_tokens, beside cached_tokens';

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
                             written_tokens, completion_tokens, assumed_prompt_tokens, assumed_completion_tokens, first_token_ms, total_ms)
    select c.channel_id, c.turn_id, c.purpose, c.model, c.outcome, c.estimated_tokens, c.prompt_tokens, c.cached_tokens,
           c.written_tokens, c.completion_tokens, c.assumed_prompt_tokens, c.assumed_completion_tokens, c.first_token_ms, c.total_ms
      from jsonb_populate_recordset(null::model_calls, p_calls) as c;
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
