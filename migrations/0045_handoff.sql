-- Several agents in one channel: a message may be meant for another agent than the channel's own, and a turn may be answered by one.
-- Everywhere no agent means: the channel's own. So whatever an older daemon writes beside is true as well.

alter table turns add column agent text;
comment on column turns.agent is 'the agent that answers; null: the channel''s own';
comment on column entries.data is
  'by kind; agent: of a message whom it is meant for, of what a turn wrote who did (none: the channel''s own agent); chain: of a hand-off';

-- Skills stand in the prompts of the agent that has taken them up, and of no other.
alter table active_skills add column agent text not null default '';
alter table active_skills drop constraint active_skills_pkey;
alter table active_skills add primary key (channel_id, agent, name);
comment on column active_skills.agent is 'whose; empty: of the channel''s own agent';

-- Appends a person's message, once per channel and message id. If the channel has nothing else to do, the message begins its turn
-- in the same transaction.
-- p_epoch, p_last: the owner that would begin a turn of this message alone, and the newest entry that it knows; null: nobody would.
-- p_data: whom the message is meant for, as {agent, chain}; null: the channel's own agent.
-- due: the message waits for a turn; that can be true of a duplicate, too. turn_id: null: no turn has begun.
drop function append_message(bigint, text, text, text, boolean, text, integer, timestamptz, boolean, text, bigint, bigint);
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  p_epoch bigint default null, p_last bigint default null, p_data jsonb default null,
  out seq bigint, out duplicate boolean, out due boolean, out turn_id bigint
) language plpgsql as $$
declare v_last bigint; v_settled bigint; v_epoch bigint;
begin
  select c.last_seq, c.settled_to, c.epoch into strict v_last, v_settled, v_epoch
    from channels c where c.id = p_channel for no key update;
  select e.seq, e.addressed and e.seq > v_settled into seq, due
    from entries e where e.message_id = p_message_id and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  due := p_addressed;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, data)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id,
          p_reply_to, p_data);
  -- A turn that begins so is the channel's own agent's.
  if p_addressed and p_data is null and p_epoch = v_epoch and p_last = v_last then
    insert into turns (channel_id, epoch, from_seq, to_seq) values (p_channel, p_epoch, seq, seq)
      on conflict (channel_id) where state = 'running' do nothing returning id into turn_id;
  end if;
end $$;

-- Appends several messages of one channel, in this order, each as `append_message` does; begins no turn.
-- p_messages: [{message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, data}].
create or replace function append_messages(p_channel bigint, p_messages jsonb)
returns table (seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_last bigint; v_settled bigint;
begin
  select c.last_seq, c.settled_to into strict v_last, v_settled from channels c where c.id = p_channel for no key update;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, data)
  select p_channel, v_last + row_number() over (order by m.place), 'user', m.at, m.text, m.tokens, m.addressed, m.author_id,
         m.author_name, m.author_bot, m.message_id, m.reply_to, m.data
    from (
      select distinct on (r.message_id) r.* from rows from (jsonb_to_recordset(p_messages) as (
        message_id text, author_id text, author_name text, author_bot boolean, text text, tokens integer,
        at timestamptz, addressed boolean, reply_to text, data jsonb)) with ordinality as r (
        message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, data, place)
       where not exists (select from entries e where e.message_id = r.message_id and e.channel_id = p_channel)
       order by r.message_id, r.place
    ) m
   order by m.place;
  return query
    select e.seq, e.seq <= v_last or row_number() over (partition by e.seq order by m.place) > 1,
           e.addressed and e.seq > v_settled
      from jsonb_array_elements(p_messages) with ordinality m (message, place)
      join entries e on e.message_id = m.message->>'message_id' and e.channel_id = p_channel
     order by m.place;
end $$;

-- Settles a turn that ends with a hand-off, and appends what it hands over, in one transaction: neither is there without the other.
-- p_message: a message as `append_messages` takes it; its id is made of the turn's. handed_seq: null: the log has it already.
create function settle_handing_over(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb, p_message jsonb,
  out entry_seq bigint, out parts jsonb, out handed_seq bigint, out handed_text text
) language plpgsql as $$
declare v_message jsonb := p_message;
begin
  perform from channels c where c.id = p_channel for no key update;
  -- A model that was asked before a text was taken back may tell of it: the hand-off then says nothing of its own.
  if exists (select from search_progress s join turns t on t.id = p_turn
              where s.channel_id = p_channel and s.erased_at > t.started_at) then
    v_message := p_message || '{"text": "A message was changed or deleted meanwhile: answer what the conversation asks now."}';
  end if;
  select s.entry_seq, s.parts into entry_seq, parts
    from settle_turn(p_channel, p_epoch, p_turn, p_state, p_reason, p_model_ms, p_at, p_entry, p_keys, p_calls) s;
  select a.seq into handed_seq from append_messages(p_channel, jsonb_build_array(v_message)) a where not a.duplicate;
  handed_text := v_message->>'text';
end $$;

-- What was handed over retells what people said: a deletion looks for it.
create index entries_handed_over on entries (channel_id, seq) where data ? 'chain';

-- Takes the words of a hand-off whose question was edited, as an edit of it that nobody has read. The caller holds the channel's row lock.
create function reword_hand_off(p_channel bigint, p_seq bigint, p_text text) returns void language plpgsql as $$
begin
  insert into revisions (channel_id, seq, revision, text, at)
  select p_channel, p_seq, coalesce(max(r.revision), 0) + 1, p_text, clock_timestamp()
    from revisions r where r.channel_id = p_channel and r.seq = p_seq;
  perform forget_outdated(p_channel, array[p_seq]);
  perform index_entries(p_channel, p_seq, p_seq + 1);
end $$;
