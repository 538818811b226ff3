-- Scripts without spaces are looked for by pairs of their characters, which are lexemes of the index, instead of by trigrams.
-- The trigrams of a text had to be made anew for each entry that might hold some of them: 4.5 ms of processor time an entry of
-- 20,000 characters, so that one look-up took seconds of a channel with many pastes. Of the pairs the rarest find the
-- candidates, as with words, and the few best of those alone are compared in full.

-- The pairs of the runs of such scripts in a text, each as a lexeme that no word has: ~寿司. `findPieces` takes for such a script
-- what has these characters; a pair that only one of the two knows finds nothing, and does no harm.
create function character_pairs(p_text text) returns text[] language plpgsql immutable parallel safe as $$
declare
  v_run constant text :=
    '[\u0e01-\u0e5b\u1100-\u11ff\u3005\u3007\u3041-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff]{2,}';
begin
  if octet_length(p_text) = length(p_text) or p_text !~ v_run then return '{}'; end if;
  return array(
    select '~' || pairs.pair
      from regexp_matches(p_text, v_run, 'g') with ordinality runs (run, place)
     cross join lateral (
       select c || lead(c) over (order by characters.place) as pair
         from unnest(string_to_array(runs.run[1], null)) with ordinality characters (c, place)
     ) pairs
     where pairs.pair is not null);
end $$;

-- As before, and with the pairs of the first 2,000 characters: as long as most messages may be.
create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
declare v_edited boolean := exists (
  select from revisions r where r.channel_id = p_channel and r.seq between p_from - 1 and p_to);
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv)
  select p_channel, spoken.seq, left(concat_ws(' ', spoken.author_name, spoken.text), 20000),
         setweight(to_tsvector('english', coalesce(spoken.author_name, '')) || spoken.words, 'A')
         || setweight(coalesce(spoken.before, ''), 'D')
         || array_to_tsvector(identifier_parts(left(spoken.text, 20000)))
         || array_to_tsvector(character_pairs(left(concat_ws(' ', spoken.author_name, spoken.text), 2000)))
    from (
      select read.*, lag(case when length(read.text) <= 2000 then read.words
                              else to_tsvector('english', left(read.text, 2000)) end) over (order by read.seq) as before
        from (
          select said.*, case when said.kind in ('user', 'assistant') then to_tsvector('english', left(said.text, 20000)) end as words
            from (
              select e.seq, e.kind, e.deleted_at, e.author_name,
                     case when v_edited then entry_text(p_channel, e.seq, e.text) else e.text end as text
                from entries e where e.channel_id = p_channel and e.seq between p_from - 1 and p_to
               offset 0
            ) said
           offset 0
        ) read
    ) spoken
   where spoken.seq >= p_from and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null;
end $$;

-- Entries that hold a text in a script without spaces, approximately, the best first. p_pick: a tsquery of the pairs that find
-- the candidates. Most of those are told apart by how many pairs they have, and a few by where: so many characters are
-- compared, and no more.
create function find_unspaced(p_channel bigint, p_text text, p_pick tsquery, p_from bigint, p_to bigint, p_limit integer)
returns bigint[] language plpgsql stable as $$
declare v_pairs tsquery := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return array(
    select compared.seq from (
      -- Not in one: the planner would compare all candidates, and then take the best of them.
      select best.seq, word_similarity(p_text, left(best.body, 2000)) as similarity from (
        select c.seq, c.body from (
          select s.seq, s.body, s.tsv from entry_search s
           where s.channel_id + 0 = p_channel and s.tsv @@ p_pick and s.seq + 0 between p_from and p_to limit 300
        ) c order by ts_rank(c.tsv, v_pairs) desc, c.seq desc limit p_limit + 8
      ) best
     offset 0
    ) compared
     where compared.similarity >= 0.3 order by compared.similarity desc, compared.seq desc limit p_limit);
end $$;

-- As before, but bounded as above: for a daemon of an older version beside.
create or replace function find_pieces(p_channel bigint, p_text text, p_from bigint, p_to bigint, p_limit integer) returns bigint[]
language plpgsql stable as $$
declare v_pairs text := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return find_unspaced(p_channel, p_text, v_pairs::tsquery, p_from, p_to, p_limit);
end $$;

-- As find_entries, but what is in a script without spaces is found by the rarest of its pairs, and it tells the hits first, the
-- best before the others, and then what stands beside them: whoever has no room for all of it takes those.
-- p_pairs: a tsquery of those; '': there are none.
create function find_said(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_patterns text[], p_text text, p_pairs text,
  p_from bigint, p_to bigint, p_limit integer, p_neighbours integer
) returns bigint[] language plpgsql stable as $$
declare v_words bigint[]; v_literals bigint[]; v_pieces bigint[]; v_index integer; v_parts text;
begin
  if p_pick <> '' then
    v_words := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, p_terms::tsquery) desc, c.seq desc limit p_limit);
  end if;
  for v_index in 1 .. coalesce(cardinality(p_literals), 0) loop
    v_parts := array_to_string(identifier_parts(p_literals[v_index]), ' & ');
    continue when v_parts = '';
    v_literals := v_literals || array(
      select c.seq from (
        select s.seq from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ v_parts::tsquery and s.seq + 0 between p_from and p_to
           and s.body || '' ilike p_patterns[v_index] limit 200
      ) c order by c.seq desc limit p_limit);
  end loop;
  if cardinality(p_literals) > 1 then
    v_literals := array(select distinct seq from unnest(v_literals) seq order by seq desc limit p_limit);
  end if;
  if p_pairs <> '' then v_pieces := find_unspaced(p_channel, p_text, p_pairs::tsquery, p_from, p_to, p_limit); end if;
  -- A hit counts by its places: scores of different arms do not compare.
  return array(
    select near from (
      select hit.seq, row_number() over (order by sum(1.0 / (59 + hit.place)) desc, hit.seq desc) as place from (
        select * from unnest(v_words) with ordinality union all
        select * from unnest(v_literals) with ordinality union all
        select * from unnest(v_pieces) with ordinality
      ) hit (seq, place)
       group by hit.seq order by 2 limit p_limit
    ) hits, generate_series(greatest(hits.seq - p_neighbours, p_from), least(hits.seq + p_neighbours, p_to)) near
     group by near order by min(case when near = hits.seq then 0 else 1 end), min(hits.place), near);
end $$;

-- Channels with such a script are indexed anew, behind everything that is said meanwhile; until then it is found by its words.
update search_progress p set outdated_to = p.indexed_to
 where exists (select from entry_search s where s.channel_id = p.channel_id and character_pairs(left(s.body, 200)) <> '{}');

-- Nothing looks for trigrams any more, and to keep them cost more than all the rest of the index. One of this name has to be
-- there for a daemon of an older version beside, which merges its pending list; it holds nothing. Last, for nobody can read the
-- table from then on.
drop index entry_search_pieces;
create index entry_search_pieces on entry_search using gin ((channel_id - 0)) where false;
