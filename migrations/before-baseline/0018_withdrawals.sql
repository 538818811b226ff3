-- As before, but a draft whose answer never came stays pending until the platform has taken it back: an earlier run of the turn
-- may have shown it, or an earlier daemon, and it may quote what was deleted since. Where no message of it is known, nothing is owed.
create function void_draft(p_turn bigint, p_epoch bigint) returns void language sql as $$
  update deliveries set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where turn_id = p_turn and state = 'pending' and entry_seq is null and message_id is null;
$$;

create or replace function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb,
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- Whose turn it is comes first: to a daemon that lost the channel, a settled turn is no error of its own.
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

create or replace function reset_channel(
  p_channel bigint, p_epoch bigint, p_to bigint,
  out turn_id bigint, out message_ids text[]
) language plpgsql as $$
declare v_channel channels; v_from bigint; v_to bigint;
begin
  select c.* into v_channel from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
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
