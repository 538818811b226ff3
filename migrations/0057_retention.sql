-- How long raw texts and pictures are kept, where the configuration says so. What goes are the texts of entries that are settled, covered
-- by a summary and old, all of one summary of the first level together: so what is summarised with them is never read by halves. An entry
-- keeps its place, its author and its time; summaries and memories, with their quotes, stay.

alter table entries add column expired_at timestamptz,
                    add constraint entries_expired_say_nothing check (expired_at is null or text = '') not valid;
comment on column entries.expired_at is 'since when its text is not kept any more, for its age';
alter table summaries add column texts_gone_at timestamptz;
comment on column summaries.texts_gone_at is 'of the first level: since when the texts of its range are not kept any more; nobody can write it again';
create index summaries_with_texts on summaries (channel_id, from_seq) where level = 1 and texts_gone_at is null;
create index summaries_without_texts on summaries (channel_id, from_seq) where level = 1 and texts_gone_at is not null;

-- Up to where the entries of a channel are covered, and wait for nobody.
create function done_to(p_channel bigint) returns bigint language sql stable as $$
  select least(c.covered_to, (select min(e.seq) - 1 from entries e
                               where e.channel_id = c.id and e.addressed and e.seq > c.settled_to))
    from channels c where c.id = p_channel
$$;

-- The log is append-only. An entry may change in four ways: its text goes when it is deleted; its text becomes that of the latest
-- edit, if no view shows the older one; the arguments of a tool call go; all that it says goes once it is old and covered. The call's
-- name and id stay, so that its results have a call.
create or replace function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    if new.deleted_at is not null and new.text = '' and new.expired_at is not distinct from old.expired_at then return new; end if;
    if old.expired_at is null and new.expired_at is not null then
      if new.deleted_at is null and old.deleted_at is null and new.text = ''
         and new.seq <= done_to(new.channel_id)
         and new.data is not distinct from (case when new.kind = 'tool_call' then without_arguments(old.data) else old.data end)
      then return new; end if;
    elsif new.deleted_at is null and old.deleted_at is null and new.expired_at is not distinct from old.expired_at then
      if new.kind = 'user' and new.data is not distinct from old.data
         and new.text = (select r.text from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                          order by r.revision desc limit 1)
         and (new.seq <= (select c.covered_to from channels c where c.id = new.channel_id)
              or not exists (select from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                                                       and r.noted_seq is not null))
      then return new; end if;
      if new.kind = 'tool_call' and new.text in ('', old.text) and new.data - 'calls' = old.data - 'calls'
         and jsonb_array_length(new.data->'calls') = jsonb_array_length(old.data->'calls')
         and not exists (
           select from jsonb_array_elements(new.data->'calls') with ordinality n (call, place)
             join jsonb_array_elements(old.data->'calls') with ordinality o (call, place) using (place)
            where n.call - 'arguments' <> o.call - 'arguments' or n.call->>'arguments' not in ('{}', o.call->>'arguments'))
      then return new; end if;
    end if;
  end if;
  raise exception 'the log is append-only (entry % of channel %)', old.seq, old.channel_id using errcode = 'WE001';
end $$;

-- What is no longer kept was taken back by nobody: what is written ahead, what requests were made of, and what was approved stays.
drop trigger entries_void_ahead on entries;
create trigger entries_void_ahead after update on entries
  for each row when (old.expired_at is not distinct from new.expired_at
                     and (old.text <> new.text or old.data is distinct from new.data or old.deleted_at is distinct from new.deleted_at))
  execute function entries_void_ahead();
drop trigger entries_void_context on entries;
create constraint trigger entries_void_context after update on entries deferrable initially deferred
  for each row when (old.expired_at is not distinct from new.expired_at
                     and (old.text <> new.text or old.data is distinct from new.data or old.deleted_at is distinct from new.deleted_at))
  execute function entries_void_context();
drop trigger entries_blank_approvals on entries;
create trigger entries_blank_approvals after update of data on entries
  for each row when (new.kind = 'tool_call' and new.data is distinct from old.data and old.expired_at is not distinct from new.expired_at)
  execute function entries_blank_approvals();

-- A summary whose texts are gone cannot be written again from them.
create function summaries_keep_unread() returns trigger language plpgsql as $$
begin
  new.needs_redo := false;
  return new;
end $$;
create trigger summaries_keep_unread before update of needs_redo on summaries
  for each row when (new.needs_redo and new.texts_gone_at is not null) execute function summaries_keep_unread();

-- Writes the index rows of p_from..p_to anew. Author and text weigh A, the text before them D; identifiers, pairs and acronyms are added.
-- Each entry is read once, and each text is made into lexemes once. What is no
-- longer kept has no row. The caller holds the lock of `lock_search`.
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

-- Channels in which the texts of some summary may be old enough.
create function channels_with_old_texts(p_before timestamptz) returns table (channel_id bigint) language sql stable as $$
  select distinct s.channel_id from summaries s
    join entries e on e.channel_id = s.channel_id and e.seq = s.to_seq
   where s.level = 1 and s.texts_gone_at is null and greatest(e.at, e.appended_at) < p_before
   order by s.channel_id
$$;

-- Lets the texts of one summary's range go, at most p_limit of a reset's. entries: whose text went. summary: null where there was none
-- to take. What is shown in the view still waits: results of tools that quote the range, and notes of its edits; so does a summary that
-- is to be written again, or is being read.
create function expire_texts(p_channel bigint, p_before timestamptz, p_limit integer, out summary bigint, out entries integer)
language plpgsql as $$
declare v_summary summaries; v_done bigint; v_covered bigint; v_seqs bigint[];
begin
  perform lock_search(p_channel);
  select c.covered_to into strict v_covered from channels c where c.id = p_channel for no key update;
  v_done := done_to(p_channel);
  select s.* into v_summary from summaries s
   where s.channel_id = p_channel and s.level = 1 and s.texts_gone_at is null and s.to_seq <= v_done
     and not (s.live and s.needs_redo)
     and not exists (select from entries e where e.channel_id = p_channel and e.seq between s.from_seq and s.to_seq
                                              and greatest(e.at, e.appended_at) >= p_before)
     and not exists (select from jobs j where j.channel_id = p_channel and j.state in ('running', 'staged')
                                          and j.from_seq <= s.to_seq and j.to_seq >= s.from_seq)
     and not exists (select from revisions r where r.channel_id = p_channel and r.seq between s.from_seq and s.to_seq
                                               and r.noted_seq > v_covered)
     and not exists (select from entries e cross join lateral jsonb_array_elements_text(e.data->'references') quoted
                      where e.channel_id = p_channel and e.seq > v_covered and e.kind = 'tool_result'
                        and quoted::bigint between s.from_seq and s.to_seq)
   order by s.from_seq, s.to_seq limit 1;
  if not found then entries := 0; return; end if;
  summary := v_summary.id;
  v_seqs := array(
    select e.seq from entries e
     where e.channel_id = p_channel and e.seq between v_summary.from_seq and v_summary.to_seq and e.expired_at is null
       and e.deleted_at is null and (e.kind <> 'notice' or e.data ? 'edits')
     order by e.seq limit case when v_summary.kind = 'reset' then p_limit end);
  entries := cardinality(v_seqs);
  update entries e set text = '', expired_at = clock_timestamp(),
                       data = case when e.kind = 'tool_call' then without_arguments(e.data) else e.data end
   where e.channel_id = p_channel and e.seq = any (v_seqs);
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = any (v_seqs) and r.text <> '';
  delete from entry_search s where s.channel_id = p_channel and s.seq = any (v_seqs);
  -- The next entry is indexed with the text before it.
  if exists (select from entry_search s where s.channel_id = p_channel and s.seq = v_summary.to_seq + 1) then
    perform index_entries(p_channel, v_summary.to_seq + 1, v_summary.to_seq + 1);
  end if;
  delete from context_records r using turns t
   where r.channel_id = p_channel and t.id = r.turn_id and t.to_seq between v_summary.from_seq and v_summary.to_seq;
  update approvals a set arguments = '', fingerprint = '', reason = '',
                         shown = case when a.shown is null then null else approval_shown(a.state, '') end
    from turns t
   where a.channel_id = p_channel and t.id = a.turn_id and t.to_seq between v_summary.from_seq and v_summary.to_seq
     and a.state not in ('open', 'allowed', 'running') and a.arguments <> '';
  if v_summary.kind <> 'reset' or entries < p_limit then
    update summaries s set texts_gone_at = clock_timestamp() where s.id = v_summary.id;
  end if;
end $$;

-- Lets pictures of old messages go that nobody has to answer any more and that are summarised, at most p_limit. Those of a thread's first
-- message stand in two channels.
create function expire_images(p_before timestamptz, p_limit integer) returns integer language plpgsql as $$
declare v_count integer;
begin
  with old as (
    select i.platform, i.message_id, i.number from images i
     where i.platform <> 'weir' and i.kept_at < p_before
       and not exists (
         select from entries e join channels c on c.id = e.channel_id and c.platform = i.platform
          where e.message_id = i.message_id and (e.seq > done_to(c.id) or e.at >= p_before))
     limit p_limit
  )
  delete from images i using old where (i.platform, i.message_id, i.number) = (old.platform, old.message_id, old.number);
  get diagnostics v_count = row_count;
  return v_count;
end $$;
