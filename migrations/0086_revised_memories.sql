-- A summariser says which of a channel's older statements its new ones replace, repeat or contradict. It is asked when they have been
-- committed, and answers with numbers alone, so that a deletion in between finds no words of its own.

alter table memories add column judged boolean not null default true; -- a summariser was asked whether it changes older ones
alter table memories alter column judged set default false;
create index memories_unjudged on memories (channel_id, id) where not judged;

-- Applies what a summariser says of two memories. p_change: replaces, repeats or contradicts. A memory is ended by its own speaker, or by
-- the person whom it is about if nobody else has that name here, and not if other people say it as well. The caller holds the channel's
-- row lock. Returns whether anything has changed.
create function revise_memory(p_channel bigint, p_fresh bigint, p_older bigint, p_change text) returns boolean language plpgsql as $$
declare v_fresh memories; v_older memories; v_by text; v_other text; v_at timestamptz;
begin
  select m.* into v_fresh from memories m where m.id = p_fresh and m.channel_id = p_channel and m.valid_to is null;
  select m.* into v_older from memories m where m.id = p_older and m.channel_id = p_channel and m.valid_to is null;
  if v_fresh.id is null or v_older.id is null or v_fresh.id = v_older.id
     or v_fresh.agent <> v_older.agent or v_fresh.scope <> v_older.scope
  then return false; end if;
  v_by := memory_asserter(v_fresh.id, v_fresh.asserted_by);
  v_other := memory_asserter(v_older.id, v_older.asserted_by);
  v_at := last_said(v_fresh.id, v_by);
  if p_change = 'contradicts' then
    if v_by is not distinct from v_other then return false; end if;
    insert into memory_disputes (memory_id, other_id) values (p_fresh, p_older), (p_older, p_fresh) on conflict do nothing;
    return true;
  end if;
  if v_at < last_said(v_older.id, v_other) then return false; end if;
  if p_change = 'repeats' then
    if v_by is distinct from v_other or v_older.same_as is not null or v_older.type <> v_fresh.type then return false; end if;
    update memories m set same_as = p_older where m.id = p_fresh or m.same_as = p_fresh;
    update memories m set stands_for = true where m.id = p_older and not m.stands_for;
    return true;
  end if;
  if v_by is distinct from v_other and (
    v_by is null or normal_text(v_older.subject) <> normal_text(v_fresh.asserted_by)
    or not said_alone(p_older, v_other)
    or exists (select from speakers s where s.channel_id = p_channel and s.name = v_fresh.asserted_by and s.author_id <> v_by))
  then return false; end if;
  if v_by is not distinct from v_other and not said_alone(p_older, v_by) then return false; end if;
  update memories m set valid_to = v_at, superseded_by = p_fresh where m.id = p_older;
  return true;
end $$;

-- Applies what a summariser says of a channel's new memories. p_up_to: the newest of them, up to which all count as judged.
-- p_changes: [{fresh, older, change}]. Returns how many have changed something.
create function revise_memories(p_channel bigint, p_up_to bigint, p_changes jsonb) returns integer language plpgsql as $$
declare v_change jsonb; v_count integer := 0;
begin
  perform from channels c where c.id = p_channel for no key update;
  for v_change in select * from jsonb_array_elements(p_changes) loop
    if revise_memory(p_channel, (v_change->>'fresh')::bigint, (v_change->>'older')::bigint, v_change->>'change') then
      v_count := v_count + 1;
    end if;
  end loop;
  update memories m set judged = true where m.channel_id = p_channel and m.id <= p_up_to and not m.judged;
  return v_count;
end $$;
