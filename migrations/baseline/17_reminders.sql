-- Reminders, and schedules of the configuration: texts that are to be said in a channel at a time. An occurrence is appended to the log as
-- work of Weir's own, in the transaction that moves the reminder on: so it comes once, over restarts and daemons.

create table reminders (
  id         bigint generated always as identity primary key,
  channel_id bigint not null references channels (id),
  kind       text   check (kind in ('once', 'cron')), -- unused: a reminder that recurs has a `cron`
  cron       text,
  time_zone  text   not null,
  text       text   not null,
  next_at    timestamptz, -- when it is due next; of what is missed while no daemon runs, the first
  state      text   not null default 'active' check (state in ('active', 'done', 'cancelled', 'gone')),
  asked_key  text, -- names one asking, so that a repeated write adds nothing
  asked_seq  bigint, -- the message that asked for it, with which it is deleted; null: the configuration has it
  asker_id   text,
  asker_name text,
  turn_id    bigint references turns (id),
  -- of one run of its turn: a reminder of a run that ended before its call was logged is replaced by the next run
  run        text,
  call_id    text,
  -- the last message that its turn answers: its text may repeat everything up to there; null: a person typed it
  read_to    bigint,
  agent      text,
  name       text, -- of a schedule of the configuration, whose agent is `agent`
  created_at timestamptz not null default clock_timestamp(),
  ended_at   timestamptz,
  constraint reminders_have_a_rule check ((kind = 'cron') = (cron is not null)),
  constraint reminders_are_due_while_active check ((state = 'active') = (next_at is not null)),
  constraint reminders_ended_tell_nothing check (state = 'active' or text = ''),
  constraint reminders_have_one_origin check ((asked_seq is null) = (name is not null) and (agent is null) = (name is null)),
  unique (channel_id, asked_key),
  unique (agent, name)
);
alter table reminders alter column text set statistics 0;
create index reminders_due on reminders (next_at) where state = 'active';

-- Returns the reminder of which a message of the log is an occurrence; null: it is none.
create function reminder_of(p_message_id text) returns bigint language sql immutable parallel safe as $$
  select substring(p_message_id from '^reminder/(\d{1,18})/')::bigint
$$;

-- Ends reminders and removes their texts. Returns those that were active.
create function end_reminders(p_ids bigint[], p_state text) returns setof bigint language sql as $$
  update reminders r set state = p_state, text = '', next_at = null, ended_at = clock_timestamp()
   where r.id = any (p_ids) and r.state = 'active' returning r.id
$$;

-- Returns for whom a turn sets a reminder: the person of the last message that it answers. Where Weir itself asks, the person who asked
-- for the work that is due counts. refused: as `add_reminder` returns it.
create function asker_in_turn(
  p_turn turns, p_at timestamptz, p_now timestamptz, out asked_seq bigint, out person text, out name text, out refused text
) language plpgsql as $$
declare v_asked entries; v_from reminders;
begin
  select e.* into v_asked from entries e
   where e.channel_id = p_turn.channel_id and e.seq between p_turn.from_seq and p_turn.to_seq and e.addressed and e.deleted_at is null
   order by is_due_work(e.message_id), e.seq desc limit 1;
  if not found then refused := 'gone'; return; end if;
  -- Its model may have read a deleted text.
  if not knows_deletions(p_turn.channel_id, p_turn.id) then refused := 'changed'; return; end if;
  asked_seq := v_asked.seq;
  person := v_asked.author_id;
  name := v_asked.author_name;
  if is_due_work(v_asked.message_id) then
    select r.* into v_from from reminders r where r.id = reminder_of(v_asked.message_id) and r.channel_id = p_turn.channel_id;
    asked_seq := coalesce(v_from.asked_seq, asked_seq);
    person := v_from.asker_id;
    name := v_from.asker_name;
    if p_at < p_now + interval '5 minutes' then refused := 'soon'; return; end if;
  end if;
end $$;

-- Adds a reminder, which a running turn (p_turn, of the owner of p_epoch) or a command (p_said, its message) asks for.
-- p_reminder: {key, cron, time_zone, text, at, now, run, call_id}; p_said: {message_id, author_id, author_name, text, tokens, at, data?}.
-- refused: gone (the channel, or the message), changed (a text that the turn has read), full, full_for_person, soon (a reminder that
-- sets the next one, without end).
create function add_reminder(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_said jsonb, p_reminder jsonb, p_most integer, p_most_of_person integer,
  out id bigint, out asked_seq bigint, out refused text
) language plpgsql as $$
declare
  v_turn turns; v_parent bigint := parent_channel(p_channel); v_person text; v_name text;
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
    -- The edit came behind the turn's messages: its model may have read the message before it.
    if exists (select from revisions r where r.channel_id = p_channel and r.noted_seq > v_turn.to_seq and r.seq <= v_turn.to_seq)
       or exists (select from context_voids v where v.channel_id = v_parent and v.voided_at >= v_turn.started_at) then
      refused := 'changed';
      return;
    end if;
    -- Reminders of an earlier run of the turn whose calls were not logged: nobody knows of them, and this run sets them again. Their
    -- rows stay, since an occurrence may stand in the log.
    perform end_reminders(array(
      select r.id from reminders r
       where r.channel_id = p_channel and r.turn_id = p_turn and r.run <> p_reminder->>'run' and r.state = 'active'
         and not exists (
           select from entries e where e.channel_id = p_channel and e.kind = 'tool_call' and e.turn_id = p_turn and e.seq > v_turn.from_seq
              and e.data->'calls' @> jsonb_build_array(jsonb_build_object('id', r.call_id)))), 'cancelled');
    select a.asked_seq, a.person, a.name, a.refused into add_reminder.asked_seq, v_person, v_name, refused
      from asker_in_turn(v_turn, v_at, (p_reminder->>'now')::timestamptz) a;
    if refused is not null then return; end if;
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
      (p_said->>'at')::timestamptz, false, null, p_data => p_said->'data') a;
    if exists (select from entries e where e.channel_id = p_channel and e.seq = add_reminder.asked_seq and e.deleted_at is not null)
       or exists (select from revisions r where r.channel_id = p_channel and r.seq = add_reminder.asked_seq) then
      refused := 'gone';
      return;
    end if;
  end if;
  insert into reminders (channel_id, cron, time_zone, text, next_at, asked_key, asked_seq, asker_id, asker_name, turn_id, run,
                         call_id, read_to)
  values (p_channel, p_reminder->>'cron', p_reminder->>'time_zone', p_reminder->>'text', v_at,
          p_reminder->>'key', add_reminder.asked_seq, v_person, v_name, p_turn, p_reminder->>'run', p_reminder->>'call_id', v_turn.to_seq)
  returning reminders.id into add_reminder.id;
end $$;

-- Appends an occurrence of a reminder as a message that wants an answer, and moves the reminder on to p_next; null: that was its last.
-- It appends nothing if another daemon has done so, or if the reminder has ended or changed since it was read.
create function fire_reminder(
  p_id bigint, p_due timestamptz, p_text text, p_message_id text, p_title text, p_tokens integer, p_at timestamptz, p_next timestamptz,
  out has_fired boolean, out seq bigint, out due boolean
) language plpgsql as $$
declare v_channel bigint; v_text text;
begin
  select r.channel_id into v_channel from reminders r where r.id = p_id;
  perform from channels c where c.id = v_channel for no key update;
  select r.text into v_text from reminders r
   where r.id = p_id and r.state = 'active' and r.next_at = p_due and r.text = p_text for update;
  has_fired := found;
  if not has_fired then
    -- An earlier attempt of the same daemon may have been committed without an answer reaching it.
    select e.seq, e.addressed and e.seq > c.settled_to into fire_reminder.seq, fire_reminder.due
      from entries e join channels c on c.id = e.channel_id
     where e.channel_id = v_channel and e.message_id = p_message_id and e.deleted_at is null;
    return;
  end if;
  select a.seq, a.due into fire_reminder.seq, fire_reminder.due
    from append_message(v_channel, p_message_id, 'weir', p_title, true, v_text, p_tokens, p_at, true, null) a;
  if p_next is null then perform end_reminders(array[p_id], 'done');
  else update reminders r set next_at = p_next where r.id = p_id;
  end if;
end $$;

-- Makes the schedules equal to the configuration's; those that it no longer has end.
-- p_schedules: [{channel, agent, name, cron, time_zone, text, next_at}].
create function set_schedules(p_schedules jsonb) returns void language plpgsql as $$
begin
  perform end_reminders(array(
    select r.id from reminders r where r.name is not null and not exists (
      select from jsonb_to_recordset(p_schedules) as s (agent text, name text) where s.agent = r.agent and s.name = r.name)), 'gone');
  insert into reminders (channel_id, cron, time_zone, text, next_at, agent, name)
  select s.channel, s.cron, s.time_zone, s.text, s.next_at, s.agent, s.name
    from jsonb_to_recordset(p_schedules) as s (
      channel bigint, agent text, name text, cron text, time_zone text, text text, next_at timestamptz)
    join channels c on c.id = s.channel and c.gone_at is null
   order by s.agent, s.name
  on conflict (agent, name) do update
     set channel_id = excluded.channel_id, cron = excluded.cron, time_zone = excluded.time_zone, text = excluded.text,
         next_at = excluded.next_at, state = 'active', ended_at = null
   where (reminders.state, reminders.channel_id, reminders.cron, reminders.time_zone, reminders.text)
         is distinct from ('active', excluded.channel_id, excluded.cron, excluded.time_zone, excluded.text);
end $$;

-- Nothing is said in a channel that is deleted.
create function channels_end_reminders() returns trigger language plpgsql as $$
begin
  perform end_reminders(array(select r.id from reminders r where r.channel_id = new.id and r.state = 'active'), 'gone');
  return null;
end $$;
create trigger channels_end_reminders after update of gone_at on channels
  for each row when (old.gone_at is null and new.gone_at is not null) execute function channels_end_reminders();
