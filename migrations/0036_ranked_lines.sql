-- Recall ranks a line by its words and those of the lines around it. What that reads of a line stands in a column of its own, so that
-- no tsvector has to be taken apart while somebody waits.

-- Null: an older version indexed the row; it is made anew behind everything else.
alter table entry_search add column line text;
-- What a text says is not to stand in the statistics of its column.
alter table entry_search alter column line set statistics 0;
update search_progress set outdated_to = indexed_to where outdated_to < indexed_to;

-- Returns what ranks a line: marks, when it was said (seconds), who said it, and its lexemes, each between two spaces and as often as it
-- is said (at most three times), all parted by tabs. The marks: `l` it is too long for its lexemes to stand here, `?` something in it
-- asks.
create function ranked_line(p_at timestamptz, p_author text, p_text text, p_lexemes tsvector) returns text
language plpgsql immutable parallel safe as $$
declare
  v_words text;
  v_marks text := '';
begin
  if length(p_text) <= 4000 then
    select ' ' || string_agg(repeat(lexeme || ' ', least(coalesce(cardinality(positions), 1), 3)), '') into v_words from unnest(p_lexemes);
    if p_text ~ '[?\uff1f\u061f]' then v_marks := '?'; end if;
  end if;
  if v_words is null or length(v_words) > 1500 then
    v_words := '';
    v_marks := 'l' || v_marks;
  end if;
  return concat_ws(E'\t', v_marks, extract(epoch from p_at)::bigint, regexp_replace(coalesce(p_author, ''), '[[:space:][:cntrl:]]+', ' ', 'g'), v_words);
end $$;

-- Writes the index rows of p_from..p_to anew. Author and text weigh A, the text before them D; identifiers and pairs are added.
-- Each entry is read once, and each text is made into lexemes once. The caller holds the lock of `lock_search`.
create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
declare v_edited boolean := exists (
  select from revisions r where r.channel_id = p_channel and r.seq between p_from - 1 and p_to);
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv, line)
  select p_channel, spoken.seq, left(concat_ws(' ', spoken.author_name, spoken.text), 20000),
         own.lexemes || setweight(coalesce(spoken.before, ''), 'D'),
         ranked_line(spoken.at, spoken.author_name, spoken.text, own.lexemes)
    from (
      select read.*, lag(case when length(read.text) <= 2000 then read.words
                              else to_tsvector('english', left(read.text, 2000)) end) over (order by read.seq) as before
        from (
          select said.*, case when said.kind in ('user', 'assistant') then to_tsvector('english', left(said.text, 20000)) end as words
            from (
              select e.seq, e.kind, e.deleted_at, e.author_name, e.at,
                     case when v_edited then entry_text(p_channel, e.seq, e.text) else e.text end as text
                from entries e where e.channel_id = p_channel and e.seq between p_from - 1 and p_to
               offset 0
            ) said
           offset 0
        ) read
    ) spoken
   cross join lateral (
      select setweight(to_tsvector('english', coalesce(spoken.author_name, '')) || spoken.words, 'A')
             || array_to_tsvector(identifier_parts(left(spoken.text, 20000)))
             || array_to_tsvector(character_pairs(left(concat_ws(' ', spoken.author_name, spoken.text), 2000))) as lexemes
      offset 0
   ) own
   where spoken.seq >= p_from and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null;
end $$;

-- Finds the lines that a recall ranks: those that hold any of p_pick (a tsquery; '': none), at most 300 of them, with the two before
-- and behind each, as far as they are in p_from..p_to. Returns each as its seq, a tab and its `ranked_line`, parted by line ends; of a
-- line that is long, or that an older version indexed, the lexemes are those of p_terms that it holds. Beside them the newest entries
-- that hold an identifier letter by letter. p_literals: identifiers; p_patterns: the same for ilike.
create function find_lines(
  p_channel bigint, p_pick text, p_terms text[], p_literals text[], p_patterns text[], p_from bigint, p_to bigint, p_limit integer,
  out lines text, out literals bigint[]
) language plpgsql stable as $$
declare
  v_picked bigint[];
  v_near bigint[];
  v_quoted text[];
  v_terms tsquery;
  v_each tsquery[];
  v_index integer;
  v_parts text;
begin
  if p_pick <> '' then
    v_quoted := array(select '''' || replace(replace(term, '\', '\\'), '''', '''''') || '''' from unnest(p_terms) term);
    v_terms := array_to_string(v_quoted, ' | ');
    v_picked := array(
      select c.seq from (
        select s.seq, s.tsv from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ p_pick::tsquery and s.seq + 0 between p_from and p_to limit 4000
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, v_terms) desc, c.seq desc limit 300);
    v_near := array(
      select distinct near
        from unnest(v_picked) with ordinality hits (hit, place)
       cross join lateral (select case when place <= 100 then 2 else 0 end as beside) w
       cross join lateral
             generate_series(greatest(hit - beside, p_from), least(hit + beside, p_to)) near);
    -- What was said before a line is in its tsvector as well, with another weight; only words have one.
    v_each := array(select (quoted || case when term ~ '^[=~]' then '' else ':A' end)::tsquery from unnest(p_terms, v_quoted) t (term, quoted));
    select string_agg(concat(s.seq, E'\t',
             case when s.line is null or left(s.line, 1) = 'l' then concat(coalesce(s.line, E'\t\t\t'), ' ', (
               select string_agg(t.term, ' ')
                 from (select s.tsv || '' as lexemes where s.seq = any (v_picked) or pg_column_size(s.tsv) < 2000 offset 0) whole
                cross join unnest(p_terms, v_each) t (term, query) where whole.lexemes @@ t.query), ' ')
             else s.line end), E'\n')
      into lines from entry_search s where s.channel_id = p_channel and s.seq = any (v_near);
  end if;
  for v_index in 1 .. coalesce(cardinality(p_literals), 0) loop
    v_parts := array_to_string(identifier_parts(p_literals[v_index]), ' & ');
    continue when v_parts = '';
    literals := literals || array(
      select c.seq from (
        select s.seq from entry_search s
         where s.channel_id + 0 = p_channel and s.tsv @@ v_parts::tsquery and s.seq + 0 between p_from and p_to
           and s.body || '' ilike p_patterns[v_index] limit 200
      ) c order by c.seq desc limit p_limit);
  end loop;
  literals := array(select distinct seq from unnest(literals) seq order by seq desc limit p_limit);
end $$;
