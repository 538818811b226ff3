-- As before, without the lexemes: a turn's words are looked for while its message is being appended.
drop function append_message(bigint, text, text, text, boolean, text, integer, timestamptz, boolean, text);
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  out seq bigint, out duplicate boolean, out due boolean
) language plpgsql as $$
declare v_last bigint; v_settled bigint;
begin
  select c.last_seq, c.settled_to into strict v_last, v_settled
    from channels c where c.id = p_channel for no key update;
  select e.seq, e.addressed and e.seq > v_settled into seq, due
    from entries e where e.message_id = p_message_id and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  due := p_addressed;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id, p_reply_to);
end $$;

-- As before, but what is in very many entries tells none of them from the others: the newest of 200 will do.
create or replace function find_entries(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_tails text[], p_text text,
  p_from bigint, p_to bigint, p_limit integer, p_neighbours integer
) returns bigint[] language plpgsql stable as $$
declare v_words bigint[]; v_literals bigint[]; v_pieces bigint[]; v_index integer;
begin
  if p_pick <> '' then
    v_words := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, p_terms::tsquery) desc, c.seq desc limit p_limit);
  end if;
  for v_index in 1 .. coalesce(cardinality(p_literals), 0) loop
    v_literals := v_literals || array(
      select c.seq from (
        select s.seq from entry_search s
         where s.channel_id - 0 = p_channel and s.body ilike p_tails[v_index] and s.seq + 0 between p_from and p_to
           and s.body || '' ilike p_literals[v_index] limit 200
      ) c order by c.seq desc limit p_limit);
  end loop;
  if cardinality(p_literals) > 1 then
    v_literals := array(select distinct seq from unnest(v_literals) seq order by seq desc limit p_limit);
  end if;
  if p_text <> '' then v_pieces := find_pieces(p_channel, p_text, p_from, p_to, p_limit); end if;
  -- A hit counts by its places: scores of different arms do not compare.
  return array(
    select distinct near from (
      select hit.seq from (
        select * from unnest(v_words) with ordinality union all
        select * from unnest(v_literals) with ordinality union all
        select * from unnest(v_pieces) with ordinality
      ) hit (seq, place)
       group by hit.seq order by sum(1.0 / (59 + hit.place)) desc, hit.seq desc limit p_limit
    ) hits, generate_series(greatest(hits.seq - p_neighbours, p_from), least(hits.seq + p_neighbours, p_to)) near);
end $$;

-- These rows cannot be of a channel that is none: their triggers ask its row for the epoch, or move its last seq, and no channel
-- ever goes. To be asked by the foreign key as well cost each of them a statement.
alter table entries drop constraint entries_channel_id_fkey;
alter table turns drop constraint turns_channel_id_fkey;
alter table deliveries drop constraint deliveries_channel_id_fkey;
