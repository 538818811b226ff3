-- What the database refuses, whoever writes. Each guard is a trigger.

-- The watermarks and the epoch of a channel never fall.
create function channels_refuse_fall() returns trigger language plpgsql as $$
begin
  if new.last_seq < old.last_seq or new.settled_to < old.settled_to or new.covered_to < old.covered_to
     or new.omitted_to < old.omitted_to or new.epoch < old.epoch then
    raise exception 'a watermark of channel % must not fall', old.id using errcode = 'WE001';
  end if;
  return new;
end $$;
create trigger channels_refuse_fall before update on channels for each row
  when (new.last_seq < old.last_seq or new.settled_to < old.settled_to or new.covered_to < old.covered_to
        or new.omitted_to < old.omitted_to or new.epoch < old.epoch)
  execute function channels_refuse_fall();

-- The fence: a row of `turns` or `deliveries` is written by the channel's owner only, which is the daemon with the latest epoch.
-- FOR KEY SHARE is the weakest lock of the channel's row, so that a note about a delivery holds up no append of the channel.
create function refuse_old_epoch() returns trigger language plpgsql as $$
declare current_epoch bigint;
begin
  select epoch into current_epoch from channels where id = new.channel_id for key share;
  if current_epoch is distinct from new.epoch then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  return new;
end $$;
create trigger deliveries_refuse_old_epoch before insert or update on deliveries
  for each row execute function refuse_old_epoch();

-- A turn needs FOR SHARE, which conflicts with the lock of an edit and of a deletion. An edit asks whether a turn has read the
-- text; a turn that began at the same time would read it unseen.
create function turns_refuse_old_epoch() returns trigger language plpgsql as $$
declare current_epoch bigint;
begin
  select epoch into current_epoch from channels where id = new.channel_id for share;
  if current_epoch is distinct from new.epoch then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  return new;
end $$;
create trigger turns_refuse_old_epoch before insert or update on turns for each row execute function turns_refuse_old_epoch();

-- The other side of the fence: a daemon that takes a channel waits for every write under way that has read the old epoch.
create function channels_await_writers() returns trigger language plpgsql as $$
begin
  perform from channels where id = old.id for update;
  return new;
end $$;
create trigger channels_await_writers before update on channels
  for each row when (old.epoch <> new.epoch) execute function channels_await_writers();

-- Entries take the next seqs of their channel, in the statement that inserts them, and only by the owner if they carry an epoch.
-- A statement inserts entries of one channel; a writer to several channels uses one statement for each.
create function entries_take_next_seqs() returns trigger language plpgsql as $$
declare v_channel bigint; v_first bigint; v_epoch bigint;
begin
  update channels c set last_seq = a.last
    from (select min(channel_id) as channel_id, min(seq) as first, max(seq) as last, count(*) as count, min(epoch) as epoch
            from added having min(channel_id) = max(channel_id) and min(epoch) is not distinct from max(epoch)) a
   where c.id = a.channel_id and c.last_seq = a.first - 1 and a.last - a.first + 1 = a.count
     and (a.epoch is null or c.epoch = a.epoch);
  if found or not exists (select from added) then
    return null;
  end if;
  select channel_id, seq, epoch into v_channel, v_first, v_epoch from added order by channel_id, seq limit 1;
  if v_epoch is not null and not exists (select from channels where id = v_channel and epoch = v_epoch) then
    raise exception 'epoch % of channel % is over', v_epoch, v_channel using errcode = 'WE002';
  end if;
  raise exception 'entry % is not the next of channel %', v_first, v_channel using errcode = 'WE001';
end $$;
create trigger entries_take_next_seqs after insert on entries referencing new table as added
  for each statement execute function entries_take_next_seqs();

-- The log is append-only. An entry may change in three ways: its text goes when it is deleted; its text becomes that of the latest
-- edit, if no view shows the older one; the arguments of a tool call go. The call's name and id stay, so that its results have a call.
create function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE'
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    if new.deleted_at is not null and new.text = '' then return new; end if;
    if new.deleted_at is null and old.deleted_at is null then
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

-- I1, I2, I3: at every commit, live summaries tile 1..covered_to.
create function summaries_tile() returns trigger language plpgsql as $$
declare v_row jsonb := to_jsonb(coalesce(new, old)); v_channel bigint; v_covered bigint; v_length bigint; v_last bigint;
begin
  v_channel := case when tg_table_name = 'channels' then v_row->>'id' else v_row->>'channel_id' end;
  select covered_to into v_covered from channels where id = v_channel;
  select coalesce(sum(to_seq - from_seq + 1), 0), coalesce(max(to_seq), 0) into v_length, v_last
    from summaries where channel_id = v_channel and live;
  if v_covered <> v_length or v_covered <> v_last then
    raise exception 'channel % is covered to %, but its live summaries cover % entries up to %',
      v_channel, v_covered, v_length, v_last using errcode = 'WE001';
  end if;
  return null;
end $$;
create constraint trigger summaries_tile after insert or update or delete on summaries
  deferrable initially deferred for each row execute function summaries_tile();
create constraint trigger channels_tile after update of covered_to on channels
  deferrable initially deferred for each row when (old.covered_to <> new.covered_to) execute function summaries_tile();

-- I11: at every commit, each memory has a source.
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
