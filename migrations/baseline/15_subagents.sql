-- Subagents: runs of a model that an agent has begun from a turn, each with a task of its own. A row stands from before the first model
-- call until the agent knows how the run ended; then no words are left in it.

create table subagents (
  id         bigint  generated always as identity primary key,
  channel_id bigint  not null references channels,
  number     integer not null, -- in its channel, as people and the agent call it
  turn_id    bigint  not null references turns,
  epoch      bigint  not null,
  agent      text    not null,
  key        text, -- identifies the task within its turn: a turn that runs again finds its run by this
  call_id    text    not null,
  asked_seq  bigint, -- the message for which it was begun
  read_to    bigint  not null, -- the last message that its turn answers: its task may repeat words up to there
  task       text    not null,
  persona    text,
  model      text,
  tools      text[]  not null,
  brief      text, -- what it was told of the conversation
  state      text    not null default 'running' check (state in ('running', 'done', 'failed', 'stopped', 'void')),
  -- how its agent learns of its end. call: by the result of its call; later: it goes on after its turn; entry: by a message that
  -- is due; nobody: no one waits for it
  told       text    check (told in ('call', 'later', 'entry', 'nobody')),
  told_with  integer, -- number of the first of those that are reported together
  result     text    not null default '',
  -- its calls and their results so far: a daemon that resumes it does not pay for them again
  steps      jsonb   not null default '[]',
  entries    bigint[] not null default '{}', -- messages that it has found
  memories   bigint[] not null default '{}',
  tokens_in  bigint  not null default 0,
  tokens_out bigint  not null default 0,
  begun      integer not null default 0, -- how often it was begun since its last step
  spent_ms   bigint  not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  ended_at   timestamptz,
  closed_at  timestamptz, -- since when its agent knows how it ended
  unique (channel_id, number),
  constraint subagents_end check ((state = 'running') = (ended_at is null)),
  constraint subagents_closed_are_told check (closed_at is null or (told is not null and state <> 'running')),
  constraint subagents_gone_tell_nothing check (
    (closed_at is null and state <> 'void')
    or (task = '' and result = '' and steps = '[]' and brief is null and key is null and entries = '{}' and memories = '{}'))
);
alter table subagents alter column task set statistics 0, alter column result set statistics 0, alter column steps set statistics 0,
                      alter column brief set statistics 0, alter column key set statistics 0;
create unique index subagents_key on subagents (turn_id, key);
create index subagents_open on subagents (channel_id) where closed_at is null;
create index subagents_memories on subagents using gin (memories) where closed_at is null;

-- Locks the channel's row for its owner. False: a text that a run may have read was retracted since the run has looked.
create function subagents_may_write(p_channel bigint, p_epoch bigint, p_taken_back bigint) returns boolean language plpgsql as $$
begin
  if p_taken_back is null then perform lock_owned(p_channel, p_epoch); return true; end if;
  perform lock_owned_below(p_channel, p_epoch);
  return p_taken_back = notes_taken_back(p_channel);
end $$;

-- Begins a run, or finds the one that the same turn has begun before: its call waits for it again.
-- p_row: the columns that are given. Outcome: begun, found, changed (see above), or full (p_most are open already).
create function begin_subagent(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_taken_back bigint, p_most integer, p_row jsonb, out outcome text, out id bigint
) language plpgsql as $$
begin
  if not subagents_may_write(p_channel, p_epoch, p_taken_back) then outcome := 'changed'; return; end if;
  update subagents s set told = null, call_id = p_row->>'call_id'
   where s.turn_id = p_turn and s.key = p_row->>'key' and s.told is distinct from 'entry' returning s.id into begin_subagent.id;
  if found then outcome := 'found'; return; end if;
  if p_most <= (select count(*) from subagents s where s.channel_id = p_channel and s.closed_at is null) then
    outcome := 'full';
    return;
  end if;
  insert into subagents (channel_id, number, turn_id, epoch, agent, key, call_id, asked_seq, read_to, task, persona, model, tools, brief)
  select p_channel, 1 + coalesce((select max(s.number) from subagents s where s.channel_id = p_channel), 0), p_turn, p_epoch,
         r.agent, r.key, r.call_id, r.asked_seq, t.to_seq, r.task, r.persona, r.model, r.tools, r.brief
    from jsonb_populate_record(null::subagents, p_row) r join turns t on t.id = p_turn and t.channel_id = p_channel
  returning subagents.id into strict begin_subagent.id;
  outcome := 'begun';
end $$;

-- Keeps the progress of a run: a step, or its end (p_state). Outcome: saved; changed: look again, a text that it may have read was
-- retracted; over: it runs no longer, or on another daemon.
-- A memory that another transaction holds counts as deleted: that transaction may wait for this channel.
create function save_subagent(
  p_channel bigint, p_epoch bigint, p_id bigint, p_taken_back bigint, p_state text, p_change jsonb
) returns text language plpgsql as $$
declare v_memories bigint[] := array(select jsonb_array_elements_text(p_change->'memories')::bigint); v_known bigint[];
begin
  if not subagents_may_write(p_channel, p_epoch, p_taken_back) then return 'changed'; end if;
  select coalesce(array_agg(m.id), '{}') into v_known
    from (select m.id from memories m where m.id = any (v_memories) for key share skip locked) m;
  if not v_known @> v_memories then return 'changed'; end if;
  update subagents s
     set state = coalesce(p_state, s.state),
         ended_at = case when p_state is not null then clock_timestamp() end,
         result = coalesce(p_change->>'result', ''),
         steps = case when p_state is null then s.steps || jsonb_build_array(p_change->'step') else '[]' end,
         brief = case when p_state is null then s.brief end,
         entries = s.entries || array(select jsonb_array_elements_text(p_change->'entries')::bigint),
         memories = s.memories || v_memories,
         tokens_in = s.tokens_in + (p_change->>'tokens_in')::bigint, tokens_out = s.tokens_out + (p_change->>'tokens_out')::bigint,
         spent_ms = s.spent_ms + (p_change->>'spent_ms')::bigint,
         begun = 1
   where s.id = p_id and s.epoch = p_epoch and s.state = 'running' and s.closed_at is null;
  return case when found then 'saved' else 'over' end;
end $$;

-- Removes all words from these runs, and closes them, or voids them until they are closed.
create function blank_subagents(p_ids bigint[], p_state text) returns void language sql as $$
  update subagents s
     set task = '', result = '', steps = '[]', brief = null, key = null, entries = '{}', memories = '{}',
         state = coalesce(p_state, s.state), ended_at = coalesce(s.ended_at, clock_timestamp()),
         closed_at = case when p_state is distinct from 'void' then clock_timestamp() end
   where s.id = any (p_ids) and s.closed_at is null;
$$;

-- Decides how the agent learns of the runs of its channel, as far as that can be known by now, and closes those of which it knows.
-- Returns the open ones. While a turn runs, its calls wait for its runs. Once it has ended, they outlive it: those that one turn
-- has begun are reported together when the last of them has ended.
create function settle_subagents(p_channel bigint, p_epoch bigint) returns setof subagents language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  update subagents s set epoch = p_epoch where s.channel_id = p_channel and s.closed_at is null and s.epoch <> p_epoch;
  update subagents s
     set told = case
           when c.gone_at is not null then 'nobody'
           -- /stop ends the runs for which the turn waited.
           when t.state = 'stopped' and s.told is null then 'nobody'
           when s.told = 'call' and exists (
             select from entries e where e.channel_id = p_channel and e.turn_id = s.turn_id and e.kind = 'tool_result'
                and e.data->>'call_id' = s.call_id) then 'call'
           when t.state = 'stopped' and s.told = 'call' then 'nobody'
           -- A crash, or a message that was edited, came between the call and its result.
           else 'later' end
    from turns t, channels c
   where s.channel_id = p_channel and s.closed_at is null and t.id = s.turn_id and c.id = p_channel
     and (t.state <> 'running' or c.gone_at is not null) and (s.told is null or s.told = 'call' or c.gone_at is not null);
  update subagents s
     set told = case when g.is_stopped then 'nobody' else 'entry' end, told_with = g.first
    from (select o.turn_id, min(o.number) as first, bool_and(o.state = 'stopped') as is_stopped
            from subagents o join turns t on t.id = o.turn_id and t.state <> 'running'
           where o.channel_id = p_channel and o.closed_at is null and o.told = 'later'
           group by o.turn_id having bool_and(o.state <> 'running')) g
   where s.channel_id = p_channel and s.closed_at is null and s.told = 'later' and s.turn_id = g.turn_id;
  update subagents s set state = 'stopped', ended_at = clock_timestamp()
   where s.channel_id = p_channel and s.closed_at is null and s.told = 'nobody' and s.state = 'running';
  perform blank_subagents(array(
    select s.id from subagents s join turns t on t.id = s.turn_id
     where s.channel_id = p_channel and s.closed_at is null
       and (s.told = 'nobody' or s.told = 'call' and t.state <> 'running')), null);
  return query select s.* from subagents s where s.channel_id = p_channel and s.closed_at is null order by s.number;
end $$;

-- After a reset nobody waits for the runs that were begun before.
create function drop_subagents(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  update subagents s
     set told = 'nobody', state = case s.state when 'running' then 'stopped' else s.state end,
         ended_at = coalesce(s.ended_at, clock_timestamp())
   where s.channel_id = p_channel and s.closed_at is null;
  perform blank_subagents(array(select s.id from subagents s where s.channel_id = p_channel and s.closed_at is null), null);
end $$;

-- A memory that is deleted voids the runs that were shown it, in whatever channel.
create function memories_void_subagents() returns trigger language plpgsql as $$
begin
  perform blank_subagents(array(select s.id from subagents s where s.memories @> array[old.id] and s.closed_at is null), 'void');
  return null;
end $$;
-- Deferred: a writer of a run's step holds its channel, for which the deletion of a memory may be about to wait.
create constraint trigger memories_void_subagents after delete on memories deferrable initially deferred
  for each row execute function memories_void_subagents();
