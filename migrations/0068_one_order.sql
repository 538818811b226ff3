-- Whoever takes a text back in a channel goes on to its threads. Whoever writes in a thread takes these locks in the same order: each
-- waited for the other, until the server ended one of them.

-- Locks the channel's row for its owner, and before it, of a thread, the lock of `lock_search` of the channel it belongs to: whoever
-- takes a text back there holds that. So either they see what is written here, or their count is to be seen.
create function lock_owned_below(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
declare v_parent bigint := parent_channel(p_channel);
begin
  if v_parent is not null then
    insert into search_progress (channel_id, indexed_to) values (v_parent, 0) on conflict do nothing;
    perform from search_progress p where p.channel_id = v_parent for share;
  end if;
  perform lock_owned(p_channel, p_epoch);
end $$;

-- Notes a line that a running turn is about to write. Null: a text of the channel, or of the thread's channel, was taken back since
-- the turn has looked, and what its model has read of it may be in the line.
create or replace function add_note(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_agent text, p_file text, p_text text, p_taken_back bigint
) returns bigint language plpgsql as $$
declare v_id bigint;
begin
  perform lock_owned_below(p_channel, p_epoch);
  if p_taken_back <> notes_taken_back(p_channel) then return null; end if;
  insert into notes (channel_id, turn_id, agent, file, text, read_to)
  select p_channel, t.id, p_agent, p_file, p_text, t.to_seq from turns t where t.id = p_turn and t.channel_id = p_channel
  returning id into strict v_id;
  return v_id;
end $$;

-- Locks the channel's row for its owner. False: a text that a run may have read was edited or taken back since it has looked.
create or replace function subagents_may_write(p_channel bigint, p_epoch bigint, p_taken_back bigint) returns boolean language plpgsql as $$
begin
  if p_taken_back is null then
    perform lock_owned(p_channel, p_epoch);
    return true;
  end if;
  perform lock_owned_below(p_channel, p_epoch);
  return p_taken_back = notes_taken_back(p_channel);
end $$;

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
  else perform lock_owned_below(p_channel, p_epoch);
  end if;
  select r.id, r.asked_seq, case when r.state = 'gone' then 'gone' end into add_reminder.id, add_reminder.asked_seq, refused
    from reminders r where r.channel_id = p_channel and r.asked_key = p_reminder->>'key';
  if found then return; end if;
  if exists (select from channels c where c.id = p_channel and c.gone_at is not null) then refused := 'gone'; return; end if;
  if p_turn is not null then
    select t.* into strict v_turn from turns t where t.id = p_turn and t.channel_id = p_channel;
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
