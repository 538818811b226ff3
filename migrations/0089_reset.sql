-- `/reset` of a channel that summaries cover to its end takes these out of its view, too. Otherwise as before.
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
  if p_to > v_channel.covered_to or (p_to = v_channel.covered_to and exists (
       select from summaries s where s.channel_id = p_channel and s.live and s.kind <> 'reset')) then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;
