-- Writes of the log that are one round trip each. All take the channel's row lock first, so that seq is dense and
-- a redelivered event finds the first one.

-- A person's message, once per (channel, message id). due: it waits for a turn, also where it is a duplicate.
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  out seq bigint, out duplicate boolean, out due boolean
) language plpgsql as $$
declare v_last bigint; v_settled bigint;
begin
  select c.last_seq, c.settled_to into strict v_last, v_settled from channels c where c.id = p_channel for no key update;
  select e.seq, e.addressed and e.seq > v_settled into seq, due
    from entries e where e.message_id = p_message_id and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  due := p_addressed;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id, p_reply_to);
end $$;

-- Entries of a running turn, in order. p_entries: [{kind, text, tokens, data}].
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

-- The one transaction that settles a turn: its last entry (or none), its outcome, the watermark, its deliveries.
-- p_keys: an idempotency key for each part of the text; a part that was already opened while streaming keeps its own.
-- parts: its deliveries as [{id, part, key, message_id, drafted}].
create function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[],
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- Whose turn it is comes first: to a daemon that lost the channel, a settled turn is no error of its own.
  perform from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
  update turns set state = p_state, reason = p_reason, model_ms = p_model_ms, settled_at = clock_timestamp(), epoch = p_epoch
   where id = p_turn and channel_id = p_channel and state = 'running' returning to_seq into v_to;
  if not found then
    raise exception 'turn % of channel % is not running', p_turn, p_channel using errcode = 'WE001';
  end if;
  if p_entry is not null then
    entry_seq := append_turn_entries(p_channel, p_epoch, p_turn, v_to, p_at, jsonb_build_array(p_entry));
  end if;
  update channels set settled_to = greatest(settled_to, v_to) where id = p_channel;
  insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key)
  select p_channel, p_turn, k.part - 1, p_epoch, settle_turn.entry_seq, k.key
    from unnest(p_keys) with ordinality as k (key, part)
  on conflict (turn_id, part) do update set entry_seq = excluded.entry_seq, epoch = excluded.epoch;
  -- A piece was shown of an answer that never came: nothing is owed to the platform any more.
  update deliveries d set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where d.turn_id = p_turn and d.state = 'pending' and d.entry_seq is null;
  select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'part', d.part, 'key', d.idempotency_key,
                                               'message_id', d.message_id, 'drafted', d.drafted) order by d.part), '[]')
    into parts from deliveries d where d.turn_id = p_turn and d.state = 'pending' and d.entry_seq is not null;
end $$;

-- A person changed a message; an edit that is older than the newest one known was delivered late, and is none.
-- outcome: unknown, unchanged, replaced (nobody had read it), noted (a notice was appended).
create function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz;
begin
  perform lock_search(p_channel);
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.* into v_entry from entries e
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null;
  if not found then outcome := 'unknown'; return; end if;
  seq := v_entry.seq;
  select r.text, r.revision, r.at into v_current, v_revision, v_at from revisions r
   where r.channel_id = p_channel and r.seq = v_entry.seq order by r.revision desc limit 1;
  if coalesce(v_current, v_entry.text) = p_text or v_at > p_at then outcome := 'unchanged'; return; end if;
  outcome := 'replaced';
  if exists (select from turns t where t.channel_id = p_channel and t.to_seq >= v_entry.seq) then
    outcome := 'noted';
    noted_seq := v_last + 1;
    insert into entries (channel_id, seq, kind, at, text, tokens, data)
    values (p_channel, noted_seq, 'notice', p_at, '', p_tokens, jsonb_build_object('edits', v_entry.seq));
  end if;
  insert into revisions (channel_id, seq, revision, text, at, noted_seq)
  values (p_channel, v_entry.seq, coalesce(v_revision, 0) + 1, p_text, p_at, edit_message.noted_seq);
  perform index_entries(p_channel, v_entry.seq, v_entry.seq + 1);
end $$;

-- A person took a message back: its text goes from the log, its revisions and the search index at once.
create function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry was indexed with this one as its neighbour.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
end $$;
