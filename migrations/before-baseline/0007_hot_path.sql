-- Fewer round trips and less work a turn; nothing here changes what is stored.

-- Written one by one, the pieces of one entry cost 2 ms; over the pending list, which the indexer empties after each
-- batch, 0.1 ms. Look-ups do not wait: they never find a long list.
-- `channel_id + 0` (and `seq + 0` in the queries): no other index fits that condition. With the plain columns, a plan that
-- was made while the table was small takes the primary key, and reads the whole channel for as long as its connection
-- lives (70 ms of 40,000 entries).
drop index entry_search_words, entry_search_pieces;
create index entry_search_words on entry_search using gin ((channel_id + 0), tsv) with (fastupdate = on);
create index entry_search_pieces on entry_search using gin ((channel_id + 0), body gin_trgm_ops) with (fastupdate = on);

-- Brings the indexes of several channels up to their logs, at most p_limit entries of each. Always in the order of
-- their ids, so that two indexers do not lock each other out.
create function index_channels(p_channels bigint[], p_limit integer) returns table (channel_id bigint, taken bigint)
language plpgsql as $$
declare v_channel bigint;
begin
  for v_channel in select distinct c from unnest(p_channels) as c order by c loop
    channel_id := v_channel;
    taken := index_channel(v_channel, p_limit);
    return next;
  end loop;
end $$;

-- As before, but it reads each entry once. Joined with itself, a plan that was made while the log was short read the
-- whole channel for each entry: 2 s for a hundred of them.
create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv)
  select p_channel, spoken.seq, spoken.body,
         setweight(to_tsvector('english', spoken.body), 'A')
         || setweight(to_tsvector('english', left(coalesce(spoken.before, ''), 2000)), 'D')
    from (
      select said.seq, said.kind, said.deleted_at, left(concat_ws(' ', said.author_name, said.text), 20000) as body,
             lag(case when said.kind in ('user', 'assistant') then said.text end) over (order by said.seq) as before
        from (
          select e.seq, e.kind, e.deleted_at, e.author_name, entry_text(p_channel, e.seq, e.text) as text
            from entries e where e.channel_id = p_channel and e.seq between p_from - 1 and p_to
        ) said
    ) spoken
   where spoken.seq >= p_from and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null;
end $$;

-- Where a text in a script without spaces is found, close to letter by letter; the best first.
create function find_pieces(p_channel bigint, p_text text, p_from bigint, p_to bigint, p_limit integer) returns bigint[]
language plpgsql stable set pg_trgm.word_similarity_threshold = 0.3 as $$
begin
  return array(select s.seq from entry_search s
                where s.channel_id + 0 = p_channel and p_text <% s.body and s.seq + 0 between p_from and p_to
                order by word_similarity(p_text, s.body) desc, s.seq desc limit p_limit);
end $$;

-- A whole recall: three arms, of which most questions need one, joined by rank; hits with their neighbours.
-- p_pick finds by the index, p_terms rank; p_literals are patterns of identifiers, p_tails of their last characters: of a
-- long link most pieces are in every link, and reading where they all are takes the longest; p_text is of a script
-- without spaces.
create function find_entries(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_tails text[], p_text text,
  p_from bigint, p_to bigint, p_limit integer, p_neighbours integer
) returns bigint[] language plpgsql stable as $$
declare v_words bigint[]; v_literals bigint[]; v_pieces bigint[];
begin
  if p_pick <> '' then
    v_words := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, p_terms::tsquery) desc, c.seq desc limit p_limit);
  end if;
  if cardinality(p_literals) > 0 then
    v_literals := array(
      -- One by one: `ilike any` is no condition for the index, and would read the whole channel.
      select distinct s.seq
        from unnest(p_tails) tail
        join entry_search s on s.channel_id + 0 = p_channel and s.body ilike tail and s.seq + 0 between p_from and p_to
       where s.body || '' ilike any (p_literals)
       order by s.seq desc limit p_limit);
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

-- Several messages of one channel, in this order, in one transaction; each as append_message has it.
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
