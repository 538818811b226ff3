-- Appending to the log: each function is one round trip. All take the channel's row lock first, so that seqs are dense and a
-- redelivered message finds the first copy of it.

-- Appends a person's message, once per channel and message id. If the channel has nothing else to do, the message begins its turn
-- in the same transaction.
-- p_epoch, p_last: the owner that would begin a turn of this message alone, and the newest entry that it knows; null: nobody would.
-- due: the message waits for a turn; that can be true of a duplicate, too. turn_id: null: no turn has begun.
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  p_epoch bigint default null, p_last bigint default null,
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
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id, p_reply_to);
  if p_addressed and p_epoch = v_epoch and p_last = v_last then
    insert into turns (channel_id, epoch, from_seq, to_seq) values (p_channel, p_epoch, seq, seq)
      on conflict (channel_id) where state = 'running' do nothing returning id into turn_id;
  end if;
end $$;

-- Appends several messages of one channel, in this order, each as `append_message` does; begins no turn.
-- p_messages: [{message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to}].
create function append_messages(p_channel bigint, p_messages jsonb)
returns table (seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_last bigint; v_settled bigint;
begin
  select c.last_seq, c.settled_to into strict v_last, v_settled from channels c where c.id = p_channel for no key update;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to)
  select p_channel, v_last + row_number() over (order by m.place), 'user', m.at, m.text, m.tokens, m.addressed, m.author_id,
         m.author_name, m.author_bot, m.message_id, m.reply_to
    from (
      select distinct on (r.message_id) r.* from rows from (jsonb_to_recordset(p_messages) as (
        message_id text, author_id text, author_name text, author_bot boolean, text text, tokens integer,
        at timestamptz, addressed boolean, reply_to text)) with ordinality as r (
        message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, place)
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

-- Appends messages of several channels that nobody waits for an answer to, in one transaction. It takes the channels in the order
-- of their ids, so that two of these calls do not lock each other out. A channel whose row is locked is left out and returns no
-- rows: the caller writes it alone, and the others do not wait for it.
-- p_batches: [{channel, messages}], with messages as in `append_messages`. batch: its place among them, from 1.
create function append_listened(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_channel bigint; v_messages jsonb; m jsonb;
begin
  for batch, v_channel, v_messages in
    select b.place, (b.batch->>'channel')::bigint, b.batch->'messages'
      from jsonb_array_elements(p_batches) with ordinality b (batch, place) order by 2, 1
  loop
    perform from channels c where c.id = v_channel for no key update skip locked;
    continue when not found;
    if jsonb_array_length(v_messages) = 1 then
      m := v_messages->0;
      select a.seq, a.duplicate, a.due into seq, duplicate, due
        from append_message(v_channel, m->>'message_id', m->>'author_id', m->>'author_name', (m->>'author_bot')::boolean,
                            m->>'text', (m->>'tokens')::integer, (m->>'at')::timestamptz, (m->>'addressed')::boolean,
                            m->>'reply_to') a;
      return next;
    else
      for seq, duplicate, due in select a.seq, a.duplicate, a.due from append_messages(v_channel, v_messages) a loop
        return next;
      end loop;
    end if;
  end loop;
end $$;

-- Appends a notice about messages that were not heard: {absence: {kind: late | lost, from, to}}. Once per key, which is kept as
-- its message_id.
create function append_absence(
  p_channel bigint, p_key text, p_at timestamptz, p_tokens integer, p_absence jsonb, out seq bigint, out duplicate boolean
) language plpgsql as $$
declare v_last bigint;
begin
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.seq into seq from entries e where e.message_id = p_key and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  insert into entries (channel_id, seq, kind, at, text, tokens, message_id, data)
  values (p_channel, seq, 'notice', p_at, '', p_tokens, p_key, jsonb_build_object('absence', p_absence));
end $$;

-- Tells the number of an author among those of the same name in a channel, from 1. The first call settles it for good.
create function speaker_number(p_channel bigint, p_name text, p_author text) returns integer language plpgsql as $$
declare v_number integer;
begin
  loop
    select s.number into v_number from speakers s
     where s.channel_id = p_channel and s.name = p_name and s.author_id = p_author;
    if found then return v_number; end if;
    insert into speakers (channel_id, name, author_id, number)
    select p_channel, p_name, p_author, coalesce(max(s.number), 0) + 1 from speakers s
     where s.channel_id = p_channel and s.name = p_name
    on conflict do nothing;
  end loop;
end $$;
