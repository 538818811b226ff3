-- Appends and settlements of several channels in one transaction: a commit costs more than the rows that it makes durable.
-- Each function locks its channels in the order of their ids, so that two calls cannot deadlock, and skips a channel whose row is
-- locked: it returns no row for that, the caller writes it alone, and the other channels need not wait for it.

-- Appends messages of several channels.
-- p_batches: [{channel, epoch, last, messages}], a channel once. epoch and last are those of `append_message`, for a message that goes
-- alone; null: nobody would begin a turn. messages: as in `append_messages`.
-- batch: its place among them, from 1. turn_id: null: no turn has begun.
create function append_batches(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean, turn_id bigint) language plpgsql as $$
declare v_channel bigint; v_batch jsonb; m jsonb;
begin
  for batch, v_channel, v_batch in
    select b.place, (b.batch->>'channel')::bigint, b.batch
      from jsonb_array_elements(p_batches) with ordinality b (batch, place) order by 2, 1
  loop
    perform from channels c where c.id = v_channel for no key update skip locked;
    continue when not found;
    if jsonb_array_length(v_batch->'messages') = 1 then
      m := v_batch->'messages'->0;
      select a.seq, a.duplicate, a.due, a.turn_id into seq, duplicate, due, turn_id
        from append_message(v_channel, m->>'message_id', m->>'author_id', m->>'author_name', (m->>'author_bot')::boolean,
                            m->>'text', (m->>'tokens')::integer, (m->>'at')::timestamptz, (m->>'addressed')::boolean,
                            m->>'reply_to', (v_batch->>'epoch')::bigint, (v_batch->>'last')::bigint, m->'data') a;
      return next;
    else
      turn_id := null;
      for seq, duplicate, due in select a.seq, a.duplicate, a.due from append_messages(v_channel, v_batch->'messages') a loop
        return next;
      end loop;
    end if;
  end loop;
end $$;

-- Settles turns of several channels, each as `settle_turn` does. A turn whose row is locked, or whose channel has a new owner, is
-- skipped like a locked channel: the caller gets its error alone.
-- p_settlements: [{channel, epoch, turn, state, reason, model_ms, at, entry, keys, calls}], a channel once.
-- place: among them, from 1.
create function settle_turns(p_settlements jsonb)
returns table (place bigint, entry_seq bigint, parts jsonb) language plpgsql as $$
declare v_channel bigint; v_epoch bigint; s jsonb;
begin
  for place, v_channel, v_epoch, s in
    select l.place, (l.one->>'channel')::bigint, (l.one->>'epoch')::bigint, l.one
      from jsonb_array_elements(p_settlements) with ordinality l (one, place) order by 2, 1
  loop
    perform from channels c where c.id = v_channel and c.epoch = v_epoch for no key update skip locked;
    continue when not found;
    perform from turns t where t.id = (s->>'turn')::bigint and t.channel_id = v_channel for no key update skip locked;
    continue when not found;
    select t.entry_seq, t.parts into entry_seq, parts
      from settle_turn(v_channel, v_epoch, (s->>'turn')::bigint, s->>'state', s->>'reason', (s->>'model_ms')::integer,
                       (s->>'at')::timestamptz, nullif(s->'entry', 'null'), array(select jsonb_array_elements_text(s->'keys')),
                       nullif(s->'calls', 'null')) t;
    return next;
  end loop;
end $$;

-- Settles a turn, as before, with one update of the channel's row: it moves the watermark and takes the entry's seq.
create or replace function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb,
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- The epoch is checked first, by the statement that moves the watermark and takes the entry's seq: so a daemon that has lost the
  -- channel gets the error of the fence, even if another daemon has settled the turn.
  select t.to_seq into v_to from turns t where t.id = p_turn and t.channel_id = p_channel;
  update channels c set settled_to = greatest(c.settled_to, v_to), last_seq = c.last_seq + (p_entry is not null)::integer
   where c.id = p_channel and c.epoch = p_epoch returning c.last_seq into entry_seq;
  if not found then perform assert_epoch(p_channel, p_epoch, 'no key update'); end if;
  update turns set state = p_state, reason = p_reason, model_ms = p_model_ms, settled_at = clock_timestamp(), epoch = p_epoch
   where id = p_turn and channel_id = p_channel and state = 'running';
  if not found then raise exception 'turn % of channel % is not running', p_turn, p_channel using errcode = 'WE001'; end if;
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

-- Entries take the next seqs of their channel, as before. Where the transaction has moved the channel's row to a single entry, only the
-- epoch and the entry before it are checked: the primary key refuses a seq that is taken.
create or replace function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_last bigint; v_epoch bigint; v_due bigint; v_is_dense boolean;
begin
  select min(a.channel_id), min(a.seq), max(a.seq), min(a.epoch), max(a.seq) filter (where a.addressed),
         min(a.channel_id) = max(a.channel_id) and max(a.seq) - min(a.seq) + 1 = count(*)
           and min(a.epoch) is not distinct from max(a.epoch)
    into v_channel, v_first, v_last, v_epoch, v_due, v_is_dense from added a;
  if v_channel is null then return null; end if;
  if v_is_dense then
    if v_due is null and v_first = v_last then
      perform from channels c
        where c.id = v_channel and c.last_seq = v_last and (v_epoch is null or c.epoch = v_epoch)
          and (v_first = 1 or exists (select from entries e where e.channel_id = v_channel and e.seq = v_first - 1));
      if found then return null; end if;
    end if;
    update channels c set last_seq = v_last, due_to = greatest(c.due_to, v_due)
     where c.id = v_channel and c.last_seq = v_first - 1 and (v_epoch is null or c.epoch = v_epoch);
    if found then return null; end if;
  end if;
  select a.channel_id, a.seq, a.epoch into v_channel, v_first, v_epoch from added a order by a.channel_id, a.seq limit 1;
  if v_epoch is not null then perform assert_epoch(v_channel, v_epoch, 'key share'); end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;
