-- Turns: a turn owns the messages that were due when it began, and settles them at once.
-- Rows of `turns`, `entries` and `deliveries` have no foreign key to `channels`: their triggers read the channel's row anyway, and
-- channels are never deleted. A foreign key would cost each row one more statement.

create table turns (
  id          bigint generated always as identity primary key,
  channel_id  bigint  not null,
  epoch       bigint  not null,
  from_seq    bigint  not null,
  to_seq      bigint  not null,
  state       text    not null default 'running'
              check (state in ('running', 'answered', 'skipped', 'stopped', 'failed')),
  attempts    integer not null default 1 check (attempts >= 1),
  reason      text,
  model_ms    integer,
  started_at  timestamptz not null default now(),
  settled_at  timestamptz,
  -- owners that ended, or lost the channel, with the turn begun and not settled
  deaths      integer not null default 0 check (deaths >= 0),
  -- attempts that failed in a process that lived on, for another reason than the database or the machine
  failures    integer not null default 0 check (failures >= 0),
  agent       text, -- the agent that answers; null: the channel's own
  -- the turn with which its chain of hand-offs and subagents began, and which a person asked for; null: it is that turn
  question    bigint,
  check (from_seq <= to_seq),
  check ((state = 'running') = (settled_at is null))
);
alter table turns alter column reason set statistics 0;
create unique index turns_one_running on turns (channel_id) where state = 'running';
create index turns_of_channel on turns (channel_id, to_seq);
create index turns_of_question on turns (question) where question is not null;

-- A turn needs FOR SHARE, which conflicts with the lock of an edit and of a deletion: an edit asks whether a turn has read the text,
-- and would not see a turn that begins at the same time.
create function turns_refuse_old_epoch() returns trigger language plpgsql as $$
begin
  perform assert_epoch(new.channel_id, new.epoch, 'share');
  return new;
end $$;
create trigger turns_refuse_old_epoch before insert or update on turns for each row execute function turns_refuse_old_epoch();

-- Settles a turn in one transaction: its last entry (or none), its outcome, the watermark, its deliveries and the bill of its
-- model calls. The first statement that writes locks the channel's row and checks the epoch.
-- p_keys: an idempotency key for each part of the text; a part that was opened while streaming keeps its own.
-- p_calls: rows of model_calls by their columns, or null.
-- parts: the deliveries to be sent, as [{id, part, key, message_id, drafted}].
create function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb,
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- The epoch is checked first, by the statement that moves the watermark: so a daemon that has lost the channel gets the error of
  -- the fence, even if another daemon has settled the turn.
  select t.to_seq into v_to from turns t where t.id = p_turn and t.channel_id = p_channel;
  update channels c set settled_to = greatest(c.settled_to, v_to)
   where c.id = p_channel and c.epoch = p_epoch returning c.last_seq + 1 into entry_seq;
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

-- Settles a turn that ends with a hand-off, and appends the handed-over message, in one transaction: neither exists without the other.
-- A model that was asked before a text was retracted may repeat it: the hand-off then has a fixed text.
-- p_message: a message as `append_messages` takes it; its id is made of the turn's. handed_seq: null: the log has it already.
create function settle_handing_over(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb, p_message jsonb,
  out entry_seq bigint, out parts jsonb, out handed_seq bigint, out handed_text text
) language plpgsql as $$
declare v_message jsonb := p_message;
begin
  perform from channels c where c.id = p_channel for no key update;
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
