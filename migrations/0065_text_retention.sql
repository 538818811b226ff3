-- How long raw texts are kept, where the configuration says so. What goes are the texts of entries that are answered, covered by a
-- summary and old, all of one summary of the first level together: so what is summarised with them is never read by halves. An entry
-- keeps its place, its author and its time; summaries and memories, with their quotes, stay. Of a message there stay the fingerprints of
-- its terms, by which a later deletion finds what tells of it.

alter table entries add column expired_at timestamptz,
                    add constraint entries_expired_say_nothing check (expired_at is null or text = '') not valid;
comment on column entries.expired_at is 'since when its text is not kept any more, for its age';
alter table summaries add column texts_gone_at timestamptz;
comment on column summaries.texts_gone_at is 'of the first level: since when the texts of its range are not kept any more; nobody can write it again';
alter table summaries add column texts_gone_to bigint;
comment on column summaries.texts_gone_to is 'of the first level: up to where the texts of its range are not kept any more; null: all of them are';
-- Keyed hashes: only who has the installation's key can make them. Those of a message are in no order.
create table entry_prints (
  channel_id bigint not null,
  seq        bigint not null,
  key_id     text   not null,
  said       bytea  not null check (octet_length(said) % 8 = 0),
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries on delete cascade
);
comment on column entry_prints.key_id is 'tells keys apart, and nothing of the key';
comment on column entry_prints.said is 'of the terms of what the message said last, 8 bytes each: of earlier texts nothing is left once they are covered';
alter table entry_prints alter column said set statistics 0;
create index entry_prints_keys on entry_prints (channel_id, key_id);

-- A daemon of a version before compares by no prints: while one is there, no text goes.
alter table members add column looks_for_prints boolean not null default false;
comment on column members.looks_for_prints is 'its deletions compare by `entry_prints`; false: it is of a version before';

-- They go with their message. Deferred: until the commit the deletion compares by them.
create function entries_drop_prints() returns trigger language plpgsql as $$
begin
  delete from entry_prints p where p.channel_id = new.channel_id and p.seq = new.seq;
  return null;
end $$;
create constraint trigger entries_drop_prints after update on entries deferrable initially deferred
  for each row when (old.expired_at is not null and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_drop_prints();

create index summaries_with_texts on summaries (channel_id, from_seq, id) where level = 1 and coalesce(texts_gone_to, 0) < to_seq;
create index summaries_without_texts on summaries (channel_id, from_seq) where level = 1 and texts_gone_at is not null;
alter table search_progress add column expired_at timestamptz;
create index search_expired on search_progress (expired_at) where expired_at is not null;
comment on column search_progress.expired_at is 'when texts of the channel were last no longer kept: older statistics of the index may tell their words';

-- The log is append-only. An entry may change in four ways: its text goes when it is deleted; its text becomes that of the latest
-- edit, if no view shows the older one; the arguments of a tool call go; all that it says goes once it is old and covered. The call's
-- name and id stay, so that its results have a call. Who deletes what is no longer kept says by `weir.looks_for_prints` that its
-- prints are looked for, in the same transaction: a version before would take what was summarised, and find nothing else.
create or replace function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    if new.deleted_at is not null and new.text = '' and new.expired_at is not distinct from old.expired_at then
      if old.expired_at is not null and old.deleted_at is null and coalesce(current_setting('weir.looks_for_prints', true), '') = '' then
        raise exception 'the text of entry % of channel % is no longer kept: a newer version of Weir must delete it', old.seq, old.channel_id
          using errcode = 'WE001';
      end if;
      return new;
    end if;
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
   where s.level = 1 and coalesce(s.texts_gone_to, 0) < s.to_seq and greatest(e.at, e.appended_at) < p_before
   order by s.channel_id
$$;

-- Must the texts of p_first..p_last, under a summary of the first level, stay for now? What is shown in the view waits: results of tools
-- that quote them, and notes of their edits. So does what a summary is to be written of again, or is being read, and calls that somebody
-- may still allow. A reset covers what others have summarised: these go first, each as a whole.
create function texts_wait(p_summary summaries, p_first bigint, p_last bigint) returns boolean language sql stable as $$
  select p_summary.to_seq > done_to(p_summary.channel_id)
      or exists (select from summaries o where o.channel_id = p_summary.channel_id and o.live and o.needs_redo
                                           and o.from_seq <= p_last and o.to_seq >= p_first)
      or exists (select from jobs j where j.channel_id = p_summary.channel_id and j.state in ('running', 'staged')
                                      and j.from_seq <= p_last and j.to_seq >= p_first)
      or exists (select from approvals a join turns t on t.id = a.turn_id
                  where a.channel_id = p_summary.channel_id and a.state in ('open', 'allowed', 'running')
                    and t.to_seq between p_first and p_last)
      or exists (select from revisions r join channels c on c.id = r.channel_id
                  where r.channel_id = p_summary.channel_id and r.seq between p_first and p_last and r.noted_seq > c.covered_to)
      or exists (select from channels c join entries e on e.channel_id = c.id and e.seq > c.covered_to and e.kind = 'tool_result'
                  cross join lateral jsonb_array_elements_text(e.data->'references') quoted
                  where c.id = p_summary.channel_id and quoted::bigint between p_first and p_last)
      or (p_summary.kind = 'reset' and exists (
           select from summaries s where s.channel_id = p_summary.channel_id and s.level = 1 and s.kind <> 'reset'
                                     and coalesce(s.texts_gone_to, 0) < s.to_seq and s.from_seq <= p_last and s.to_seq >= p_first))
$$;

-- The next texts of a channel that may go: of one summary that is old as a whole, p_limit entries at most. Of resets, or of all others
-- (p_is_reset), from p_from and p_id on in their order. Takes no lock.
create function next_old_texts(
  p_channel bigint, p_before timestamptz, p_limit integer, p_is_reset boolean, p_from bigint, p_id bigint
) returns table (summary bigint, summary_from bigint, first bigint, last bigint) language sql stable as $$
  select s.id, s.from_seq, w.first, w.last
    from summaries s
   cross join lateral (
     select coalesce(s.texts_gone_to + 1, s.from_seq) as first,
            least(s.to_seq, coalesce(s.texts_gone_to, s.from_seq - 1) + p_limit) as last
   ) w
   -- What is summarised together is looked at together, once.
   cross join lateral (select case when s.texts_gone_to is null and s.kind <> 'reset' then s.to_seq else w.last end as last) looked
   where s.channel_id = p_channel and s.level = 1 and (s.kind = 'reset') = p_is_reset
     and coalesce(s.texts_gone_to, 0) < s.to_seq and (s.from_seq, s.id) >= (p_from, p_id)
     and exists (select from entries e where e.channel_id = p_channel and e.seq = s.to_seq and greatest(e.at, e.appended_at) < p_before)
     and not exists (select from entries e where e.channel_id = p_channel and e.seq between w.first and looked.last
                                              and greatest(e.at, e.appended_at) >= p_before)
     and not texts_wait(s, w.first, looked.last)
   order by s.from_seq, s.id limit 1
$$;

-- Lets the texts of p_first..p_last go, which `next_old_texts` has found under a summary. From the first of them on nothing is written
-- anew of that summary's range. p_prints: [{seq, revisions, said}] of each message whose text goes, made of what it said with so many
-- edits; the prints in hexadecimal. Returns how many entries lost their text; null: something has come between.
create function expire_texts(
  p_channel bigint, p_summary bigint, p_first bigint, p_last bigint, p_key_id text, p_prints jsonb
) returns integer language plpgsql as $$
declare v_summary summaries; v_seqs bigint[];
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  select s.* into v_summary from summaries s where s.id = p_summary and s.channel_id = p_channel;
  if v_summary.id is null or coalesce(v_summary.texts_gone_to + 1, v_summary.from_seq) <> p_first or p_last > v_summary.to_seq
     or texts_wait(v_summary, p_first, case when v_summary.texts_gone_to is null and v_summary.kind <> 'reset'
                                            then v_summary.to_seq else p_last end)
  then return null; end if;
  v_seqs := array(
    select e.seq from entries e
     where e.channel_id = p_channel and e.seq between p_first and p_last and e.expired_at is null
       and e.deleted_at is null and (e.kind <> 'notice' or e.data ? 'edits'));
  if exists (
    select from entries e left join jsonb_to_recordset(p_prints) p (seq bigint, revisions integer) on p.seq = e.seq
     where e.channel_id = p_channel and e.seq = any (v_seqs) and e.kind = 'user'
       and p.revisions is distinct from (select count(*) from revisions r where r.channel_id = e.channel_id and r.seq = e.seq)::integer)
  then return null; end if;
  insert into entry_prints (channel_id, seq, key_id, said)
  select p_channel, p.seq, p_key_id, decode(p.said, 'hex')
    from jsonb_to_recordset(p_prints) p (seq bigint, said text) where p.seq = any (v_seqs);
  -- Also earlier summaries of the same texts: whichever is looked at says so.
  update summaries s set texts_gone_at = clock_timestamp()
   where s.channel_id = p_channel and s.level = 1 and s.texts_gone_at is null
     and (s.id = p_summary or (v_summary.kind <> 'reset' and s.kind <> 'reset'
                               and s.from_seq <= v_summary.to_seq and s.to_seq >= v_summary.from_seq));
  update summaries s set texts_gone_to = p_last where s.id = p_summary;
  update entries e set text = '', expired_at = clock_timestamp(),
                       data = case when e.kind = 'tool_call' then without_arguments(e.data) else e.data end
   where e.channel_id = p_channel and e.seq = any (v_seqs);
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = any (v_seqs) and r.text <> '';
  delete from entry_search s where s.channel_id = p_channel and s.seq = any (v_seqs);
  -- The next entry is indexed with the text before it.
  if exists (select from entry_search s where s.channel_id = p_channel and s.seq = p_last + 1) then
    perform index_entries(p_channel, p_last + 1, p_last + 1);
  end if;
  if v_seqs <> '{}' then
    update search_progress p set expired_at = clock_timestamp() where p.channel_id = p_channel;
  end if;
  delete from context_records r using turns t
   where r.channel_id = p_channel and t.id = r.turn_id and t.to_seq between p_first and p_last;
  update approvals a set arguments = '', fingerprint = '', reason = '',
                         shown = case when a.shown is null then null else approval_shown(a.state, '') end
    from turns t
   where a.channel_id = p_channel and t.id = a.turn_id and t.to_seq between p_first and p_last and a.arguments <> '';
  return cardinality(v_seqs);
end $$;

-- Applies an edit: it adds a revision, notes the change if a turn has read the text, updates the search index, and marks the
-- summaries and the job that hold the old text. The caller removes the memories and substitutes the summaries that tell it, in
-- the same transaction. An edit that is older than the latest known one was delivered late and changes nothing.
-- outcome: unknown; expired (its text is no longer kept: nothing was changed); unchanged; replaced (nobody had read it); noted (a notice was appended). former: all that the message said before.
create or replace function revise_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint, out former text[]
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz; v_seqs bigint[];
begin
  perform lock_search(p_channel);
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.* into v_entry from entries e
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null;
  if not found then outcome := 'unknown'; return; end if;
  seq := v_entry.seq;
  if v_entry.expired_at is not null then outcome := 'expired'; return; end if;
  select r.text, r.revision, r.at into v_current, v_revision, v_at from revisions r
   where r.channel_id = p_channel and r.seq = v_entry.seq order by r.revision desc limit 1;
  if coalesce(v_current, v_entry.text) = p_text or v_at > p_at then outcome := 'unchanged'; return; end if;
  former := array(select v_entry.text union
                  select r.text from revisions r where r.channel_id = p_channel and r.seq = v_entry.seq);
  outcome := 'replaced';
  if exists (select from turns t where t.channel_id = p_channel and t.to_seq >= v_entry.seq) then
    outcome := 'noted';
    noted_seq := v_last + 1;
    insert into entries (channel_id, seq, kind, at, text, tokens, data)
    values (p_channel, noted_seq, 'notice', p_at, '', p_tokens, jsonb_build_object('edits', v_entry.seq));
  end if;
  insert into revisions (channel_id, seq, revision, text, at, noted_seq)
  values (p_channel, v_entry.seq, coalesce(v_revision, 0) + 1, p_text, p_at, revise_message.noted_seq);
  perform forget_outdated(p_channel, array[v_entry.seq]);
  perform index_entries(p_channel, v_entry.seq, v_entry.seq + 1);
  update search_progress p set erased_at = clock_timestamp() where p.channel_id = p_channel;
  v_seqs := array(select r.noted_seq from revisions r
                   where r.channel_id = p_channel and r.seq = v_entry.seq and r.noted_seq is not null) || v_entry.seq;
  update summaries s set needs_redo = true
   where s.channel_id = p_channel and s.live and s.kind <> 'reset'
     and exists (select from unnest(v_seqs) v where v between s.from_seq and s.to_seq);
  update jobs j set edited = true
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and exists (select from unnest(v_seqs) v where v between j.from_seq and j.to_seq);
end $$;
