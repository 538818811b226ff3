-- A model that was asked before a deletion may call its tools behind it, and its turn may have ended before its owner hears of that: another
-- daemon has taken the text back, or nobody knows yet that the deletion was committed. Such a call is blank from the beginning, and sets
-- no reminder.

-- Of turns that still run, and what they have called already.
do $$ declare v_channel record; begin
  for v_channel in select p.channel_id as id, p.deleted_at from search_progress p where p.deleted_at is not null loop
    perform blank_late_calls(v_channel.id);
    update search_progress p set deleted_at = v_channel.deleted_at where p.channel_id = v_channel.id;
  end loop;
end $$;

alter table search_progress add column deleted_seq bigint;
comment on column search_progress.deleted_at is
  'when a message of the channel was last deleted; null: of all deletions the channel''s owner knows, and begins again the turn that had read one';
comment on column search_progress.deleted_seq is 'the first of those messages of whose deletion it does not know';
update search_progress p set deleted_seq = 0 where p.deleted_at is not null;

-- Deletes a message: its text goes from the log, its revisions and the search index; a job that may have read it is stale; and a
-- memory goes with its last source. The caller replaces the summaries that may tell it, in the same transaction.
create or replace function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry is indexed with the text before it, which was this one.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp(),
                               deleted_seq = least(p.deleted_seq, delete_message.seq)
   where p.channel_id = p_channel;
  update jobs j set state = 'stale', reason = 'a message that it had read was deleted', ended_at = clock_timestamp()
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and delete_message.seq between coalesce(j.saw_from, j.from_seq) and j.to_seq;
  perform take_proofs(p_channel, delete_message.seq, null);
end $$;

-- Whether a turn that writes knows what was deleted of what its model may have read. One that begins behind a deletion has read the log since.
create function knows_deletions(p_channel bigint, p_turn bigint) returns boolean language sql stable as $$
  select not exists (
    select from search_progress p join turns t on t.id = p_turn
     where p.channel_id = p_channel and p.deleted_at > t.started_at and p.deleted_seq <= t.to_seq)
$$;

-- The channel's owner knows of all deletions so far, and no turn of it runs. Of a daemon that has lost the channel it says nothing.
create function know_deletions(p_channel bigint, p_epoch bigint) returns void language sql as $$
  update search_progress p set deleted_at = null, deleted_seq = null
   where p.channel_id = p_channel and p.deleted_at is not null
     and exists (select from channels c where c.id = p_channel and c.epoch = p_epoch)
$$;
-- The same, as a daemon of an older version calls it.
create or replace function blank_late_calls(p_channel bigint) returns void language sql as $$
  select know_deletions(c.id, c.epoch) from channels c where c.id = p_channel
$$;

-- A turn may call its tools with words that are taken back before that, or just then: a message of its channel, or a memory of another one
-- that it was shown. With each of its calls stands which memories those were: so a deletion there finds the call. One that comes too late
-- is blank from the beginning, whoever owns the channel and knows of the deletion or not.
create or replace function entries_blank_late_call() returns trigger language plpgsql as $$
declare
  v_shown bigint[] := array(select jsonb_array_elements_text(new.data->'recalled'->'memories')::bigint);
  v_is_late boolean := not knows_deletions(new.channel_id, new.turn_id);
begin
  if new.kind = 'tool_result' then
    if v_is_late then
      update entries e set text = '', deleted_at = clock_timestamp() where e.channel_id = new.channel_id and e.seq = new.seq;
    end if;
  -- Whoever takes a memory holds it, and may wait for this channel: what is held counts as gone.
  elsif v_is_late
     or (select count(*) from (select from memories m where m.id = any (v_shown) for key share skip locked) there) < cardinality(v_shown) then
    update entries e set text = '', data = without_arguments(e.data) where e.channel_id = new.channel_id and e.seq = new.seq;
  end if;
  return null;
end $$;
-- Deferred: an approval that is asked for with the call goes with its arguments.
drop trigger entries_blank_late_call on entries;
create constraint trigger entries_blank_late_call after insert on entries deferrable initially deferred
  for each row when (new.kind = 'tool_call' or new.kind = 'tool_result' and new.text <> '') execute function entries_blank_late_call();

-- Adds a reminder, which a running turn (p_turn, of the owner of p_epoch) or a command (p_said, its message) asks for.
-- p_reminder: {key, kind, cron, time_zone, text, at, now, run, call_id}; p_said: {message_id, author_id, author_name, text, tokens, at}.
-- refused: gone (the channel, or the message), changed (a text that the turn has read), full, full_for_person, soon (a reminder that
-- sets the next one, without end).
create or replace function add_reminder(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_said jsonb, p_reminder jsonb, p_most integer, p_most_of_person integer,
  out id bigint, out asked_seq bigint, out refused text
) language plpgsql as $$
declare
  v_turn turns; v_asked entries; v_from reminders; v_parent bigint := parent_channel(p_channel); v_person text; v_name text; v_last bigint;
  v_at timestamptz := (p_reminder->>'at')::timestamptz;
begin
  if p_turn is null then perform from channels c where c.id = p_channel for no key update;
  else perform lock_owned(p_channel, p_epoch);
  end if;
  select r.id, r.asked_seq, case when r.state = 'gone' then 'gone' end into add_reminder.id, add_reminder.asked_seq, refused
    from reminders r where r.channel_id = p_channel and r.asked_key = p_reminder->>'key';
  if found then return; end if;
  if exists (select from channels c where c.id = p_channel and c.gone_at is not null) then refused := 'gone'; return; end if;
  if p_turn is not null then
    select t.* into strict v_turn from turns t where t.id = p_turn and t.channel_id = p_channel;
    if v_parent is not null then
      -- Whoever takes a text back there holds this row: either the reminder is there for them to see, or their count is.
      insert into search_progress (channel_id, indexed_to) values (v_parent, 0) on conflict do nothing;
      perform from search_progress p where p.channel_id = v_parent for share;
    end if;
    -- An edit that came behind the turn's messages: its model may have read what the message said before.
    if exists (select from revisions r where r.channel_id = p_channel and r.noted_seq > v_turn.to_seq and r.seq <= v_turn.to_seq)
       or exists (select from context_voids v where v.channel_id = v_parent and v.voided_at >= v_turn.started_at) then
      refused := 'changed';
      return;
    end if;
    -- What an earlier run of the turn has set and not told: nobody knows of it, and this run sets it anew.
    delete from reminders r
     where r.channel_id = p_channel and r.turn_id = p_turn and r.run <> p_reminder->>'run' and r.state = 'active'
       and not exists (
         select from entries e where e.channel_id = p_channel and e.kind = 'tool_call' and e.turn_id = p_turn and e.seq > v_turn.from_seq
            and e.data->'calls' @> jsonb_build_array(jsonb_build_object('id', r.call_id)));
    select e.* into v_asked from entries e
     where e.channel_id = p_channel and e.seq between v_turn.from_seq and v_turn.to_seq and e.addressed and e.deleted_at is null
     order by is_due_work(e.message_id), e.seq desc limit 1;
    if not found then refused := 'gone'; return; end if;
    -- Its model may have read what was taken back.
    if not knows_deletions(p_channel, p_turn) then refused := 'changed'; return; end if;
    asked_seq := v_asked.seq;
    v_person := v_asked.author_id;
    v_name := v_asked.author_name;
    if is_due_work(v_asked.message_id) then
      -- Nobody asks but Weir itself: whoever asked for what has come due does.
      select r.* into v_from from reminders r where r.id = reminder_of(v_asked.message_id) and r.channel_id = p_channel;
      asked_seq := coalesce(v_from.asked_seq, asked_seq);
      v_person := v_from.asker_id;
      v_name := v_from.asker_name;
      if v_at < (p_reminder->>'now')::timestamptz + interval '5 minutes' then refused := 'soon'; return; end if;
    end if;
  else
    v_person := p_said->>'author_id';
    v_name := p_said->>'author_name';
  end if;
  if (select count(*) from reminders r where r.channel_id = p_channel and r.state = 'active') >= p_most then
    refused := 'full';
    return;
  end if;
  if (select count(*) from reminders r
       where r.channel_id = p_channel and r.state = 'active' and r.asker_id = v_person) >= p_most_of_person then
    refused := 'full_for_person';
    return;
  end if;
  if p_turn is null then
    select a.seq into asked_seq from append_message(
      p_channel, p_said->>'message_id', v_person, v_name, false, p_said->>'text', (p_said->>'tokens')::integer,
      (p_said->>'at')::timestamptz, false, null) a;
    if exists (select from entries e where e.channel_id = p_channel and e.seq = add_reminder.asked_seq and e.deleted_at is not null)
       or exists (select from revisions r where r.channel_id = p_channel and r.seq = add_reminder.asked_seq) then
      refused := 'gone';
      return;
    end if;
  end if;
  insert into reminders (channel_id, kind, cron, time_zone, text, next_at, asked_key, asked_seq, asker_id, asker_name, turn_id, run,
                         call_id, read_to)
  values (p_channel, p_reminder->>'kind', p_reminder->>'cron', p_reminder->>'time_zone', p_reminder->>'text', v_at,
          p_reminder->>'key', add_reminder.asked_seq, v_person, v_name, p_turn, p_reminder->>'run', p_reminder->>'call_id', v_turn.to_seq)
  returning reminders.id into add_reminder.id;
end $$;
