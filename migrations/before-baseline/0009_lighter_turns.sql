-- Less work a message and a turn; nothing here changes what is stored.

-- The same guard, once a statement and not once a row: a batch of fifty messages moved the channel's row fifty times.
-- It takes entries of one channel: whoever appends to several does it one after the other.
create function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_epoch bigint;
begin
  update channels c set last_seq = a.last
    from (select min(channel_id) as channel_id, min(seq) as first, max(seq) as last, count(*) as count, min(epoch) as epoch
            from added having min(channel_id) = max(channel_id) and min(epoch) is not distinct from max(epoch)) a
   where c.id = a.channel_id and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
     and (a.epoch is null or c.epoch = a.epoch);
  if found or not exists (select from added) then
    return null;
  end if;
  select channel_id, seq, epoch into v_channel, v_first, v_epoch from added order by channel_id, seq limit 1;
  if v_epoch is not null and not exists (select from channels where id = v_channel and epoch = v_epoch) then
    raise exception 'epoch % of channel % is over', v_epoch, v_channel using errcode = 'WE002';
  end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;
drop trigger entries_take_next_seq on entries;
drop function entries_take_next_seq();
create trigger entries_take_next_seqs after insert on entries referencing new table as added
  for each statement execute function entries_take_next_seqs();

-- As before, but each statement that it does not need for the answer at hand is left out, and it writes the bill of the
-- turn's model calls itself. p_calls: rows of model_calls by their columns, or null.
drop function settle_turn(bigint, bigint, bigint, text, text, integer, timestamptz, jsonb, text[]);
create function settle_turn(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_state text, p_reason text, p_model_ms integer,
  p_at timestamptz, p_entry jsonb, p_keys text[], p_calls jsonb,
  out entry_seq bigint, out parts jsonb
) language plpgsql as $$
declare v_to bigint;
begin
  -- Whose turn it is comes first: to a daemon that lost the channel, a settled turn is no error of its own.
  select t.to_seq into v_to from turns t where t.id = p_turn and t.channel_id = p_channel;
  update channels c set settled_to = greatest(c.settled_to, v_to)
   where c.id = p_channel and c.epoch = p_epoch returning c.last_seq + 1 into entry_seq;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
  update turns set state = p_state, reason = p_reason, model_ms = p_model_ms, settled_at = clock_timestamp(), epoch = p_epoch
   where id = p_turn and channel_id = p_channel and state = 'running';
  if not found then
    raise exception 'turn % of channel % is not running', p_turn, p_channel using errcode = 'WE001';
  end if;
  if p_calls is not null then
    insert into model_calls (channel_id, turn_id, purpose, model, outcome, estimated_tokens, prompt_tokens, cached_tokens,
                             completion_tokens, first_token_ms, total_ms)
    select c.channel_id, c.turn_id, c.purpose, c.model, c.outcome, c.estimated_tokens, c.prompt_tokens, c.cached_tokens,
           c.completion_tokens, c.first_token_ms, c.total_ms
      from jsonb_to_recordset(p_calls) as c (
        channel_id bigint, turn_id bigint, purpose text, model text, outcome text, estimated_tokens integer,
        prompt_tokens integer, cached_tokens integer, completion_tokens integer, first_token_ms integer, total_ms integer);
  end if;
  parts := '[]';
  if p_entry is null then
    entry_seq := null;
  else
    insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch, data)
    values (p_channel, entry_seq, p_entry->>'kind', p_at, p_entry->>'text', (p_entry->>'tokens')::integer,
            p_turn, v_to, p_epoch, p_entry->'data');
  end if;
  if cardinality(p_keys) > 0 then
    with made as (
      insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key)
      select p_channel, p_turn, k.part - 1, p_epoch, settle_turn.entry_seq, k.key
        from unnest(p_keys) with ordinality as k (key, part)
      on conflict (turn_id, part) do update set entry_seq = excluded.entry_seq, epoch = excluded.epoch
      returning id, part, idempotency_key, message_id, drafted, state
    )
    select coalesce(jsonb_agg(jsonb_build_object('id', d.id, 'part', d.part, 'key', d.idempotency_key,
                                                 'message_id', d.message_id, 'drafted', d.drafted) order by d.part), '[]')
      into parts from made d where d.state = 'pending';
  else
    -- A piece was shown of an answer that never came: nothing is owed to the platform any more.
    update deliveries d set state = 'failed', reason = 'withdrawn', epoch = p_epoch, ended_at = clock_timestamp()
     where d.turn_id = p_turn and d.state = 'pending' and d.entry_seq is null;
  end if;
end $$;

-- Words and pieces are looked for by different expressions of the channel, so that a query finds one index alone: with one
-- expression for both, a plan that was made for a short log took the other index for its channel, and read all of it.
drop index entry_search_pieces;
create index entry_search_pieces on entry_search using gin ((channel_id - 0), body gin_trgm_ops) with (fastupdate = on);

create or replace function find_pieces(p_channel bigint, p_text text, p_from bigint, p_to bigint, p_limit integer) returns bigint[]
language plpgsql stable set pg_trgm.word_similarity_threshold = 0.3 as $$
begin
  return array(select s.seq from entry_search s
                where s.channel_id - 0 = p_channel and p_text <% s.body and s.seq + 0 between p_from and p_to
                order by word_similarity(p_text, s.body) desc, s.seq desc limit p_limit);
end $$;

-- As before, but each identifier is looked for by a statement of its own. Joined with a list of them, the plan could not
-- know that the index answers it, and read the whole channel: 1 ms of 1,000 entries, 30 ms of 100,000.
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
      select s.seq from entry_search s
       where s.channel_id - 0 = p_channel and s.body ilike p_tails[v_index] and s.seq + 0 between p_from and p_to
         and s.body || '' ilike p_literals[v_index]
       order by s.seq desc limit p_limit);
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

-- As before, and it tells the lexemes of a message that a turn is going to look up, which saves that turn a round trip.
-- lexemes: null where nobody will: nothing of the channel has left its view yet, or no turn is due; or the text is long.
drop function append_message(bigint, text, text, text, boolean, text, integer, timestamptz, boolean, text);
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  out seq bigint, out duplicate boolean, out due boolean, out lexemes text[]
) language plpgsql as $$
declare v_last bigint; v_settled bigint; v_hidden bigint;
begin
  select c.last_seq, c.settled_to, greatest(c.covered_to, c.omitted_to) into strict v_last, v_settled, v_hidden
    from channels c where c.id = p_channel for no key update;
  select e.seq, e.addressed and e.seq > v_settled into seq, due
    from entries e where e.message_id = p_message_id and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  due := p_addressed;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id, p_reply_to);
  if p_addressed and v_hidden > 0 and length(p_text) <= 1000 then
    lexemes := tsvector_to_array(to_tsvector('english', p_text));
  end if;
end $$;

-- A daemon that takes a channel now waits for every write under way that has read the epoch, by the strongest lock of its
-- row. So those writes need the weakest one, which no append has to wait for: the note that an answer was delivered held
-- up the next message of its channel.
create function channels_await_writers() returns trigger language plpgsql as $$
begin
  perform from channels where id = old.id for update;
  return new;
end $$;
create trigger channels_await_writers before update on channels
  for each row when (old.epoch <> new.epoch) execute function channels_await_writers();

create or replace function refuse_old_epoch() returns trigger language plpgsql as $$
declare current_epoch bigint;
begin
  select epoch into current_epoch from channels where id = new.channel_id for key share;
  if current_epoch is distinct from new.epoch then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  return new;
end $$;

-- As before, but each text is read into lexemes once: for its own row and, with a lower weight, for the next one; and
-- edits are looked for only where there are any.
create or replace function index_entries(p_channel bigint, p_from bigint, p_to bigint) returns void language plpgsql as $$
declare v_edited boolean := exists (
  select from revisions r where r.channel_id = p_channel and r.seq between p_from - 1 and p_to);
begin
  delete from entry_search s where s.channel_id = p_channel and s.seq between p_from and p_to;
  insert into entry_search (channel_id, seq, body, tsv)
  select p_channel, spoken.seq, left(concat_ws(' ', spoken.author_name, spoken.text), 20000),
         setweight(to_tsvector('english', coalesce(spoken.author_name, '')) || spoken.words, 'A')
         || setweight(coalesce(spoken.before, ''), 'D')
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

-- Messages of several channels that nobody waits for an answer to, in one transaction; always in the order of the channels'
-- ids, so that two of these do not lock each other out.
-- p_batches: [{channel, messages}], messages as append_messages has them; batch: its place among them, from 1.
create function append_listened(p_batches jsonb)
returns table (batch bigint, seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_channel bigint; v_messages jsonb; m jsonb;
begin
  for batch, v_channel, v_messages in
    select b.place, (b.batch->>'channel')::bigint, b.batch->'messages'
      from jsonb_array_elements(p_batches) with ordinality b (batch, place) order by 2, 1
  loop
    if jsonb_array_length(v_messages) = 1 then
      m := v_messages->0;
      select a.seq, a.duplicate, a.due into seq, duplicate, due
        from append_message(v_channel, m->>'message_id', m->>'author_id', m->>'author_name', (m->>'author_bot')::boolean,
                            m->>'text', (m->>'tokens')::integer, (m->>'at')::timestamptz, (m->>'addressed')::boolean,
                            m->>'reply_to') a;
      return next;
    else
      for seq, duplicate, due in select a.seq, a.duplicate, a.due from append_messages(v_channel, v_messages) a loop
        return next;
      end loop;
    end if;
  end loop;
end $$;
