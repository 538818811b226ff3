-- Edits and deletions of the log itself. What repeats a removed text is found by what its maker had read and by shared terms, and removed
-- by the carriers of `store/deletion/deletion-engine.ts`, which also says the order of the locks.

-- Makes entries say what they say now. An older text stays only where the view shows it to a model that has read it: the text before
-- the first noted edit, and each note. The caller holds the channel's row lock.
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

-- Whether a call or a result in the view tells an older text: the edit found it, or its model was asked before the edit and called
-- behind it.
create function tells_outdated(p_channel bigint, p_seq bigint, p_after bigint) returns boolean language sql stable as $$
  select exists (select from revisions r where r.channel_id = p_channel and r.told_by @> array[p_seq])
      or exists (select from revisions r
                  where r.channel_id = p_channel and r.noted_seq > p_after and r.noted_seq < p_seq and r.seq < p_seq)
$$;

-- When entries leave the view for good, older texts leave with them, and so do the arguments and the results of calls whose models had
-- read a text and not its edit. Such a call may come behind the edit: its model was asked before. Words beside a call are removed
-- where they tell an older text.
create function channels_forget_outdated() returns trigger language plpgsql as $$
declare v_seqs bigint[];
begin
  perform forget_outdated(new.id, array(
    select r.seq from revisions r where r.channel_id = new.id and r.seq > old.covered_to and r.seq <= new.covered_to
    union
    select (e.data->>'edits')::bigint from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to and e.kind = 'notice' and e.data ? 'edits'));
  v_seqs := array(
    select e.seq from entries e
     where e.channel_id = new.id and e.seq > old.covered_to and e.seq <= new.covered_to
       and (e.kind = 'tool_call' or e.kind = 'tool_result' and e.text <> '')
       and (exists (select from revisions r where r.channel_id = new.id and r.seq < e.seq and r.noted_seq > e.after_seq)
            or tells_outdated(new.id, e.seq, e.after_seq)));
  update entries e set data = without_arguments(e.data),
         text = case when tells_outdated(e.channel_id, e.seq, e.after_seq) then '' else e.text end
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_call';
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.channel_id = new.id and e.seq = any (v_seqs) and e.kind = 'tool_result';
  return null;
end $$;
create trigger channels_forget_outdated after update of covered_to on channels
  for each row when (old.covered_to < new.covered_to) execute function channels_forget_outdated();

-- Applies an edit: it adds a revision, appends a notice of the change if a turn has read the text, and updates the search index. The
-- caller removes what repeats the old text, in the same transaction. An edit that is older than the latest known one was delivered
-- late and changes nothing.
-- outcome: unknown; expired (its text is no longer kept: nothing was changed); unchanged; replaced (nobody had read it); noted (a notice
-- was appended). former: all that the message said before.
create function revise_message(
  p_channel bigint, p_message_id text, p_text text, p_tokens integer, p_at timestamptz,
  out outcome text, out seq bigint, out noted_seq bigint, out former text[]
) language plpgsql as $$
declare v_last bigint; v_entry entries; v_current text; v_revision integer; v_at timestamptz;
begin
  perform lock_search(p_channel);
  select c.last_seq into strict v_last from channels c where c.id = p_channel for no key update;
  select e.* into v_entry from entries e where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null;
  if not found then outcome := 'unknown'; return; end if;
  seq := v_entry.seq;
  if v_entry.expired_at is not null then outcome := 'expired'; return; end if;
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
end $$;

-- Takes the locks of a deletion, and returns all that the messages say and have said.
create function texts_to_go(p_channel bigint, p_message_ids text[]) returns table (seq bigint, text text) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  return query
    select e.seq, said.text from entries e
     cross join lateral (select e.text union select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) said
     where e.channel_id = p_channel and e.message_id = any (p_message_ids) and e.deleted_at is null;
end $$;

-- Deletes a message: its text is removed from the log, its revisions and the search index, and a memory that loses its last source is
-- removed. The caller removes what repeats it, in the same transaction.
create function delete_message(p_channel bigint, p_message_id text, out seq bigint) language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update entries e set text = '', deleted_at = clock_timestamp()
   where e.message_id = p_message_id and e.channel_id = p_channel and e.deleted_at is null returning e.seq into delete_message.seq;
  if not found then return; end if;
  update revisions r set text = '' where r.channel_id = p_channel and r.seq = delete_message.seq;
  -- The next entry is indexed with this text, which stood before it.
  perform index_entries(p_channel, delete_message.seq, delete_message.seq + 1);
  update search_progress p set erased_at = clock_timestamp(), deleted_at = clock_timestamp(),
                               deleted_seq = least(p.deleted_seq, delete_message.seq)
   where p.channel_id = p_channel;
  perform take_proofs(p_channel, delete_message.seq, null);
end $$;

-- Gives a hand-off whose question was edited another text, as an edit that nobody has read. The caller holds the channel's row lock.
create function reword_hand_off(p_channel bigint, p_seq bigint, p_text text) returns void language plpgsql as $$
begin
  insert into revisions (channel_id, seq, revision, text, at)
  select p_channel, p_seq, coalesce(max(r.revision), 0) + 1, p_text, clock_timestamp()
    from revisions r where r.channel_id = p_channel and r.seq = p_seq;
  perform forget_outdated(p_channel, array[p_seq]);
  perform index_entries(p_channel, p_seq, p_seq + 1);
end $$;

-- Locks a channel that was shown words which another one retracts, so that no note or call is written there meanwhile that tells them.
create function lock_shown_in(p_channel bigint) returns void language plpgsql as $$
begin
  perform lock_search(p_channel);
  perform from channels c where c.id = p_channel for no key update;
  update search_progress p set erased_at = clock_timestamp() where p.channel_id = p_channel;
end $$;

-- Any turn that runs in a channel may have been shown the retracted words, and no call of it says so: turns are shown the notes of their
-- channel and of a thread's channel. The caller has locked the channel as above.
create function note_shown_gone(p_channel bigint) returns void language sql as $$
  update search_progress p set shown_gone_at = clock_timestamp() where p.channel_id = p_channel
$$;

-- Whether a turn that writes knows of all deletions of texts that its model may have read. A turn that has begun behind a deletion may
-- have been asked from rows of before it, until its owner has read them again.
create function knows_deletions(p_channel bigint, p_turn bigint) returns boolean language sql stable as $$
  select not exists (
    select from search_progress p join turns t on t.id = p_turn
     where p.channel_id = p_channel and (p.deleted_seq <= t.to_seq or p.shown_gone_at > t.started_at))
$$;

-- Returns the time of the last deletion of which the channel's owner is not known to know.
create function last_deletion(p_channel bigint) returns timestamptz language sql stable as $$
  select greatest(p.deleted_at, p.shown_gone_at) from search_progress p where p.channel_id = p_channel
$$;

-- The channel's owner has read the rows as they were behind the deletion of p_last, and no turn of it runs. Returns whether that is all:
-- of a later deletion it has read nothing, and then it knows of none. Of a daemon that has lost the channel it changes nothing.
create function know_deletions(p_channel bigint, p_epoch bigint, p_last timestamptz) returns boolean language plpgsql as $$
begin
  update search_progress p set deleted_at = null, deleted_seq = null, shown_gone_at = null
   where p.channel_id = p_channel and greatest(p.deleted_at, p.shown_gone_at) = p_last
     and exists (select from channels c where c.id = p_channel and c.epoch = p_epoch);
  return coalesce(last_deletion(p_channel), p_last) = p_last;
end $$;

-- A turn may call its tools with words that are retracted just before or during the call: of a message of its channel, or of a memory of
-- another one. Each call notes which memories its turn was shown, so that a deletion there finds the call. A call that comes too late
-- is emptied when it is written, with its results, no matter who owns the channel or knows of the deletion.
-- A memory that another transaction holds counts as deleted: that transaction may wait for this channel.
create function entries_blank_late_call() returns trigger language plpgsql as $$
declare
  v_shown bigint[] := array(select jsonb_array_elements_text(new.data->'recalled'->'memories')::bigint);
  v_is_late boolean := not knows_deletions(new.channel_id, new.turn_id);
begin
  if new.kind = 'tool_result' then
    if v_is_late then
      update entries e set text = '', deleted_at = clock_timestamp() where e.channel_id = new.channel_id and e.seq = new.seq;
    end if;
  elsif v_is_late
     or (select count(*) from (select from memories m where m.id = any (v_shown) for key share skip locked) there) < cardinality(v_shown) then
    update entries e set text = '', data = without_arguments(e.data) where e.channel_id = new.channel_id and e.seq = new.seq;
    -- A result that was appended with it may repeat its arguments.
    update entries e set text = '', deleted_at = clock_timestamp()
     where e.channel_id = new.channel_id and e.seq > new.seq and e.turn_id = new.turn_id and e.kind = 'tool_result' and e.text <> ''
       and new.data->'calls' @> jsonb_build_array(jsonb_build_object('id', e.data->>'call_id'));
  end if;
  return null;
end $$;
-- Deferred: an approval that is asked for with the call loses the arguments as well.
create constraint trigger entries_blank_late_call after insert on entries deferrable initially deferred
  for each row when (new.kind = 'tool_call' or new.kind = 'tool_result' and new.text <> '') execute function entries_blank_late_call();
