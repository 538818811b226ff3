-- As before, and the message that a channel with nothing else to do has waited for begins its turn in the same transaction:
-- a statement less between a message and its request.
-- p_epoch, p_last: of the owner that would begin a turn of this message alone, where p_last is the newest entry that it knows;
-- null: nobody would. turn_id: null where none has begun, for another entry or another turn came first.
drop function append_message(bigint, text, text, text, boolean, text, integer, timestamptz, boolean, text);
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

-- As before, but asked for only where a watermark does fall.
drop trigger channels_refuse_fall on channels;
create trigger channels_refuse_fall before update on channels for each row
  when (new.last_seq < old.last_seq or new.settled_to < old.settled_to or new.covered_to < old.covered_to
        or new.omitted_to < old.omitted_to or new.epoch < old.epoch)
  execute function channels_refuse_fall();

-- As before, but the turn of a message behind p_to, which may have begun with its append since the reset was asked for, goes on.
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
  update deliveries d set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
   where d.turn_id = reset_channel.turn_id and d.state = 'pending' and d.entry_seq is null;
  update jobs set state = 'void', ended_at = clock_timestamp(), reason = 'reset'
   where channel_id = p_channel and state in ('running', 'staged');
  if p_to > v_channel.covered_to then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;
