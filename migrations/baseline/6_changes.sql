-- Edits and deletions: what people took back is told by nothing. Which summaries and memories tell it is found by what their maker
-- had read, and by the terms that they share with the text (`text/telling-terms.ts`).

-- Makes entries say what they say now. An edited-away text stays only where the view shows it to a model that has read it: the
-- text before the first noted edit, and each note. The caller holds the channel's row lock.
create function forget_outdated(p_channel bigint, p_seqs bigint[]) returns void language plpgsql as $$
declare v_covered bigint; v_seq bigint; v_text text; v_last integer; v_unnoted integer; v_is_noted boolean;
begin
  select covered_to into strict v_covered from channels where id = p_channel;
  for v_seq in select distinct s from unnest(p_seqs) s loop
    select r.text, r.revision into v_text, v_last from revisions r
     where r.channel_id = p_channel and r.seq = v_seq order by r.revision desc limit 1;
    continue when not found;
    v_is_noted := exists (select from revisions r where r.channel_id = p_channel and r.seq = v_seq and r.noted_seq is not null);
    update entries e set text = v_text
     where e.channel_id = p_channel and e.seq = v_seq and e.deleted_at is null and e.text <> v_text
       and (v_seq <= v_covered or not v_is_noted);
    -- Of the older revisions that no view shows, only the last one without a note is ever read: it takes the current text. The
    -- others become empty, so that a later edit does not write all of them again.
    select max(r.revision) into v_unnoted from revisions r
     where r.channel_id = p_channel and r.seq = v_seq and r.noted_seq is null;
    update revisions r set text = case when r.revision = v_unnoted then v_text else '' end
     where r.channel_id = p_channel and r.seq = v_seq and r.revision < v_last
       and r.text <> case when r.revision = v_unnoted then v_text else '' end
       and case when r.noted_seq is not null then r.noted_seq <= v_covered else v_seq <= v_covered or r.revision < v_unnoted end;
  end loop;
end $$;

-- What leaves the view for good takes with it what was edited away meanwhile, and the arguments of the calls that a model made
-- between a text and its edit: nobody asks for them again.
create function channels_forget_outdated() returns trigger language plpgsql as $$
declare v_between int8multirange;
begin
  perform forget_outdated(new.id, array(
    select r.seq from revisions r where r.channel_id = new.id and r.seq > old.covered_to and r.seq <= new.covered_to
    union
    select (e.data->>'edits')::bigint from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'notice' and e.data ? 'edits'));
  select range_agg(int8range(r.seq, r.noted_seq, '()')) into v_between from revisions r
   where r.channel_id = new.id and r.seq < new.covered_to and r.noted_seq > old.covered_to;
  update entries e set data = jsonb_set(e.data, '{calls}', (
           select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
             from jsonb_array_elements(e.data->'calls') with ordinality c (call, place)))
   where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'tool_call'
     and v_between @> e.seq;
  return null;
end $$;
create trigger channels_forget_outdated after update of covered_to on channels
  for each row when (old.covered_to < new.covered_to) execute function channels_forget_outdated();

-- Applies an edit: it adds a revision, notes the change if a turn has read the text, updates the search index, and marks the
-- summaries and the job that hold the old text. The caller removes the memories and substitutes the summaries that tell it, in
-- the same transaction. An edit that is older than the latest known one was delivered late and changes nothing.
-- outcome: unknown; unchanged; replaced (nobody had read it); noted (a notice was appended). former: all that the message said before.
create function revise_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint, out former text[]
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz; v_seqs bigint[];
begin
  perform lock_search(p_channel);
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.* into v_entry from entries e
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null;
  if not found then outcome := 'unknown'; return; end if;
  seq := v_entry.seq;
  select r.text, r.revision, r.at into v_current, v_revision, v_at from revisions r
   where r.channel_id = p_channel and r.seq = v_entry.seq order by r.revision desc limit 1;
  if coalesce(v_current, v_entry.text) = p_text or v_at > p_at then outcome := 'unchanged'; return; end if;
  former := array(select v_entry.text union
                  select r.text from revisions r where r.channel_id = p_channel and r.seq = v_entry.seq);
  outcome := 'replaced';
  if exists (select from turns t where t.channel_id = p_channel and t.to_seq >= v_entry.seq) then
    outcome := 'noted';
    noted_seq := v_last + 1;
    insert into entries (channel_id, seq, kind, at, text, tokens, data)
    values (p_channel, noted_seq, 'notice', p_at, '', p_tokens, jsonb_build_object('edits', v_entry.seq));
  end if;
  insert into revisions (channel_id, seq, revision, text, at, noted_seq)
  values (p_channel, v_entry.seq, coalesce(v_revision, 0) + 1, p_text, p_at, revise_message.noted_seq);
  perform forget_outdated(p_channel, array[v_entry.seq]);
  perform index_entries(p_channel, v_entry.seq, v_entry.seq + 1);
  update search_progress p set erased_at = clock_timestamp() where p.channel_id = p_channel;
  v_seqs := array(select r.noted_seq from revisions r
                   where r.channel_id = p_channel and r.seq = v_entry.seq and r.noted_seq is not null) || v_entry.seq;
  update summaries s set needs_redo = true
   where s.channel_id = p_channel and s.live and s.kind <> 'reset'
     and exists (select from unnest(v_seqs) v where v between s.from_seq and s.to_seq);
  update jobs j set edited = true
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and exists (select from unnest(v_seqs) v where v between j.from_seq and j.to_seq);
end $$;

-- `revise_message` for a daemon of an older version beside.
create function edit_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint
) language sql as $$
  select r.outcome, r.seq, r.noted_seq from revise_message(p_channel, p_message_id, p_text, p_tokens, p_at) r
$$;

-- Takes the locks of a deletion, and tells all that the messages say and have said.
create function texts_to_go(p_channel bigint, p_message_ids text[]) returns table (seq bigint, text text) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  return query
    select e.seq, said.text from entries e
     cross join lateral (select e.text union select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) said
     where e.channel_id = p_channel and e.message_id = any (p_message_ids) and e.deleted_at is null;
end $$;

-- Deletes a message: its text goes from the log, its revisions and the search index; a job that may have read it is stale; and a
-- memory goes with its last source. The caller replaces the summaries that may tell it, in the same transaction.
create function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
declare v_proved bigint[]; v_gone bigint[];
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry is indexed with the text before it, which was this one.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp() where p.channel_id = p_channel;
  update jobs j set state = 'stale', reason = 'a message that it had read was deleted', ended_at = clock_timestamp()
   where j.channel_id = p_channel and j.state in ('running', 'staged')
     and delete_message.seq between coalesce(j.saw_from, j.from_seq) and j.to_seq;
  with gone as (
    delete from memory_sources s where s.channel_id = p_channel and s.seq = delete_message.seq returning s.memory_id
  ) select array_agg(distinct gone.memory_id) into v_proved from gone;
  select array_agg(m.id) into v_gone from memories m
   where m.id = any (v_proved) and m.channel_id = p_channel
     and not exists (select from memory_sources s where s.memory_id = m.id);
  update memories m set superseded_by = null where m.superseded_by = any (v_gone);
  delete from memories m where m.id = any (v_gone);
end $$;

-- A model that was asked before a deletion may call its tools after it. Such calls of the running turn lose their arguments. The
-- channel's owner calls this when the turn's writer has stopped.
create function blank_late_calls(p_channel bigint) returns void language plpgsql as $$
declare v_at timestamptz; v_turn bigint; v_from bigint;
begin
  select deleted_at into v_at from search_progress where channel_id = p_channel and deleted_at is not null for update;
  if not found then return; end if;
  select t.id, t.from_seq into v_turn, v_from from turns t
   where t.channel_id = p_channel and t.state = 'running' and t.started_at < v_at;
  update entries e set text = '', data = jsonb_set(e.data, '{calls}', (
           select coalesce(jsonb_agg(c.call || '{"arguments": "{}"}' order by c.place), '[]')
             from jsonb_array_elements(e.data->'calls') with ordinality c (call, place)))
   where e.channel_id = p_channel and e.kind = 'tool_call' and e.seq > v_from and e.turn_id = v_turn and e.appended_at > v_at;
  update search_progress set deleted_at = null where channel_id = p_channel;
end $$;
