-- A search for many lines ranks more of them: where common words alone say what is asked for, a fixed number left out lines that fit best.

-- Finds the lines that a recall ranks: those that hold any of p_pick (a tsquery; '': none), five for each one that is wanted and 300 at
-- least, with the two before and behind each of the first 100, as far as they are in p_from..p_to. Returns each as its seq, a tab and
-- its `ranked_line`, parted by line ends; of a long line, the lexemes are those of p_terms that it holds. Beside them the newest entries
-- that hold an identifier letter by letter, p_limit at most. p_literals: identifiers; p_patterns: the same for ilike.
create or replace function find_lines(
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
      ) c order by ts_rank('{0.4, 0.4, 0.4, 1}', c.tsv, v_terms) desc, c.seq desc limit greatest(300, 5 * p_limit));
    v_near := v_picked || array(
      select hit + beside from unnest(v_picked[1:100]) hit cross join unnest('{-2,-1,1,2}'::integer[]) beside
       where hit + beside between p_from and p_to);
    -- A line's tsvector has the words of the text before it as well, with another weight; other lexemes have no weight.
    v_each := array(select (quoted || case when term ~ '^[=~]' then '' else ':A' end)::tsquery from unnest(p_terms, v_quoted) t (term, quoted));
    select string_agg(concat(s.seq, E'\t',
             case when left(s.line, 1) = 'l' then concat(s.line, ' ', (
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
