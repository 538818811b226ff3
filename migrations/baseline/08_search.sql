-- Search over the log: a side table that is filled off the reply path, and its look-ups.

create table entry_search (
  channel_id bigint   not null,
  seq        bigint   not null,
  body       text     not null,
  tsv        tsvector not null,
  line       text, -- what a recall ranks it by (`ranked_line`), kept so that no tsvector is taken apart while a person waits
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries
);
-- The words of `tsv` are the exception to the rule of statistics: their frequencies decide which terms pick the candidates of a
-- recall, and the default target of 100 knows too few. They are computed again after a deletion (`store/search/search.ts`).
alter table entry_search alter column body set statistics 0, alter column line set statistics 0, alter column tsv set statistics 1000;
-- `channel_id + 0` (and `seq + 0` in the queries) fits no other index. With the plain columns, a plan that was made while the
-- table was small takes the primary key, and reads the whole channel for as long as its connection lives (70 ms of 40,000
-- entries). Rows are written over the pending list (0.1 ms instead of 2 ms an entry), which the indexer empties after each batch.
create index entry_search_words on entry_search using gin ((channel_id + 0), tsv) with (fastupdate = on);

-- How far each channel is indexed, and what was retracted there. Its row is the lock of retractions (`lock_search`).
create table search_progress (
  channel_id    bigint primary key references channels,
  indexed_to    bigint not null,
  -- rows of 1..outdated_to are to be indexed again, because a migration has changed `index_entries`; 0: none
  outdated_to   bigint not null default 0,
  erased_at     timestamptz, -- when a text of the channel was last retracted: older statistics of the index may tell its words
  -- when a message of the channel was last deleted; null: the channel's owner knows of all deletions, and has begun again the
  -- turn that had read one
  deleted_at    timestamptz,
  taken_back    bigint not null default 0, -- counts retractions: a reader that reads it twice knows whether one came in between
  expired_at    timestamptz, -- when texts of the channel last expired: older statistics of the index may tell their words
  deleted_seq   bigint, -- the first deleted message of whose deletion the channel's owner does not know
  -- when words of another channel were last retracted that any turn here may have been shown; null: the channel's owner knows of
  -- it
  shown_gone_at timestamptz
);
create index search_outdated on search_progress (channel_id) where outdated_to > 0;
create index search_erased on search_progress (erased_at) where erased_at is not null;
create index search_expired on search_progress (expired_at) where expired_at is not null;

-- Locks a channel's search index and returns how far it reaches: no deletion passes between reading a text and indexing it. A caller
-- that also locks the channel's row takes this lock first, so that appends never wait for the indexer.
create function lock_search(p_channel bigint) returns bigint language plpgsql as $$
declare v_done bigint;
begin
  insert into search_progress (channel_id, indexed_to) values (p_channel, 0) on conflict do nothing;
  select indexed_to into strict v_done from search_progress where channel_id = p_channel for update;
  return v_done;
end $$;

-- Counts retractions.
create function search_progress_count() returns trigger language plpgsql as $$
begin
  if new.erased_at is not null and new.erased_at is distinct from old.erased_at then new.taken_back := old.taken_back + 1; end if;
  return new;
end $$;
create trigger search_progress_count before update of erased_at on search_progress
  for each row execute function search_progress_count();

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

-- Returns the acronyms of a text that would be common words in small letters (IT, WHO; US, which is no stop word here), each once and
-- in order as a lexeme that no word has: =US. A text that is all in capitals has none.
create function acronyms(p_text text) returns text[] language plpgsql immutable parallel safe as $$
begin
  if p_text !~ '\m[A-Z]{2,5}\M' or (p_text !~ '[a-z]{2}' and p_text ~ '\S\s+\S') then return '{}'; end if;
  return array(
    select distinct '=' || words.word[1] collate "C" as lexeme from regexp_matches(p_text, '\m([A-Z]{2,5})\M', 'g') words (word)
     where words.word[1] = 'US' or to_tsvector('english', words.word[1]) = ''::tsvector order by lexeme);
end $$;

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
  if v_words is null or length(v_words) > 1500 then v_words := ''; v_marks := 'l' || v_marks; end if;
  return concat_ws(E'\t', v_marks, extract(epoch from p_at)::bigint, regexp_replace(coalesce(p_author, ''), '[[:space:][:cntrl:]]+', ' ', 'g'), v_words);
end $$;

-- Writes the index rows of p_from..p_to. Author and text weigh A, the text before them D; identifiers, pairs and acronyms are added.
-- Each entry is read once, and each text is made into lexemes once. Deleted and expired texts have no row. The caller holds the lock
-- of `lock_search`.
create function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
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
              select e.seq, e.kind, e.deleted_at, e.expired_at, e.author_name, e.at,
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
             || array_to_tsvector(acronyms(left(spoken.text, 20000)))
             || array_to_tsvector(character_pairs(left(concat_ws(' ', spoken.author_name, spoken.text), 2000))) as lexemes
      offset 0
   ) own
   where spoken.seq >= p_from and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null and spoken.expired_at is null;
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

-- Brings the indexes of several channels up to their logs, at most p_limit entries of each. Always in the order of their ids, so that
-- two indexers cannot deadlock.
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

-- Indexes at most p_limit outdated rows again, the newest first. Returns how far the rest reaches; 0: there is none.
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

-- Finds the lines that a recall ranks: those that hold any of p_pick (a tsquery; '': none), at most 300 of them, with the two before
-- and behind each of the first 100, as far as they are in p_from..p_to. Returns each as its seq, a tab and its `ranked_line`, parted
-- by line ends; of a long line, the lexemes are those of p_terms that it holds. Beside them the newest entries that hold an identifier
-- letter by letter. p_literals: identifiers; p_patterns: the same for ilike.
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
