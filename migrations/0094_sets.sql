-- Appends, settlements, records of contexts and index rows of several channels, by one statement for all of them: most of what a row
-- costs is the start of the statement that writes it, with its checks and triggers.
--
-- A plan is kept for as long as its connection lives, also one that was made while the tables were small. So each table is read by
-- keys in an array, or by a look-up for each row (`limit 1`, `offset 0`): no plan then reads the whole of it. `|| ''` fits no
-- partial index: one of the rows in a state is read as a whole, with all that have left it since.

-- Appends messages of several channels, in one transaction, each batch as `append_message` or `append_messages` does it. A channel
-- whose row is locked is skipped, and returns no row. The parameter and the rows are those of before.
create or replace function append_batches(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean, turn_id bigint) language plpgsql as $$
declare v_channels bigint[];
begin
  -- A statement of its own: the next one must see what was committed before the locks were taken.
  select array_agg(l.id) into v_channels from (
    select c.id from channels c where c.id = any (array(select b.channel from jsonb_to_recordset(p_batches) b (channel bigint)))
     order by c.id for no key update skip locked) l;
  return query
  with batches as materialized (
    select b.place, b.channel, b.messages, c.last_seq, c.settled_to,
           -- the owner whose turn a message that goes alone would begin
           case when b.epoch = c.epoch and b.last = c.last_seq and jsonb_array_length(b.messages) = 1 then b.epoch end as epoch
      from rows from (jsonb_to_recordset(p_batches) as (channel bigint, epoch bigint, last bigint, messages jsonb))
             with ordinality b (channel, epoch, last, messages, place)
     cross join lateral (select c.last_seq, c.settled_to, c.epoch from channels c where c.id = b.channel limit 1) c
     where b.channel = any (v_channels)
  ), messages as materialized (
    select b.channel, b.place as batch, b.last_seq, b.settled_to, m.*, e.seq as known, e.addressed as was_addressed,
           row_number() over (partition by b.channel, m.message_id order by m.place) as copy
      from batches b
     cross join lateral rows from (jsonb_to_recordset(b.messages) as (
             message_id text, author_id text, author_name text, author_bot boolean, text text, tokens integer,
             at timestamptz, addressed boolean, reply_to text, data jsonb)) with ordinality m (
             message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, data, place)
      left join lateral (select e.seq, e.addressed from entries e
                          where e.message_id = m.message_id and e.channel_id = b.channel limit 1) e on true
  ), added as (
    insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, data)
    select m.channel, m.last_seq + row_number() over (partition by m.channel order by m.place), 'user', m.at, m.text, m.tokens, m.addressed,
           m.author_id, m.author_name, m.author_bot, m.message_id, m.reply_to, m.data
      from messages m where m.known is null and m.copy = 1
     order by m.channel, m.place
    returning entries.channel_id, entries.message_id, entries.seq, entries.addressed
  ), begun as (
    insert into turns (channel_id, epoch, from_seq, to_seq)
    select a.channel_id, b.epoch, a.seq, a.seq
      from added a join batches b on b.channel = a.channel_id join messages m on m.channel = a.channel_id
     where b.epoch is not null and m.addressed and m.data is null
    on conflict (channel_id) where state = 'running' do nothing
    returning turns.id, turns.channel_id
  )
  select m.batch, coalesce(m.known, a.seq), m.known is not null or m.copy > 1,
         case when m.known is null then a.addressed else m.was_addressed and m.known > m.settled_to end, t.id
    from messages m
    left join added a on a.channel_id = m.channel and a.message_id = m.message_id
    left join begun t on t.channel_id = m.channel
   order by m.batch, m.place;
end $$;

-- Settles turns of several channels, in one transaction, each as `settle_turn` does it. A turn is skipped, and returns no row, if its
-- row or its channel's is locked, if it is not running, and if the channel has a new owner: the caller gets its error alone. The
-- parameter and the rows are those of before.
create or replace function settle_turns(p_settlements jsonb)
returns table (place bigint, entry_seq bigint, parts jsonb) language plpgsql as $$
declare v_channels bigint[]; v_turns bigint[];
begin
  select array_agg(s.channel), array_agg(s.turn) into v_channels, v_turns
    from jsonb_to_recordset(p_settlements) s (channel bigint, turn bigint);
  select array_agg(l.id) into v_turns from (
    select t.id from jsonb_to_recordset(p_settlements) s (channel bigint, epoch bigint, turn bigint)
      join channels c on c.id = s.channel and c.epoch = s.epoch and c.id = any (v_channels)
      join turns t on t.id = s.turn and t.channel_id = s.channel and t.state || '' = 'running' and t.id = any (v_turns)
     order by c.id for no key update of c, t skip locked) l;
  return query
  with ends as materialized (
    select s.*, t.to_seq
      from rows from (jsonb_to_recordset(p_settlements) as (
             channel bigint, epoch bigint, turn bigint, state text, reason text, model_ms integer, at timestamptz, entry jsonb,
             keys text[], calls jsonb)) with ordinality s (
             channel, epoch, turn, state, reason, model_ms, at, entry, keys, calls, place)
     cross join lateral (select t.to_seq from turns t where t.id = s.turn limit 1) t
     where s.turn = any (v_turns)
  ), moved as (
    update channels c set settled_to = greatest(c.settled_to, s.to_seq), last_seq = c.last_seq + (s.entry is not null)::integer
      from ends s where c.id = s.channel and c.id = any (v_channels)
    returning s.place, case when s.entry is not null then c.last_seq end as seq
  ), ended as (
    update turns t set state = s.state, reason = s.reason, model_ms = s.model_ms, settled_at = clock_timestamp(), epoch = s.epoch
      from ends s where t.id = s.turn and t.id = any (v_turns)
  ), billed as (
    insert into model_calls (channel_id, turn_id, purpose, model, outcome, estimated_tokens, prompt_tokens, cached_tokens,
                             written_tokens, completion_tokens, assumed_prompt_tokens, assumed_completion_tokens, first_token_ms, total_ms)
    select c.channel_id, c.turn_id, c.purpose, c.model, c.outcome, c.estimated_tokens, c.prompt_tokens, c.cached_tokens,
           c.written_tokens, c.completion_tokens, c.assumed_prompt_tokens, c.assumed_completion_tokens, c.first_token_ms, c.total_ms
      from ends s cross join lateral jsonb_populate_recordset(null::model_calls, s.calls) c
     order by s.place
  ), said as (
    insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch, data)
    select s.channel, m.seq, s.entry->>'kind', s.at, s.entry->>'text', (s.entry->>'tokens')::integer, s.turn, s.to_seq, s.epoch,
           s.entry->'data'
      from ends s join moved m on m.place = s.place where s.entry is not null
  ), withdrawn as (
    update deliveries d set state = 'failed', reason = 'withdrawn', epoch = s.epoch, ended_at = clock_timestamp()
      from ends s
     where cardinality(s.keys) = 0 and d.turn_id = s.turn and d.turn_id = any (v_turns)
       and d.state || '' = 'pending' and d.entry_seq is null and d.message_id is null
  ), sent as (
    insert into deliveries as d (channel_id, turn_id, part, epoch, entry_seq, idempotency_key)
    select s.channel, s.turn, k.part - 1, s.epoch, m.seq, k.key
      from ends s join moved m on m.place = s.place cross join lateral unnest(s.keys) with ordinality k (key, part)
    on conflict (turn_id, part) do update set entry_seq = excluded.entry_seq, epoch = excluded.epoch
    returning d.id, d.turn_id, d.part, d.idempotency_key, d.message_id, d.drafted, d.state
  )
  select s.place, m.seq, coalesce((
           select jsonb_agg(jsonb_build_object('id', d.id, 'part', d.part, 'key', d.idempotency_key,
                                               'message_id', d.message_id, 'drafted', d.drafted) order by d.part)
             from sent d where d.turn_id = s.turn and d.state = 'pending'), '[]')
    from ends s join moved m on m.place = s.place;
end $$;

-- Entries take the next seqs of their channels, as before, of several channels in a statement as of one. A statement for one channel
-- is the most common: it is checked by itself.
create or replace function entries_take_next_seqs() returns trigger language plpgsql as $$
declare
  v_channel bigint; v_first bigint; v_last bigint; v_epoch bigint; v_due bigint; v_is_one boolean; v_is_dense boolean;
  v_channels bigint[]; v_right bigint; v_moved bigint;
begin
  select min(a.channel_id), min(a.seq), max(a.seq), min(a.epoch), max(a.seq) filter (where a.addressed),
         min(a.channel_id) = max(a.channel_id),
         max(a.seq) - min(a.seq) + 1 = count(*) and min(a.epoch) is not distinct from max(a.epoch)
    into v_channel, v_first, v_last, v_epoch, v_due, v_is_one, v_is_dense from added a;
  if v_channel is null then return null; end if;
  if v_is_one and v_is_dense then
    -- The transaction may have moved the channel's row to a single entry.
    if v_due is null and v_first = v_last then
      perform from channels c
        where c.id = v_channel and c.last_seq = v_last and (v_epoch is null or c.epoch = v_epoch)
          and (v_first = 1 or exists (select from entries e where e.channel_id = v_channel and e.seq = v_first - 1));
      if found then return null; end if;
    end if;
    update channels c set last_seq = v_last, due_to = greatest(c.due_to, v_due)
     where c.id = v_channel and c.last_seq = v_first - 1 and (v_epoch is null or c.epoch = v_epoch);
    if found then return null; end if;
  elsif not v_is_one then
    v_channels := array(select distinct a.channel_id from added a);
    select count(*) into v_right
      from (select n.channel_id, min(n.seq) as seq, min(n.epoch) as epoch from added n
             group by n.channel_id having count(*) = 1 and not bool_or(n.addressed)) a
     cross join lateral (select c.id, c.last_seq, c.epoch from channels c where c.id = a.channel_id limit 1) c
      left join lateral (select true as is_there from entries e where e.channel_id = c.id and e.seq = a.seq - 1 limit 1) e on true
     where c.last_seq = a.seq and (a.epoch is null or c.epoch = a.epoch) and (a.seq = 1 or e.is_there);
    if v_right = cardinality(v_channels) then return null; end if;
    update channels c set last_seq = a.last, due_to = greatest(c.due_to, a.due)
      from (select n.channel_id, min(n.seq) as first, max(n.seq) as last, count(*) as count, min(n.epoch) as epoch,
                   max(n.seq) filter (where n.addressed) as due
              from added n group by n.channel_id having min(n.epoch) is not distinct from max(n.epoch)) a
     where c.id = a.channel_id and c.id = any (v_channels) and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
       and (a.epoch is null or c.epoch = a.epoch);
    get diagnostics v_moved = row_count;
    if v_right + v_moved = cardinality(v_channels) then return null; end if;
  end if;
  -- One of them is wrong: that which is not the last of its channel now, or not its owner's.
  select a.channel_id, a.seq, a.epoch into v_channel, v_first, v_epoch
    from added a left join channels c on c.id = a.channel_id
   order by coalesce((a.epoch is null or a.epoch = c.epoch)
                     and c.last_seq = (select max(n.seq) from added n where n.channel_id = a.channel_id), false),
            a.channel_id, a.seq limit 1;
  if v_epoch is not null then perform assert_epoch(v_channel, v_epoch, 'key share'); end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;

-- Keeps the records of turns, and of the records of each channel the newest p_kept. Refuses a record if a text was retracted that its
-- turn can have seen. It waits for no lock: the holder of one of these is about to retract something.
-- p_records: [{channel, turn, at, seen_to, answered, content}]; answered: [seq, md5 of the text that was shown] of each message that the
-- turn answered. kept: of each record, in their order.
create function keep_context_records(p_records jsonb, p_kept integer) returns table (kept boolean) language plpgsql as $$
declare v_channels bigint[]; v_turns bigint[]; v_known bigint[];
begin
  select array_agg(distinct r.channel), array_agg(r.turn) into v_channels, v_turns
    from jsonb_to_recordset(p_records) r (channel bigint, turn bigint);
  select array_agg(l.channel_id) into v_channels from (
    select v.channel_id from context_voids v where v.channel_id = any (v_channels) for share skip locked) l;
  select coalesce(array_agg(l.id), '{}') into v_known from (
    select m.id from memories m
     where m.id = any (array(select k.id::bigint from jsonb_to_recordset(p_records) r (content jsonb)
                              cross join lateral jsonb_array_elements_text(r.content->'recalled'->'memories') k (id)))
       for key share skip locked) l;
  return query
  with records as materialized (
    select r.*, array(select k.id::bigint from jsonb_array_elements_text(r.content->'recalled'->'memories') k (id)) as memories
      from rows from (jsonb_to_recordset(p_records) as (
             channel bigint, turn bigint, at timestamptz, seen_to bigint, answered jsonb, content jsonb)) with ordinality r (
             channel, turn, at, seen_to, answered, content, place)
  ), good as materialized (
    select r.* from records r
      join context_voids v on v.channel_id = r.channel and v.channel_id = any (v_channels)
      join turns t on t.id = r.turn and t.id = any (v_turns)
     where r.memories <@ v_known and v.voided_at < t.started_at
       and not exists (select from jsonb_array_elements(r.answered) a
                        cross join lateral (select e.deleted_at, e.text from entries e
                                             where e.channel_id = r.channel and e.seq = (a->>0)::bigint limit 1) e
                        where e.deleted_at is not null or md5(e.text) <> a->>1)
  ), added as (
    insert into context_records (turn_id, channel_id, at, seen_to, memories, content)
    select g.turn, g.channel, g.at, g.seen_to, g.memories, g.content from good g on conflict do nothing
  )
  select exists (select from good g where g.place = r.place) from records r order by r.place;
  delete from context_records r where r.turn_id = any (array(
    select o.turn_id from unnest(v_channels) c
     cross join lateral (select o.turn_id from context_records o where o.channel_id = c
                          order by o.turn_id desc offset p_kept for update skip locked) o));
end $$;

-- Writes the index rows of some ranges of entries, each of another channel, as `index_entries` describes it. The parameters are
-- parallel. The caller holds the locks of `lock_search`.
create function index_ranges(p_channels bigint[], p_from bigint[], p_to bigint[]) returns void language plpgsql as $$
begin
  delete from entry_search s where s.ctid = any (array(
    select o.ctid from unnest(p_channels, p_from, p_to) r (channel, first, last)
     cross join lateral (select o.ctid from entry_search o where o.channel_id = r.channel and o.seq between r.first and r.last offset 0) o));
  insert into entry_search (channel_id, seq, body, tsv, line)
  select spoken.channel, spoken.seq, left(concat_ws(' ', spoken.author_name, spoken.text), 20000),
         own.lexemes || setweight(coalesce(spoken.before, ''), 'D'),
         ranked_line(spoken.at, spoken.author_name, spoken.text, own.lexemes)
    from (
      select read.*, lag(case when length(read.text) <= 2000 then read.words
                              else to_tsvector('english', left(read.text, 2000)) end)
                       over (partition by read.channel order by read.seq) as before
        from (
          select said.*, case when said.kind in ('user', 'assistant') then to_tsvector('english', left(said.text, 20000)) end as words
            from (
              select r.channel, r.first, e.seq, e.kind, e.deleted_at, e.expired_at, e.author_name, e.at,
                     case when r.is_edited then entry_text(r.channel, e.seq, e.text) else e.text end as text
                from (
                  select r.*, exists (select from revisions v where v.channel_id = r.channel and v.seq between r.first - 1 and r.last)
                           as is_edited
                    from unnest(p_channels, p_from, p_to) r (channel, first, last)
                  offset 0
                ) r
               cross join lateral (select * from entries e where e.channel_id = r.channel and e.seq between r.first - 1 and r.last offset 0) e
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
   where spoken.seq >= spoken.first and spoken.kind in ('user', 'assistant') and spoken.deleted_at is null and spoken.expired_at is null;
end $$;

create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language sql as $$
  select index_ranges(array[p_channel], array[p_from], array[p_to])
$$;

-- Brings the indexes of several channels up to their logs, as before. Their locks are taken in the order of their ids, so that
-- neither two indexers nor an indexer and a deletion in a channel and its threads can deadlock.
create or replace function index_channels(p_channels bigint[], p_limit integer) returns table (channel_id bigint, taken bigint)
language plpgsql as $$
declare v_channels bigint[]; v_done bigint[]; v_last bigint[];
begin
  -- A channel without a row: its new row would be locked before the rows of the channels before it.
  if exists (select from unnest(p_channels) c
              where c <> all (array(select p.channel_id from search_progress p where p.channel_id = any (p_channels)))) then
    perform lock_search(o.c) from (select distinct c from unnest(p_channels) c order by c offset 0) o;
  end if;
  select array_agg(l.channel_id order by l.channel_id), array_agg(l.indexed_to order by l.channel_id) into v_channels, v_done from (
    select p.channel_id, p.indexed_to from search_progress p where p.channel_id = any (p_channels) order by p.channel_id for update) l;
  -- A statement of its own: it must see what was committed before the locks were taken.
  select array_agg(d.channel order by d.channel), array_agg(d.done order by d.channel),
         array_agg(least(c.last_seq, d.done + p_limit) order by d.channel)
    into v_channels, v_done, v_last
    from unnest(v_channels, v_done) d (channel, done) join channels c on c.id = d.channel and c.id = any (v_channels);
  perform index_ranges(array_agg(d.channel), array_agg(d.done + 1), array_agg(d.last))
     from unnest(v_channels, v_done, v_last) d (channel, done, last) where d.last > d.done having count(*) > 0;
  update search_progress p set indexed_to = d.last from unnest(v_channels, v_done, v_last) d (channel, done, last)
   where p.channel_id = d.channel and p.channel_id = any (v_channels) and d.last > d.done;
  return query select d.channel, greatest(d.last - d.done, 0) from unnest(v_channels, v_done, v_last) d (channel, done, last);
end $$;
