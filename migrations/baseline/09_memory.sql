-- Memories: durable statements that outlive every summary, each with the entries that prove it. They are written under the row lock of
-- their channel.

-- Returns the normal form of a statement: a memory with the same form is the same memory. Immutable, because an index needs it.
create function normal_text(p_text text) returns text language sql immutable as $$
  select trim(regexp_replace(lower(p_text), '[[:space:][:punct:]]+', ' ', 'g'))
$$;

create table memories (
  id            bigint generated always as identity primary key,
  agent         text   not null check (agent <> ''),
  -- privacy, narrow to wide: what was said in a dm never shows in a channel
  scope         text   not null check (scope in ('dm', 'channel', 'workspace')),
  channel_id    bigint not null references channels,
  workspace     text   not null default '',
  type          text   not null check (type in ('fact', 'preference', 'decision', 'commitment', 'event',
                                                'observation', 'goal', 'todo', 'identity', 'term')),
  subject       text   not null,
  asserted_by   text   not null,
  statement     text   not null check (statement ~ '\S'),
  importance    real   not null default 0.5 check (importance between 0 and 1),
  valid_from    timestamptz not null default now(),
  valid_to      timestamptz, -- when its speaker said something newer of the same
  superseded_by bigint references memories,
  summary_id    bigint references summaries,
  created_at    timestamptz not null default now(),
  tsv           tsvector generated always as (to_tsvector('english', subject || ' ' || asserted_by || ' ' || statement)) stored,
  -- read_from..read_to: the entries whose words the jobs had read that said it; null: it is its sources' own words
  read_from     bigint,
  read_to       bigint,
  telling       text[], -- the terms by which it tells what was said; null: its statement has them
  -- what it is compared by: the numbers, negations and names of its statement; null: it is compared with nothing
  marks         text[],
  about         text[], -- the other words of its statement
  imported_at   timestamptz, -- when it was read from a file; null: it was found or said here
  refers_from   date, -- refers_from..refers_to: the days that it tells of; null: none
  refers_to     date,
  -- of its marks those that take one value (dates, numbers, negations, days), and c: for a change; null: it is compared by all
  -- marks
  slots         text[],
  -- an older memory that says the same in other words, and is shown in its place while it holds
  same_as       bigint references memories on delete set null,
  stands_for    boolean not null default false, -- a memory may be the same as this one; only then is it looked for
  constraint memories_refers check ((refers_from is null) = (refers_to is null) and refers_from <= refers_to)
);
alter table memories alter column subject set statistics 0, alter column statement set statistics 0, alter column tsv set statistics 0,
                     alter column telling set statistics 0, alter column marks set statistics 0, alter column about set statistics 0,
                     alter column refers_from set statistics 0, alter column refers_to set statistics 0,
                     alter column slots set statistics 0;
-- One index for both look-ups: a planner without statistics would take the wrong one of two.
create index memories_in_scope on memories (agent, scope, channel_id, md5(normal_text(statement))) where valid_to is null;
alter index memories_in_scope alter column 4 set statistics 0;
create index memories_superseded on memories (superseded_by) where superseded_by is not null;
create index memories_read on memories (channel_id, read_to);
create index memories_same_as on memories (same_as) where same_as is not null;
create index memories_words on memories using gin (channel_id, tsv) with (fastupdate = off);
create index memories_shared_words on memories using gin (workspace, tsv) with (fastupdate = off) where scope = 'workspace';

-- The entries that prove a memory, with the words of each.
create table memory_sources (
  memory_id  bigint not null references memories,
  channel_id bigint not null,
  seq        bigint not null,
  quote      text   not null,
  primary key (memory_id, channel_id, seq),
  foreign key (channel_id, seq) references entries
);
alter table memory_sources alter column quote set statistics 0;
create index memory_sources_of_entry on memory_sources (channel_id, seq);

-- Two people who disagree, each way round. A row holds no words, and is deleted with either memory.
create table memory_disputes (
  memory_id bigint not null references memories on delete cascade,
  other_id  bigint not null references memories on delete cascade,
  primary key (memory_id, other_id)
);
create index memory_disputes_of_other on memory_disputes (other_id);

-- Where memories of another channel were shown: what that channel's model made of them is deleted with them.
create table memory_showings (
  memory_id  bigint not null,
  channel_id bigint not null references channels,
  -- The first message of the first turn that was shown it.
  seq        bigint not null,
  primary key (memory_id, channel_id)
);

-- Refused memories: how many, and never what they said.
create table memory_rejections (
  channel_id bigint not null references channels,
  reason     text   not null,
  count      bigint not null,
  last_at    timestamptz not null default clock_timestamp(),
  primary key (channel_id, reason)
);

-- Of which other agents an agent is shown memories, as the configuration says with which a daemon has started last.
create table shared_memories (
  agent text not null check (agent <> ''),
  other text not null check (other <> '' and other <> agent),
  primary key (agent, other)
);

-- At every commit, each memory has a source.
create function memories_have_source() returns trigger language plpgsql as $$
declare v_row jsonb := to_jsonb(coalesce(old, new)); v_memory bigint;
begin
  v_memory := case when tg_table_name = 'memories' then v_row->>'id' else v_row->>'memory_id' end;
  if exists (select from memories where id = v_memory) and not exists (select from memory_sources where memory_id = v_memory) then
    raise exception 'memory % has no source', v_memory using errcode = 'WE001';
  end if;
  return null;
end $$;
create constraint trigger memories_have_source after insert on memories
  deferrable initially deferred for each row execute function memories_have_source();
create constraint trigger memory_sources_stay after update or delete on memory_sources
  deferrable initially deferred for each row execute function memories_have_source();

-- What a channel has shared is its own again once it is private, and stays so; also where only the end of a private time is reported.
create function channels_keep_memories() returns trigger language plpgsql as $$
begin
  update memories m set scope = 'channel' where m.channel_id = new.id and m.scope = 'workspace';
  return null;
end $$;
create trigger channels_keep_memories after update of is_private, privacy_from on channels
  for each row when ((new.is_private and old.is_private is distinct from new.is_private)
                     or (old.is_private = false and new.is_private = false and old.privacy_from is distinct from new.privacy_from))
  execute function channels_keep_memories();

-- Notes which memories of other channels the turn that wrote an entry was shown.
create function entries_note_showings() returns trigger language plpgsql as $$
begin
  insert into memory_showings (memory_id, channel_id, seq)
  select m.id, new.channel_id, t.from_seq
    from jsonb_array_elements_text(
           coalesce(nullif(new.data->'memories', 'null'), '[]') || coalesce(nullif(new.data->'recalled'->'memories', 'null'), '[]')) shown (id)
    join memories m on m.id = shown.id::bigint and m.channel_id <> new.channel_id
    join turns t on t.id = new.turn_id
  on conflict do nothing;
  return null;
end $$;
create trigger entries_note_showings after insert on entries
  for each row when (new.turn_id is not null and (new.data ? 'memories' or new.data ? 'recalled'))
  execute function entries_note_showings();

-- Counts refused memories, in the order of their reasons, so that two calls cannot deadlock.
create function count_rejected(p_channel bigint, p_reasons text[]) returns void language sql as $$
  insert into memory_rejections (channel_id, reason, count)
  select p_channel, r, count(*) from unnest(p_reasons) r group by r order by r
  on conflict (channel_id, reason)
  do update set count = memory_rejections.count + excluded.count, last_at = excluded.last_at
$$;

-- Who says a memory.

-- Returns who says a memory, by the id of the person, because anybody can take a name. Null: the agent itself.
create function memory_asserter(p_memory bigint, p_asserted_by text) returns text language sql stable as $$
  select e.author_id from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where s.memory_id = p_memory and e.kind = 'user' order by e.author_name <> p_asserted_by, s.seq limit 1
$$;

-- Returns when a person (null: the agent) last said a memory; null: they did not.
create function last_said(p_memory bigint, p_by text) returns timestamptz language sql stable as $$
  select max(e.at) from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where s.memory_id = p_memory and e.author_id is not distinct from p_by
$$;

-- Whether nobody but this person (null: the agent) said a memory.
create function said_alone(p_memory bigint, p_by text) returns boolean language sql stable as $$
  select not exists (
    select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
     where s.memory_id = p_memory and e.kind = 'user' and e.author_id is distinct from p_by)
$$;

-- Comparing statements.

-- Returns the marks that match a pattern, in order.
create function marks_like(p_marks text[], p_pattern text) returns text[] language sql immutable as $$
  select array(select m from unnest(p_marks) m where m like p_pattern order by m)
$$;

-- Whether one statement says something else of the same thing than another: at least three quarters of their words are the same, and
-- their marks differ. If both the date and a number differ, they tell of two times.
create function says_otherwise(p_marks text[], p_about text[], q_marks text[], q_about text[]) returns boolean
language sql immutable as $$
  select cardinality(p_about) > 0 and cardinality(q_about) > 0
     and 4 * (select count(*) from unnest(p_about) w where w = any (q_about))
         >= 3 * (select count(distinct w) from unnest(p_about || q_about) w)
     and array(select m from unnest(p_marks) m where m not like '^%' order by m)
         <> array(select m from unnest(q_marks) m where m not like '^%' order by m)
     and (marks_like(p_marks, 'd:%') = marks_like(q_marks, 'd:%') or marks_like(p_marks, 'n:%') = marks_like(q_marks, 'n:%'))
$$;

-- Whether a later statement of the same subject replaces an earlier one: it says something else of the same thing, and more than another
-- name differs, because people may speak German and French. Another name is enough where the later statement tells of a change, and
-- of what people have one of. A word means what was said of it last.
create function takes_place(p_old memories, p_new memories) returns boolean language sql stable as $$
  select case
    when p_old.type <> p_new.type or p_old.type in ('event', 'observation', 'todo') then false
    when p_old.type = 'term' then normal_text(p_old.statement) <> normal_text(p_new.statement)
    else coalesce(says_otherwise(p_old.marks, p_old.about, p_new.marks, p_new.about), false)
         and (p_old.slots is null or p_new.slots is null or 'c:' = any (p_new.slots)
              or array_remove(p_old.slots, 'c:') <> p_new.slots
              or p_old.type in ('preference', 'decision', 'goal', 'commitment'))
  end
$$;

-- Ends what the same person said otherwise before, or the memory itself if they said that later. Events and observations are of their
-- time, and todos are many: they end nothing. A memory that other people said as well is not one person's to end.
create function end_outdated(p_memory bigint, p_by text) returns void language plpgsql as $$
declare v_new memories; v_other memories; v_at timestamptz := last_said(p_memory, p_by); v_other_at timestamptz;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.type in ('event', 'observation', 'todo') or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
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

-- Notes which other people say otherwise than a new memory.
create function note_disputes(p_memory bigint) returns void language plpgsql as $$
declare v_new memories;
begin
  select * into strict v_new from memories where id = p_memory;
  if v_new.type in ('event', 'observation', 'todo') or (v_new.type <> 'term' and coalesce(v_new.about, '{}') = '{}') then return; end if;
  insert into memory_disputes (memory_id, other_id)
  select pair.one, pair.other from memories m cross join lateral (values (v_new.id, m.id), (m.id, v_new.id)) pair (one, other)
   where m.agent = v_new.agent and m.scope = v_new.scope and m.channel_id = v_new.channel_id and m.valid_to is null
     and m.id <> v_new.id and m.type = v_new.type and normal_text(m.subject) = normal_text(v_new.subject)
     and (takes_place(m, v_new) or takes_place(v_new, m))
     and memory_asserter(m.id, m.asserted_by) is distinct from memory_asserter(v_new.id, v_new.asserted_by)
  on conflict do nothing;
end $$;

-- Whose a memory is follows from when it was said, and not from when it was summarised: only words that were said while the channel
-- was known to be public are shared.

-- Returns those of these entries that were said while everybody of the workspace could read the channel, as far as is known. A person's
-- message was, if it is of the public time and was heard when it was said or edited. Entries of Weir may repeat anything that was said
-- before them.
create function said_in_public(p_channel bigint, p_seqs bigint[]) returns bigint[] language sql stable as $$
  select coalesce(array_agg(e.seq), '{}')
    from channels c join entries e on e.channel_id = c.id
   where c.id = p_channel and c.is_private = false and e.seq = any (p_seqs) and e.deleted_at is null and e.seq > c.privacy_after
     and case when e.kind = 'user' and not is_due_work(e.message_id)
              then (c.privacy_from is null or e.at >= c.privacy_from) and not coalesce(e.data ? 'late', false)
                   and not exists (select from revisions r where r.channel_id = c.id and r.seq = e.seq and r.is_late)
              else c.privacy_from is null
                   and not exists (select from entries l where l.channel_id = c.id and l.seq < e.seq and l.data ? 'late')
                   and not exists (select from revisions r where r.channel_id = c.id and r.seq < e.seq and r.is_late)
         end
$$;

-- Returns with whom a memory is shared, and the sources on which it rests. A memory of a public channel that shares is the workspace's.
-- Where a part of the channel was said in private, or may have been, it must rest on what was said in public: only such sources remain,
-- and each term of its statement must stand in one of them, or in nothing that its job had read and that was not said in public.
create function memory_scope(p_channel channels, p_summary bigint, p_memory jsonb, out scope text, out sources jsonb)
language plpgsql stable as $$
declare v_public bigint[]; v_kept jsonb;
begin
  sources := p_memory->'sources';
  scope := case when p_channel.kind = 'dm' then 'dm' else 'channel' end;
  if p_channel.kind <> 'channel' or not p_channel.shares_memory or p_channel.is_private is distinct from false
     or p_channel.workspace = ''
  then return; end if;
  if p_channel.privacy_from is null and p_channel.privacy_after = 0
     and not exists (select from entries e where e.channel_id = p_channel.id and e.data ? 'late')
     and not exists (select from revisions r where r.channel_id = p_channel.id and r.is_late)
  then scope := 'workspace'; return; end if;
  v_public := said_in_public(p_channel.id, array(
    select (s->>'seq')::bigint from jsonb_array_elements(sources) s
    union
    select seq::bigint from jsonb_each(coalesce(p_memory->'said', '{}')) t, jsonb_array_elements_text(t.value) seq));
  select jsonb_agg(s.value order by s.place) into v_kept
    from jsonb_array_elements(sources) with ordinality s (value, place) where (s.value->>'seq')::bigint = any (v_public);
  if v_kept is null then return; end if;
  if jsonb_array_length(v_kept) < jsonb_array_length(sources) and not exists (
    select from entries e where e.channel_id = p_channel.id and e.seq = any (v_public) and e.kind = 'user'
                            and e.seq in (select (s->>'seq')::bigint from jsonb_array_elements(v_kept) s))
  then return; end if;
  if p_memory ? 'said' then
    if exists (select from jsonb_each(p_memory->'said') t
                where exists (select from jsonb_array_elements_text(t.value) seq where seq::bigint <> all (v_public))
                  and not exists (select from jsonb_array_elements_text(t.value) seq join jsonb_array_elements(v_kept) s
                                      on (s->>'seq')::bigint = seq::bigint))
    then return; end if;
    -- If some sources were left out, one message must say everything: several together may say what was said in private.
    if jsonb_array_length(v_kept) < jsonb_array_length(sources) and not exists (
      select from jsonb_array_elements(v_kept) s
       where not exists (select from jsonb_each(p_memory->'said') t where not t.value @> jsonb_build_array(s->'seq')))
    then return; end if;
  -- A job that did not note where the terms stand may have read them anywhere. A memory that a person asks for is in its sources.
  elsif p_summary is not null or jsonb_array_length(v_kept) < jsonb_array_length(sources) then
    return;
  end if;
  scope := 'workspace';
  sources := v_kept;
end $$;

-- Adds a memory, or its sources to the same memory that is there already: the same words, or nearly, with the same numbers,
-- negations and names, of the same days. It keeps which entries its job had read, and by which terms it tells that. `memory_scope` says
-- whose it is, and `end_outdated` what it ends.
-- p_summary: the summary of the job that found it; null: a person asked for it.
-- p_memory: {type, subject, assertedBy, statement, importance, at, refers?: {from, to}, telling?, marks?, about?, slots?,
-- sources: [{seq, quote}], said?: {term: [seq]}}; said: of each term that the job had read, the entries that have it; 0: something else.
create function add_memory(p_channel bigint, p_summary bigint, p_memory jsonb) returns bigint language plpgsql as $$
declare
  v_channel channels; v_scope text; v_id bigint; v_source jsonb; v_from bigint; v_to bigint; v_is_new boolean := false;
  v_marks text[] := case when p_memory ? 'marks' then array(select jsonb_array_elements_text(p_memory->'marks') m order by m) end;
  v_about text[] := case when p_memory ? 'about' then array(select jsonb_array_elements_text(p_memory->'about') w order by w) end;
  v_refers_from date; v_refers_to date; v_sources jsonb;
  v_text text := normal_text(p_memory->>'statement'); v_subject text := normal_text(p_memory->>'subject');
begin
  select * into strict v_channel from channels where id = p_channel;
  select s.scope, s.sources into v_scope, v_sources from memory_scope(v_channel, p_summary, p_memory) s;
  if jsonb_array_length(v_sources) < jsonb_array_length(p_memory->'sources') then
    -- Its speaker and its times follow from the sources that remain.
    p_memory := p_memory - 'refers' || (
      select jsonb_build_object('assertedBy', (array_agg(e.author_name order by s.place))[1], 'at', max(e.at))
        from jsonb_array_elements(v_sources) with ordinality s (value, place)
        join entries e on e.channel_id = p_channel and e.seq = (s.value->>'seq')::bigint and e.kind = 'user');
  end if;
  v_refers_from := (p_memory->'refers'->>'from')::date;
  v_refers_to := (p_memory->'refers'->>'to')::date;
  select coalesce(j.saw_from, j.from_seq), j.to_seq into v_from, v_to
    from summaries s join jobs j on j.id = s.job_id where s.id = p_summary;
  select m.id into v_id from memories m
   where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
     and md5(normal_text(m.statement)) = md5(v_text) and normal_text(m.statement) = v_text
     and m.type = p_memory->>'type' and normal_text(m.subject) = v_subject
     and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
   order by m.id limit 1;
  if v_id is null and v_marks is not null then
    select m.id into v_id from memories m
     where m.agent = v_channel.agent and m.scope = v_scope and m.channel_id = p_channel and m.valid_to is null
       and m.type = p_memory->>'type' and m.marks = v_marks and normal_text(m.subject) = v_subject
       and similarity(normal_text(m.statement), v_text) >= 0.85
       and (m.refers_from = v_refers_from and m.refers_to = v_refers_to or m.refers_from is null or v_refers_from is null)
     order by similarity(normal_text(m.statement), v_text) desc, m.id limit 1;
  end if;
  if v_id is null then
    v_is_new := true;
    insert into memories (agent, scope, channel_id, workspace, type, subject, asserted_by, statement, importance, valid_from,
                          summary_id, read_from, read_to, refers_from, refers_to, telling, marks, about, slots)
    values (v_channel.agent, v_scope, p_channel, v_channel.workspace, p_memory->>'type', p_memory->>'subject',
            p_memory->>'assertedBy', p_memory->>'statement', (p_memory->>'importance')::real,
            (p_memory->>'at')::timestamptz, p_summary, v_from, v_to, v_refers_from, v_refers_to,
            case when p_memory ? 'telling' then array(select jsonb_array_elements_text(p_memory->'telling')) end, v_marks, v_about,
            case when p_memory ? 'slots' then array(select jsonb_array_elements_text(p_memory->'slots') m order by m) end)
    returning id into v_id;
  else
    update memories m set read_from = least(m.read_from, v_from), read_to = greatest(m.read_to, v_to),
                          refers_from = coalesce(m.refers_from, v_refers_from), refers_to = coalesce(m.refers_to, v_refers_to)
     where m.id = v_id and (v_from is not null or v_refers_from is not null);
  end if;
  for v_source in select * from jsonb_array_elements(v_sources) loop
    -- An agent that repeats a memory does not prove what somebody else has said.
    if not v_is_new and memory_asserter(v_id, p_memory->>'assertedBy') is not null and exists (
      select from entries e where e.channel_id = p_channel and e.seq = (v_source->>'seq')::bigint and e.kind = 'assistant')
    then
      perform count_rejected(p_channel, array['restated_memory']);
      continue;
    end if;
    insert into memory_sources (memory_id, channel_id, seq, quote)
    values (v_id, p_channel, (v_source->>'seq')::bigint, v_source->>'quote')
    on conflict (memory_id, channel_id, seq) do nothing;
  end loop;
  if v_is_new then perform note_disputes(v_id); end if;
  perform end_outdated(v_id, memory_asserter(v_id, p_memory->>'assertedBy'));
  return v_id;
end $$;

-- Appends the words of a person who wants them remembered, as a message that is not addressed to anybody, and adds the memory that
-- they prove, in one transaction. A repeated call brings nothing back: if the message was deleted or edited meanwhile, it adds no
-- memory. p_data: as `append_message` takes it. proofs: how many messages prove the memory now.
create function remember_message(
  p_channel bigint, p_message_id text, p_author_id text, p_author_name text, p_text text, p_tokens integer, p_at timestamptz,
  p_memory jsonb, p_data jsonb default null,
  out entry_seq bigint, out memory bigint, out proofs bigint
) language plpgsql as $$
declare v_source jsonb; v_deleted boolean; v_edited text;
begin
  select a.seq into entry_seq
    from append_message(p_channel, p_message_id, p_author_id, p_author_name, false, p_text, p_tokens, p_at, false, null,
                        p_data => p_data) a;
  select e.deleted_at is not null,
         (select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq order by r.revision desc limit 1)
    into v_deleted, v_edited from entries e where e.channel_id = p_channel and e.seq = entry_seq;
  if v_deleted or v_edited <> p_text then proofs := 0; return; end if;
  v_source := jsonb_build_object('seq', entry_seq, 'quote', p_memory->'sources'->0->>'quote');
  memory := add_memory(p_channel, null, p_memory || jsonb_build_object('sources', jsonb_build_array(v_source)));
  select count(*) into proofs from memory_sources s where s.memory_id = remember_message.memory;
end $$;

-- Adds a memory from a file, whose sources the caller has checked under this channel's row lock. It is seen by no more people than
-- before, and ends no later. Its writer may have read anything of the channel: a retraction removes it in any doubt. Null: it is known.
create function import_memory(p_channel bigint, p_memory jsonb, p_scope text, p_until timestamptz) returns bigint
language plpgsql as $$
declare v_last bigint; v_known bigint; v_id bigint;
begin
  select last_seq into strict v_last from channels where id = p_channel for no key update;
  if exists (
    select from memories m
     where m.channel_id = p_channel and m.type = p_memory->>'type'
       and normal_text(m.subject) = normal_text(p_memory->>'subject')
       and normal_text(m.statement) = normal_text(p_memory->>'statement'))
  then return null; end if;
  select coalesce(max(m.id), 0) into v_known from memories m;
  v_id := add_memory(p_channel, null, p_memory);
  -- The sources were added to a memory that says nearly the same.
  if v_id <= v_known then return null; end if;
  update memories m
     set imported_at = clock_timestamp(), read_from = 1, read_to = v_last,
         scope = case when p_scope = 'channel' and m.scope = 'workspace' then 'channel' else m.scope end,
         valid_to = least(m.valid_to, p_until)
   where m.id = v_id;
  return v_id;
end $$;

-- Removing memories.

-- Removes those of these memories of a channel that have no source left, and renames the speaker of the others if the named one no
-- longer says them. A memory that a removed one had ended holds again, or ends with the memory that had ended that one; so does one
-- that its own speaker had ended by one of the others, if the speaker no longer says that, or not last. Returns which were removed.
-- It alone deletes memories. The caller holds the channel's row lock.
create function drop_unproved(p_channel bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare
  v_one memories; v_by text;
  -- `+ 0`: the plan reads them by id, and not the whole channel.
  v_gone bigint[] := array(
    select m.id from memories m
     where m.id = any (p_memories) and m.channel_id + 0 = p_channel
       and not exists (select from memory_sources s where s.memory_id = m.id));
begin
  for v_one in select g.* from memories g where g.id = any (v_gone) order by g.valid_from, g.id loop
    update memories m set superseded_by = v_one.superseded_by, valid_to = v_one.valid_to where m.superseded_by = v_one.id;
  end loop;
  delete from memories m where m.id = any (v_gone);
  -- If the named speaker no longer says it, the first person who does becomes its speaker, on that day. If the agent itself has said
  -- it, nobody can tell whose it was, and the name stays.
  update memories m set asserted_by = first.author_name, valid_from = first.at
    from memories known
    cross join lateral (
      select e.author_name, e.at from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
       where s.memory_id = known.id and e.kind = 'user' order by s.seq limit 1
    ) first
   where known.id = any (p_memories) and m.id = known.id and not exists (
     select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
      where s.memory_id = m.id and (e.kind <> 'user' or e.author_name = m.asserted_by));
  for v_one in select m.* from memories m where m.superseded_by = any (p_memories) order by m.id loop
    v_by := memory_asserter(v_one.id, v_one.asserted_by);
    continue when last_said(v_one.superseded_by, v_by) >= last_said(v_one.id, v_by);
    update memories m set superseded_by = null, valid_to = null where m.id = v_one.id;
    perform end_outdated(v_one.id, v_by);
  end loop;
  return v_gone;
end $$;

-- Ends the proofs of an entry for these memories (null: all that it proves). Returns the memories that were removed for it.
create function take_proofs(p_channel bigint, p_seq bigint, p_memories bigint[]) returns bigint[] language plpgsql as $$
declare v_proved bigint[];
begin
  perform from channels c where c.id = p_channel for no key update;
  with taken as (
    delete from memory_sources s
     where s.channel_id = p_channel and s.seq = p_seq and (p_memories is null or s.memory_id = any (p_memories))
    returning s.memory_id
  ) select array_agg(taken.memory_id) into v_proved from taken;
  return drop_unproved(p_channel, v_proved);
end $$;

-- Removes a memory with all of its sources; the messages stay. Returns whether there was one.
create function forget_memory(p_channel bigint, p_memory bigint) returns boolean language plpgsql as $$
begin
  perform from channels c where c.id = p_channel for no key update;
  delete from memory_sources s where s.memory_id = p_memory
     and exists (select from memories m where m.id = p_memory and m.channel_id = p_channel);
  return drop_unproved(p_channel, array[p_memory]) <> '{}';
end $$;
