-- A part of an answer that its platform refuses is sent again in other forms.

alter table deliveries
  -- whole: as it was split; short: cut into shorter texts, each a row; plain: one of these without markup
  add column form text not null default 'whole' check (form in ('whole', 'short', 'plain')),
  add column of_part integer, -- the part that it is a piece of; null: its own
  add column piece integer not null default 0, -- its place in that part
  -- the platform's id of a message that still shows a beginning of the part and takes no edit: deleted once the part is sent
  add column leftover text;
create index deliveries_refused on deliveries (ended_at) where state = 'failed' and reason in ('refused', 'unreachable');

-- Cuts a part into shorter ones, one for each key; the first stays in its row. Asked twice, it finds the first.
-- Returns those that are still to be sent.
create function shorten_delivery(p_id bigint, p_epoch bigint, p_keys text[]) returns setof deliveries language plpgsql as $$
declare v deliveries;
begin
  update deliveries d set form = 'short', idempotency_key = p_keys[1], message_id = null, drafted = false, epoch = p_epoch
   where d.id = p_id and d.state = 'pending' and d.form = 'whole';
  select d.* into strict v from deliveries d where d.id = p_id;
  -- Numbers of parts are unique in a turn.
  insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key, form, of_part, piece)
  select v.channel_id, v.turn_id, 1000000 + 1000 * v.part + k.place::integer - 1, p_epoch, v.entry_seq, k.key, 'short', v.part, k.place - 1
    from unnest(p_keys) with ordinality k (key, place) where k.place > 1
  on conflict (turn_id, part) do nothing;
  return query select d.* from deliveries d
    where d.turn_id = v.turn_id and coalesce(d.of_part, d.part) = v.part and d.state = 'pending' order by d.piece;
end $$;

-- Gives up the parts of an answer that its platform refuses in every form. p_reason: refused, or unreachable if the channel took no word
-- about that either. p_undelivered: what people have not seen of it, for a notice
-- {undelivered: {answer, of, gaps}}, once per key, which is kept as its message_id; null: no notice.
create function fail_deliveries(
  p_channel bigint, p_epoch bigint, p_ids bigint[], p_reason text, p_key text, p_at timestamptz, p_tokens integer, p_undelivered jsonb,
  out seq bigint
) language plpgsql as $$
declare v_last bigint;
begin
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  update deliveries d set state = 'failed', reason = p_reason, epoch = p_epoch, ended_at = clock_timestamp()
   where d.id = any (p_ids) and d.state = 'pending';
  if p_undelivered is null then return; end if;
  select e.seq into seq from entries e where e.message_id = p_key and e.channel_id = p_channel;
  if found then return; end if;
  seq := v_last + 1;
  insert into entries (channel_id, seq, kind, at, text, tokens, message_id, data)
  values (p_channel, seq, 'notice', p_at, '', p_tokens, p_key, jsonb_build_object('undelivered', p_undelivered));
end $$;
