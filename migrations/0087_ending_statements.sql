-- A statement that says that something has ended or was moved ends an older one of the same subject with which it shares a word: its
-- slots have these words as e:WORD.

-- Whether a statement that ends something is about what another one says: a word of it begins a word of the other one beside its subject.
create function ends_what(p_slots text[], p_other memories) returns boolean language sql immutable as $$
  select exists (
    select from unnest(p_slots) e cross join (select ltrim(m, '@^') as word from unnest(p_other.about || p_other.marks) m) w
     where e like 'e:%' and starts_with(w.word, substr(e, 3))
       and not exists (select from regexp_split_to_table(normal_text(p_other.subject), ' ') s where starts_with(w.word, s)))
$$;

-- Returns the slots that are values: without those for changes and ends.
create function value_slots(p_slots text[]) returns text[] language sql immutable as $$
  select array(select s from unnest(p_slots) s where s <> 'c:' and s not like 'e:%' order by s)
$$;

-- Returns the names of a statement: of other names another value is told.
create function names_of(p_memory memories) returns text[] language sql immutable as $$
  select array(select m from unnest(p_memory.marks) m where m like '@%' and not m = any (coalesce(p_memory.slots, '{}')) order by m)
$$;

-- Whether a later statement of the same subject replaces an earlier one: it says that this has ended, or something else of the same
-- thing. Then more than another name differs, because people may speak German and French. Another name is enough where the later
-- statement tells of a change or a favourite, and in decisions, goals and commitments. A word means what was said of it last.
create or replace function takes_place(p_old memories, p_new memories) returns boolean language sql stable as $$
  select case
    when p_old.type <> p_new.type or p_old.type = 'observation' then false
    when ends_what(p_new.slots, p_old) then true
    when p_old.type in ('event', 'todo') then false
    when p_old.type = 'term' then normal_text(p_old.statement) <> normal_text(p_new.statement)
    else coalesce(says_otherwise(p_old.marks, p_old.about, p_new.marks, p_new.about), false)
         and (p_old.slots is null or p_new.slots is null or 'c:' = any (p_new.slots)
              or value_slots(p_old.slots) <> value_slots(p_new.slots) and names_of(p_old) = names_of(p_new)
              or p_old.type in ('decision', 'goal', 'commitment'))
  end
$$;

-- Ends what the same person said otherwise before, or the memory itself if they said that later. Observations are of their
-- time; events and todos are many, and end only what they say has ended. A memory that other people said as well is not one person's to end.
create or replace function end_outdated(p_memory bigint, p_by text) returns void language plpgsql as $$
declare v_new memories; v_other memories; v_at timestamptz := last_said(p_memory, p_by); v_other_at timestamptz;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.type = 'observation' or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
  for v_other in
    select m.* from memories m
     where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
       and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
     order by m.valid_from, m.id
  loop
    v_other_at := last_said(v_other.id, p_by);
    if v_other_at <= v_at and takes_place(v_other, v_new) and said_alone(v_other.id, p_by) then
      update memories m set valid_to = v_at, superseded_by = v_new.id where m.id = v_other.id;
    elsif v_other_at > v_at and takes_place(v_new, v_other) and said_alone(v_new.id, p_by) then
      update memories m set valid_to = v_other_at, superseded_by = v_other.id where m.id = v_new.id;
      return;
    end if;
  end loop;
end $$;
