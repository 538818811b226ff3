-- The log: entries, which are the truth, and the revisions that edits make of them.

create table entries (
  channel_id  bigint  not null,
  seq         bigint  not null check (seq >= 1),
  kind        text    not null check (kind in ('user', 'assistant', 'tool_call', 'tool_result', 'notice')),
  at          timestamptz not null, -- messages: when it was said, by the platform's clock; all others: when it was appended
  text        text    not null,
  tokens      integer not null check (tokens >= 0), -- estimated tokens of the text as a model reads it
  addressed   boolean not null default false,
  author_id   text,
  author_name text,
  author_bot  boolean,
  message_id  text,
  reply_to    text,
  turn_id     bigint references turns,
  after_seq   bigint, -- the last message of the turn that wrote this: in the view it stands right behind it
  epoch       bigint,
  data        jsonb,
  appended_at timestamptz not null default clock_timestamp(),
  deleted_at  timestamptz,
  expired_at  timestamptz, -- since when its text is no longer kept, for its age
  primary key (channel_id, seq),
  check ((kind = 'user') = (author_id is not null and author_name is not null and message_id is not null)),
  check ((turn_id is null) = (after_seq is null)),
  check (turn_id is null or epoch is not null),
  check (kind not in ('assistant', 'tool_call', 'tool_result') or turn_id is not null),
  check (addressed = false or kind = 'user'),
  check (deleted_at is null or text = ''),
  constraint entries_expired_say_nothing check (expired_at is null or text = '')
);
alter table entries alter column text set statistics 0, alter column data set statistics 0;
create unique index entries_message on entries (message_id, channel_id) where message_id is not null;
create index entries_due on entries (channel_id, seq) where addressed;
-- A reaction may be given, withdrawn and given again: all of them under one message are looked up by it.
create index entries_reactions on entries (reply_to) where message_id like 'reaction/%';
create index entries_tool_calls on entries (channel_id, seq) where kind = 'tool_call';
-- What may repeat the words of people: a retraction looks at all of these in the channel, and there are few.
create index entries_handed_over on entries (channel_id, seq) where data ? 'chain';
create index entries_due_work on entries (channel_id, seq) where message_id ~ '^(reminder|subagent|handoff|approval)/';
create index entries_tool_words on entries (channel_id, seq) where kind = 'tool_result' and text <> '';
create index entries_late on entries (channel_id, seq) where data ? 'late';
comment on column entries.data is
  'by kind. tool_call: {calls, recalled}; tool_result: {call_id, tool, references}; notice: {edits} or {absence}; assistant: {stopped}. '
  'standIn: of what a turn wrote, the built-in stand-in and no model did; '
  'agent: of a message whom it is meant for, of what a turn wrote who did (none: the channel''s own agent); chain: of a hand-off; '
  'unheard: of a message, the agent answers nobody like its author there; '
  'late: the message was read later than it was said, and nobody knows who could read the channel then';

-- Each edit of a message adds one. `entry_text` returns what an entry says now.
create table revisions (
  channel_id  bigint  not null,
  seq         bigint  not null,
  revision    integer not null check (revision >= 1),
  text        text    not null,
  at          timestamptz not null,
  noted_seq   bigint, -- a model had read the text before: the view shows the change as the note at this seq
  told_by     bigint[], -- calls and results in the view that tell what the message said before
  -- the edit was read later than it was made: nobody knows who could read the channel then
  is_late     boolean not null default false,
  primary key (channel_id, seq, revision),
  foreign key (channel_id, seq) references entries
);
alter table revisions alter column text set statistics 0;
create index revisions_noted on revisions (channel_id, noted_seq) where noted_seq is not null;
create index revisions_told_by on revisions using gin (told_by) where told_by is not null;
create index revisions_late on revisions (channel_id, seq) where is_late;

-- Returns what an entry says now. p_text: its first text.
create function entry_text(p_channel bigint, p_seq bigint, p_text text) returns text language sql stable as $$
  select coalesce((select r.text from revisions r where r.channel_id = p_channel and r.seq = p_seq
                    order by r.revision desc limit 1), p_text)
$$;

-- Returns the data of an entry with calls, without their arguments.
create function without_arguments(p_data jsonb) returns jsonb language sql immutable parallel safe as $$
  select jsonb_set(p_data, '{calls}', (
    select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
      from jsonb_array_elements(p_data->'calls') with ordinality c (call, place)))
$$;

-- Whether a message is work of Weir's own: an occurrence of a reminder, a report of a subagent, a hand-off, or an approved call.
create function is_due_work(p_message_id text) returns boolean language sql immutable parallel safe as $$
  select p_message_id ~ '^(reminder|subagent|handoff|approval)/'
$$;

-- Returns up to where the entries of a channel are covered by a summary and no message waits for an answer.
create function done_to(p_channel bigint) returns bigint language sql stable as $$
  select least(c.covered_to, (select min(e.seq) - 1 from entries e
                               where e.channel_id = c.id and e.addressed and e.seq > c.settled_to))
    from channels c where c.id = p_channel
$$;

-- Entries take the next seqs of their channel, in the statement that inserts them, and only by the owner if they carry an epoch.
-- One update checks all of that and moves the channel's row, which also notes the newest message that asks for a turn. If it moves
-- nothing, the rest finds out why. A statement inserts entries of one channel.
create function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_epoch bigint;
begin
  update channels c set last_seq = a.last, due_to = greatest(c.due_to, a.due)
    from (select min(channel_id) as channel_id, min(seq) as first, max(seq) as last, count(*) as count, min(epoch) as epoch,
                 max(seq) filter (where addressed) as due
            from added having min(channel_id) = max(channel_id) and min(epoch) is not distinct from max(epoch)) a
   where c.id = a.channel_id and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
     and (a.epoch is null or c.epoch = a.epoch);
  if found or not exists (select from added) then return null; end if;
  select channel_id, seq, epoch into v_channel, v_first, v_epoch from added order by channel_id, seq limit 1;
  if v_epoch is not null then perform assert_epoch(v_channel, v_epoch, 'key share'); end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;
create trigger entries_take_next_seqs after insert on entries referencing new table as added
  for each statement execute function entries_take_next_seqs();

-- The log is append-only. An entry may change in four ways: a deletion empties its text; its text becomes that of the latest edit,
-- once no view shows the older one; the arguments of a tool call are removed; and all that it says is removed once it is old and
-- covered. A call's name and id stay, so that its results have a call.
create function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    if new.deleted_at is not null and new.text = '' and new.expired_at is not distinct from old.expired_at then
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
create trigger entries_refuse_change before update or delete on entries for each row execute function entries_refuse_change();

-- A revision may lose its text, or take that of the latest revision.
create function revisions_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.revision, new.at, new.noted_seq)
         is not distinct from (old.channel_id, old.seq, old.revision, old.at, old.noted_seq)
     and (new.text = '' or new.text = (select r.text from revisions r where r.channel_id = new.channel_id and r.seq = new.seq
                                        order by r.revision desc limit 1))
  then return new; end if;
  raise exception 'the log is append-only (revision % of entry % of channel %)', old.revision, old.seq, old.channel_id
    using errcode = 'WE001';
end $$;
create trigger revisions_refuse_change before update or delete on revisions
  for each row execute function revisions_refuse_change();

-- Appending: each function is one round trip, and locks the channel's row first, so that seqs are dense and a message that is
-- delivered twice finds its first copy.

-- Appends a person's message, once per channel and message id. If the channel has nothing else to do, the message begins its turn
-- in the same transaction, which is a turn of the channel's own agent.
-- p_epoch, p_last: the owner that would begin a turn of this message alone, and the newest entry that it knows; null: nobody would.
-- p_data: whom the message is meant for, as {agent, chain}; null: the channel's own agent.
-- due: the message waits for a turn; that can be true of a duplicate, too. turn_id: null: no turn has begun.
create function append_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_author_bot boolean,
  p_text text, p_tokens integer, p_at timestamptz, p_addressed boolean, p_reply_to text,
  p_epoch bigint default null, p_last bigint default null, p_data jsonb default null,
  out seq bigint, out duplicate boolean, out due boolean, out turn_id bigint
) language plpgsql as $$
declare v_last bigint; v_settled bigint; v_epoch bigint;
begin
  select c.last_seq, c.settled_to, c.epoch into strict v_last, v_settled, v_epoch
    from channels c where c.id = p_channel for no key update;
  select e.seq, e.addressed and e.seq > v_settled into seq, due
    from entries e where e.message_id = p_message_id and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  due := p_addressed;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, data)
  values (p_channel, seq, 'user', p_at, p_text, p_tokens, p_addressed, p_author_id, p_author_name, p_author_bot, p_message_id,
          p_reply_to, p_data);
  if p_addressed and p_data is null and p_epoch = v_epoch and p_last = v_last then
    insert into turns (channel_id, epoch, from_seq, to_seq) values (p_channel, p_epoch, seq, seq)
      on conflict (channel_id) where state = 'running' do nothing returning id into turn_id;
  end if;
end $$;

-- Appends several messages of one channel, in this order, each as `append_message` does; begins no turn.
-- p_messages: [{message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, data}].
create function append_messages(p_channel bigint, p_messages jsonb)
returns table (seq bigint, duplicate boolean, due boolean) language plpgsql as $$
declare v_last bigint; v_settled bigint;
begin
  select c.last_seq, c.settled_to into strict v_last, v_settled from channels c where c.id = p_channel for no key update;
  insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id, reply_to, data)
  select p_channel, v_last + row_number() over (order by m.place), 'user', m.at, m.text, m.tokens, m.addressed, m.author_id,
         m.author_name, m.author_bot, m.message_id, m.reply_to, m.data
    from (
      select distinct on (r.message_id) r.* from rows from (jsonb_to_recordset(p_messages) as (
        message_id text, author_id text, author_name text, author_bot boolean, text text, tokens integer,
        at timestamptz, addressed boolean, reply_to text, data jsonb)) with ordinality as r (
        message_id, author_id, author_name, author_bot, text, tokens, at, addressed, reply_to, data, place)
       where not exists (select from entries e where e.message_id = r.message_id and e.channel_id = p_channel)
       order by r.message_id, r.place
    ) m
   order by m.place;
  return query
    select e.seq, e.seq <= v_last or row_number() over (partition by e.seq order by m.place) > 1,
           e.addressed and e.seq > v_settled
      from jsonb_array_elements(p_messages) with ordinality m (message, place)
      join entries e on e.message_id = m.message->>'message_id' and e.channel_id = p_channel
     order by m.place;
end $$;

-- Appends a notice about messages that were not heard: {absence: {kind: late | lost, from, to}}. Once per key, which is kept as
-- its message_id.
create function append_absence(
  p_channel bigint, p_key text, p_at timestamptz, p_tokens integer, p_absence jsonb, out seq bigint, out duplicate boolean
) language plpgsql as $$
declare v_last bigint;
begin
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.seq into seq from entries e where e.message_id = p_key and e.channel_id = p_channel;
  duplicate := found;
  if duplicate then return; end if;
  seq := v_last + 1;
  insert into entries (channel_id, seq, kind, at, text, tokens, message_id, data)
  values (p_channel, seq, 'notice', p_at, '', p_tokens, p_key, jsonb_build_object('absence', p_absence));
end $$;

-- Appends entries of a running turn, in order. The trigger of the entries checks the epoch. p_entries: [{kind, text, tokens, data}].
create function append_turn_entries(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_after bigint, p_at timestamptz, p_entries jsonb,
  out first_seq bigint
) language plpgsql as $$
declare v_entry jsonb; v_next bigint;
begin
  select c.last_seq + 1 into strict v_next from channels c where c.id = p_channel for no key update;
  first_seq := v_next;
  for v_entry in select * from jsonb_array_elements(p_entries) loop
    insert into entries (channel_id, seq, kind, at, text, tokens, turn_id, after_seq, epoch, data)
    values (p_channel, v_next, v_entry->>'kind', p_at, v_entry->>'text', (v_entry->>'tokens')::integer,
            p_turn, p_after, p_epoch, v_entry->'data');
    v_next := v_next + 1;
  end loop;
end $$;
