-- Search over the log: the index and its look-ups.

-- Tells what an entry says now. p_text: its first text.
create function entry_text(p_channel bigint, p_seq bigint, p_text text) returns text language sql stable as $$
  select coalesce((select r.text from revisions r where r.channel_id = p_channel and r.seq = p_seq
                    order by r.revision desc limit 1), p_text)
$$;

-- Locks a channel's search index: between reading a text and indexing it, no deletion may pass. Whoever also locks the channel's
-- row takes this lock first, so that appends never wait for the indexer. Returns how far the index reaches.
create function lock_search(p_channel bigint) returns bigint language plpgsql as $$
declare v_done bigint;
begin
  insert into search_progress (channel_id, indexed_to) values (p_channel, 0) on conflict do nothing;
  select indexed_to into strict v_done from search_progress where channel_id = p_channel for update;
  return v_done;
end $$;

-- Returns the parts of the identifiers of a text, in order, each as a lexeme that no word has: `src/tea_pot.ts` is =src, =tea,
-- =pot, =ts. Identifiers are paths, links, versions, snake_case and camelCase. `findPieces` takes nothing for an identifier
-- whose parts are not among these. A run is cut before anything looks at it twice, and plain text is not taken apart.
create function identifier_parts(p_text text) returns text[] language plpgsql immutable parallel safe as $$
begin
  if p_text !~ '[A-Za-z0-9_@#][./:_-]+[A-Za-z0-9_@#~+?=&%]|[a-z][A-Z]' then return '{}'; end if;
  return array(
    select '=' || left(parts.part, 40)
      from regexp_matches(p_text, '[A-Za-z0-9_@#~+./:?=&%-]+', 'g') with ordinality runs (run, place)
     cross join lateral rtrim(left(runs.run[1], 2000), './:?=&%~+#@-') as identifier
     cross join lateral regexp_split_to_table(lower(identifier collate "C"), '[^a-z0-9]+') with ordinality parts (part, place)
     where identifier ~ '[A-Za-z0-9_@#][./:_-]|[a-z][A-Z]' and parts.part <> ''
     order by runs.place, parts.place);
end $$;

-- Returns the pairs of characters in the runs of scripts without spaces, each as a lexeme that no word has: ~寿司. `findPieces`
-- finds such scripts by the same characters. A pair that only one of the two knows finds nothing, and does no harm.
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

-- Writes the index rows of p_from..p_to anew. Author and text weigh A, the text before them D; identifiers and pairs are added.
-- Each entry is read once, and each text is made into lexemes once. The caller holds the lock of `lock_search`.
create function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
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

-- Brings a channel's index up to its log, at most p_limit entries at a time. Returns how many were taken.
create function index_channel(p_channel bigint, p_limit integer) returns bigint language plpgsql as $$
declare v_done bigint := lock_search(p_channel); v_last bigint;
begin
  select least(last_seq, v_done + p_limit) into v_last from channels where id = p_channel;
  if v_last <= v_done then return 0; end if;
  perform index_entries(p_channel, v_done + 1, v_last);
  update search_progress set indexed_to = v_last where channel_id = p_channel;
  return v_last - v_done;
end $$;

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

-- Makes at most p_limit rows of an older version anew, the newest first. Returns how far the rest reaches; 0: there is none.
create function renew_index(p_channel bigint, p_limit integer) returns bigint language plpgsql as $$
declare v_to bigint; v_from bigint;
begin
  perform lock_search(p_channel);
  select outdated_to into strict v_to from search_progress where channel_id = p_channel;
  if v_to = 0 then return 0; end if;
  v_from := greatest(v_to - p_limit, 0) + 1;
  perform index_entries(p_channel, v_from, v_to);
  update search_progress set outdated_to = v_from - 1 where channel_id = p_channel;
  return v_from - 1;
end $$;

-- Finds entries that hold a text in a script without spaces, approximately, the best first. p_pick: a tsquery of the pairs that
-- find the candidates. The number of their pairs ranks the candidates; only the few best are compared character by character.
create function find_unspaced(p_channel bigint, p_text text, p_pick tsquery, p_from bigint, p_to bigint, p_limit integer)
returns bigint[] language plpgsql stable as $$
declare v_pairs tsquery := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return array(
    select compared.seq from (
      -- Two steps: in one, the planner would compare all candidates before it takes the best of them.
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

-- A whole recall: three searches, of which most questions need one, joined by rank. Returns the hits, the best first, and then
-- what stands beside them, so that a caller with too little room takes the best.
-- p_pick finds words by the index, p_terms ranks them; p_literals: identifiers; p_patterns: the same for ilike; p_text is in a
-- script without spaces; p_pairs: a tsquery of its pairs; '': there are none.
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
  -- Hits are ranked by their places in the three lists, because the scores of different searches do not compare.
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

-- For a daemon of an older version beside.
create function find_pieces(p_channel bigint, p_text text, p_from bigint, p_to bigint, p_limit integer) returns bigint[]
language plpgsql stable as $$
declare v_pairs text := array_to_string(array(select distinct quote_literal(pair) from unnest(character_pairs(p_text)) pair), ' | ');
begin
  return find_unspaced(p_channel, p_text, v_pairs::tsquery, p_from, p_to, p_limit);
end $$;

-- For a daemon of an older version beside.
create function find_entries(
  p_channel bigint, p_pick text, p_terms text, p_literals text[], p_patterns text[], p_text text,
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
  if p_text <> '' then v_pieces := find_pieces(p_channel, p_text, p_from, p_to, p_limit); end if;
  -- Hits are ranked by their places in the three lists, because the scores of different searches do not compare.
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
