-- Paths, links, versions, snake_case and camelCase are looked for by their parts, which are lexemes of the index: of the
-- trigrams of an identifier very many texts have each, and in a channel of 100,000 entries 10,000 of them were read to find
-- one (on a busy machine p50 13 ms, p99 60 ms; without an identifier 2 and 9).

-- The parts of the identifiers of a text, in their order, each as a lexeme that no word has: `src/tea_pot.ts` is =src, =tea,
-- =pot, =ts. `findPieces` takes nothing for an identifier whose parts are not among these. A run is cut before anything looks
-- at it twice, and what is plain text is not taken apart.
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

-- As before, and with the parts of what the entry itself names.
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

-- As before, but an identifier is found where all of its parts are; then it is compared letter by letter.
-- p_literals: identifiers; p_patterns: the same for ilike.
drop function find_entries(bigint, text, text, text[], text[], text, bigint, bigint, integer, integer);
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

-- What was indexed before has no such parts: the indexer goes over all of it once more, from the newest on, behind everything
-- that is said meanwhile. Until then it is found by its words.
alter table search_progress add column outdated_to bigint not null default 0;
comment on column search_progress.outdated_to is 'rows of 1..outdated_to were indexed by an older version, and are to be made anew; 0: none';
update search_progress set outdated_to = indexed_to;
create index search_outdated on search_progress (channel_id) where outdated_to > 0;

-- Makes at most p_limit rows of an older version anew, the newest first. Returns how far what is left reaches, 0: none is.
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
