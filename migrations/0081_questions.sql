-- A row of approvals is a question: an approval, or a choice that the agent lets somebody make by its tool `ask`. The table keeps its name,
-- and reports keep the ids `approval/7`. A choice has states of its own, so that a daemon of the version before leaves it alone: that
-- daemon neither shows it nor ends it, and reports of it release no call.
--
--   asked → answered, or lapsed         reported in words
--   asked → void                        the request was retracted, or the channel was reset

alter table approvals
  add column kind        text    not null default 'approval' check (kind in ('approval', 'choice')),
  add column for_anybody boolean not null default false, -- of a choice; false: whose message the turn answered may make it
  add column answer      text    not null default ''; -- the words of the choice that was made; "" once they were deleted
alter table approvals alter column answer set statistics 0;
alter table approvals drop constraint approvals_state_check;
alter table approvals add constraint approvals_state_check check (
  state in ('open', 'allowed', 'running', 'done', 'denied', 'expired', 'void', 'asked', 'answered', 'lapsed'));

-- The version before asks this which messages are outdated: to it, null says that no message of a choice is.
create or replace function approval_shown(p_state text, p_arguments text) returns text language sql immutable as $$
  select case when p_state in ('asked', 'answered', 'lapsed') then null
              when p_state in ('allowed', 'running', 'done') then 'allowed'
              else p_state end
         || case when p_arguments = '' then ' without arguments' else '' end
$$;

-- Returns what the message of a question is to show. Of an approval it is the same as approval_shown.
create function question_shown(p_state text, p_arguments text, p_answer text) returns text language sql immutable as $$
  select case when p_state in ('allowed', 'running', 'done') then 'allowed' else p_state end
         || case when p_arguments = '' then ' without arguments' else '' end
         || case when p_state = 'answered' and p_answer = '' then ' without answer' else '' end
$$;

drop index approvals_under_way, approvals_that_expire, approvals_untold, approvals_to_show;
create index approvals_under_way on approvals (channel_id) where state in ('open', 'allowed', 'running', 'asked');
create index approvals_that_expire on approvals (expires_at) where state in ('open', 'asked');
create index approvals_untold on approvals (id)
 where told_at is null and state in ('allowed', 'denied', 'expired', 'answered', 'lapsed');
create index approvals_to_show on approvals (channel_id)
 where shown is null and state in ('open', 'asked') or shown <> question_shown(state, arguments, answer);

-- Notes the questions that the calls of a turn ask, and the ends of the approvals whose calls it has run. It comes in one transaction with
-- the turn's entries.
-- p_asked: [{id, call_id, agent, tool, arguments, fingerprint, expire_ms, kind, for_anybody}]; the version before has no last two
create or replace function note_approvals(p_channel bigint, p_epoch bigint, p_turn bigint, p_asked jsonb, p_done bigint[])
returns void language plpgsql as $$
begin
  perform assert_epoch(p_channel, p_epoch, 'key share');
  insert into approvals (id, channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, expires_at, kind, for_anybody, state)
  select a.id, p_channel, p_turn, a.call_id, a.agent, a.tool, a.arguments, a.fingerprint,
         clock_timestamp() + a.expire_ms * interval '1 millisecond', coalesce(a.kind, 'approval'), coalesce(a.for_anybody, false),
         case when a.kind = 'choice' then 'asked' else 'open' end
    from jsonb_to_recordset(p_asked) as a (
           id bigint, call_id text, agent text, tool text, arguments text, fingerprint text, expire_ms bigint, kind text, for_anybody boolean)
  on conflict (turn_id, call_id) do nothing;
  update approvals a set state = 'done' where a.channel_id = p_channel and a.id = any (p_done) and a.state = 'running';
end $$;

-- Removes the words of questions, and ends those that wait and the rules that came from them. It locks the questions first: a decision
-- in progress makes a rule, which this waits for, to see it.
create or replace function void_approvals(p_ids bigint[]) returns void language plpgsql as $$
begin
  perform from approvals a where a.id = any (p_ids) order by a.id for update;
  delete from approval_rules r where r.approval_id = any (p_ids);
  update approvals a set arguments = '', fingerprint = '', reason = '', answer = '',
                         state = case when a.state in ('open', 'allowed', 'asked') then 'void' else a.state end
   where a.id = any (p_ids);
end $$;

-- What was asked before a reset is not run, and not answered, after it.
create or replace function summaries_void_approvals() returns trigger language plpgsql as $$
begin
  update approvals a set state = 'void' where a.channel_id = new.channel_id and a.state in ('open', 'allowed', 'asked');
  return null;
end $$;

-- Whether the texts of p_first..p_last, under a summary of the first level, must stay for now. They wait while the view shows results of
-- tools that quote them, or notes of their edits; while a summary of them is to be written again, or a job reads them; and while a
-- person may still answer a question. A reset covers what others have summarised: those expire first, each as a whole.
create or replace function texts_wait(p_summary summaries, p_first bigint, p_last bigint) returns boolean language sql stable as $$
  select p_summary.to_seq > done_to(p_summary.channel_id)
      or exists (select from summaries o where o.channel_id = p_summary.channel_id and o.live and o.needs_redo
                                           and o.from_seq <= p_last and o.to_seq >= p_first)
      or exists (select from jobs j where j.channel_id = p_summary.channel_id and j.state in ('running', 'staged')
                                      and j.from_seq <= p_last and j.to_seq >= p_first)
      or exists (select from approvals a join turns t on t.id = a.turn_id
                  where a.channel_id = p_summary.channel_id and a.state in ('open', 'allowed', 'running', 'asked')
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
create or replace function expire_texts(
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
  update approvals a set arguments = '', fingerprint = '', reason = '', answer = '',
                         shown = case when a.shown is null then null else question_shown(a.state, '', '') end
    from turns t
   where a.channel_id = p_channel and t.id = a.turn_id and t.to_seq between p_first and p_last and a.arguments <> '';
  return cardinality(v_seqs);
end $$;
