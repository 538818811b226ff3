-- How long raw texts are kept, where the configuration says so. A text expires once its entry is answered, covered by a summary and old,
-- together with all others of one summary of the first level, so that a summariser never reads half of its source. An entry
-- keeps its place, its author and its time; summaries and memories, with their quotes, stay. Of a message the fingerprints of
-- its terms stay, by which a later deletion finds what tells of it.

-- Keyed hashes: only a holder of the installation's key can make them. Those of a message are in no order.
create table entry_prints (
  channel_id bigint not null,
  seq        bigint not null,
  key_id     text   not null, -- tells keys apart, and nothing of the key
  -- of the terms of what the message said last, 8 bytes each: of earlier texts nothing is left once they are covered
  said       bytea  not null check (octet_length(said) % 8 = 0),
  primary key (channel_id, seq),
  foreign key (channel_id, seq) references entries on delete cascade
);
alter table entry_prints alter column said set statistics 0;
create index entry_prints_keys on entry_prints (channel_id, key_id);

-- The prints are deleted with their message. Deferred: until the commit the deletion compares by them.
create function entries_drop_prints() returns trigger language plpgsql as $$
begin
  delete from entry_prints p where p.channel_id = new.channel_id and p.seq = new.seq;
  return null;
end $$;
create constraint trigger entries_drop_prints after update on entries deferrable initially deferred
  for each row when (old.expired_at is not null and old.deleted_at is null and new.deleted_at is not null)
  execute function entries_drop_prints();

-- Returns channels in which the texts of some summary may be old enough.
create function channels_with_old_texts(p_before timestamptz) returns table (channel_id bigint) language sql stable as $$
  select distinct s.channel_id from summaries s
    join entries e on e.channel_id = s.channel_id and e.seq = s.to_seq
   where s.level = 1 and coalesce(s.texts_gone_to, 0) < s.to_seq and greatest(e.at, e.appended_at) < p_before
   order by s.channel_id
$$;

-- Whether the texts of p_first..p_last, under a summary of the first level, must stay for now. They wait while the view shows results of
-- tools that quote them, or notes of their edits; while a summary of them is to be written again, or a job reads them; and while a
-- person may still allow a call. A reset covers what others have summarised: those expire first, each as a whole.
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

-- Removes the texts of p_first..p_last, which `store/deletion/retention.ts` has found under a summary. From the first of them on, that summary's range
-- is never summarised again. p_prints: [{seq, revisions, said}] of each message whose text expires, made of what it said with so many
-- edits; the prints in hexadecimal. Returns how many entries lost their text; null: something has changed since they were found.
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
  -- Earlier summaries of the same texts say so, too.
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
  if v_seqs <> '{}' then update search_progress p set expired_at = clock_timestamp() where p.channel_id = p_channel; end if;
  delete from context_records r using turns t
   where r.channel_id = p_channel and t.id = r.turn_id and t.to_seq between p_first and p_last;
  update approvals a set arguments = '', fingerprint = '', reason = '',
                         shown = case when a.shown is null then null else approval_shown(a.state, '') end
    from turns t
   where a.channel_id = p_channel and t.id = a.turn_id and t.to_seq between p_first and p_last and a.arguments <> '';
  return cardinality(v_seqs);
end $$;
