-- Compaction: cover, then cut. `covered_to` moves only with the summary that covers.

-- What was said stays in a job's row no longer than the job lives.
create function jobs_forget_result() returns trigger language plpgsql as $$
begin
  if new.state not in ('running', 'staged') then new.result := null; end if;
  return new;
end $$;
create trigger jobs_forget_result before update on jobs for each row execute function jobs_forget_result();

-- Counts the messages of a new summary, and notes when the first and the last were said. Older summaries that tile the beginning
-- of the range are added up instead of reading their entries, since a merge may cover very many. The result is exact, because
-- entries never change their kind or their time.
create function summaries_tell_span() returns trigger language plpgsql as $$
declare v_next bigint := new.from_seq; v_part record;
begin
  new.messages := 0;
  while v_next <= new.to_seq loop
    select s.to_seq, s.messages, s.first_at, s.last_at into v_part from summaries s
     where s.channel_id = new.channel_id and s.from_seq = v_next and s.to_seq <= new.to_seq and s.messages is not null
     order by s.to_seq desc, s.id desc limit 1;
    if not found then
      select new.to_seq as to_seq, count(*) as messages, min(e.at) as first_at, max(e.at) as last_at into v_part from entries e
       where e.channel_id = new.channel_id and e.seq between v_next and new.to_seq and e.kind <> 'notice';
    end if;
    new.messages := new.messages + v_part.messages;
    new.first_at := least(new.first_at, v_part.first_at);
    new.last_at := greatest(new.last_at, v_part.last_at);
    v_next := v_part.to_seq + 1;
  end loop;
  return new;
end $$;
create trigger summaries_tell_span before insert on summaries
  for each row when (new.kind <> 'reset') execute function summaries_tell_span();

-- A summary that leaves the view takes its substitute, and so holds nothing of what was edited away.
create function summaries_take_substitute() returns trigger language plpgsql as $$
begin
  new.text := old.substitute->>'text';
  new.tokens := (old.substitute->>'tokens')::integer;
  new.kind := 'digest';
  new.model := null;
  new.substitute := null;
  return new;
end $$;
create trigger summaries_take_substitute before update on summaries
  for each row when (old.live and not new.live and old.substitute is not null) execute function summaries_take_substitute();

-- A live summary that gets a new text loses its substitute, which would bring back what was made before. A daemon of an older
-- version beside does not know the column.
create function summaries_drop_substitute() returns trigger language plpgsql as $$
begin
  new.substitute := null;
  return new;
end $$;
create trigger summaries_drop_substitute before update of text on summaries
  for each row when (new.live and old.substitute is not null and new.substitute = old.substitute)
  execute function summaries_drop_substitute();

-- Begins a job of the channel's owner. The job reads the neighbouring summary before its range as well, and so all that this
-- summary has read.
create function begin_job(
  p_channel bigint, p_epoch bigint, p_kind text, p_tier text, p_from bigint, p_to bigint, p_level integer,
  p_source_tokens integer, p_lease_ms integer
) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    insert into jobs (channel_id, kind, tier, from_seq, to_seq, level, source_tokens, leased_until, saw_from)
    values (p_channel, p_kind, p_tier, p_from, p_to, p_level, p_source_tokens, now() + p_lease_ms * interval '1 ms',
            least(p_from, (select min(coalesce(s.saw_from, s.from_seq)) from summaries s
                            where s.channel_id = p_channel and s.live and s.kind <> 'reset'
                              and s.to_seq >= p_from - 1 and s.from_seq <= p_to),
                  -- The note of an edit tells what an entry says now, and that entry may stand before the range.
                  (select min((e.data->>'edits')::bigint) from entries e
                    where e.channel_id = p_channel and e.seq between p_from and p_to and e.kind = 'notice')))
    returning *;
end $$;

-- Gives the live job of a channel to its new owner. A running job begins again; a staged one stays as it is.
create function take_job(p_channel bigint, p_epoch bigint, p_lease_ms integer) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    update jobs set attempt = attempt + (state = 'running')::integer, leased_until = now() + p_lease_ms * interval '1 ms'
     where channel_id = p_channel and state in ('running', 'staged') returning *;
end $$;

-- Commits a staged job in one transaction: its summary replaces those of its range, the watermark moves, and its memories are
-- added. A memory of what was edited after the job had begun is left out. Asked twice, it answers the same.
-- outcome: committed; stale (the range is not what was summarised); gone (another attempt, or an ended job).
create function commit_job(p_job bigint, p_attempt integer, out outcome text) language plpgsql as $$
declare v_job jobs; v_channel channels; v_summary bigint; v_is_same boolean; v_memories integer := 0; v_memory jsonb; v_sources jsonb;
begin
  select c.* into strict v_channel from channels c join jobs j on j.channel_id = c.id where j.id = p_job for no key update of c;
  select j.* into strict v_job from jobs j where j.id = p_job for update;
  if v_job.attempt = p_attempt and v_job.state in ('committed', 'stale') then outcome := v_job.state; return; end if;
  if v_job.attempt <> p_attempt or v_job.state <> 'staged' then outcome := 'gone'; return; end if;
  if v_job.kind = 'leaf' then
    v_is_same := v_job.from_seq = v_channel.covered_to + 1 and v_job.to_seq <= v_channel.last_seq;
  else
    select coalesce(sum(s.to_seq - s.from_seq + 1), 0) = v_job.to_seq - v_job.from_seq + 1 into v_is_same from summaries s
     where s.channel_id = v_job.channel_id and s.live and s.kind <> 'reset'
       and s.from_seq >= v_job.from_seq and s.to_seq <= v_job.to_seq;
  end if;
  if not v_is_same then
    update jobs set state = 'stale', reason = 'its range is not what it was', ended_at = clock_timestamp() where id = p_job;
    outcome := 'stale';
    return;
  end if;
  update summaries s set live = false
   where v_job.kind <> 'leaf' and s.channel_id = v_job.channel_id and s.live
     and s.from_seq >= v_job.from_seq and s.to_seq <= v_job.to_seq;
  insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, model, job_id, saw_from, needs_redo)
  select v_job.channel_id, v_job.from_seq, v_job.to_seq, v_job.level, r.kind, r.text, r.tokens, r.model, p_job, v_job.saw_from,
         v_job.edited or (r.kind = 'digest' and not coalesce(r."isFinal", false))
    from jsonb_to_record(v_job.result->'summary') as r (kind text, text text, tokens integer, model text, "isFinal" boolean)
  returning id into strict v_summary;
  if v_job.kind = 'leaf' then
    update channels set covered_to = v_job.to_seq where id = v_job.channel_id;
    for v_memory in select * from jsonb_array_elements(v_job.result->'memories') loop
      select coalesce(jsonb_agg(s), '[]') into v_sources from jsonb_array_elements(v_memory->'sources') s
       where not (s->>'seq')::bigint = any (v_job.edited_seqs);
      continue when v_sources = '[]' or exists (
        select from jsonb_array_elements_text(coalesce(v_memory->'telling', '[]')) t where t = any (v_job.edited_terms));
      perform add_memory(v_job.channel_id, v_summary, v_memory || jsonb_build_object('sources', v_sources));
      v_memories := v_memories + 1;
    end loop;
  end if;
  update jobs set state = 'committed', memories = v_memories, ended_at = clock_timestamp() where id = p_job;
  outcome := 'committed';
end $$;

-- `/reset`: covers everything up to p_to without a text, voids the live job, and settles what was due. Memories stay, and so does
-- the turn of a message behind p_to.
-- turn_id: the turn that settles (null: nothing was due). message_ids: the messages whose wait ends.
create function reset_channel(
  p_channel bigint, p_epoch bigint, p_to bigint,
  out turn_id bigint, out message_ids text[]
) language plpgsql as $$
declare v_channel channels; v_from bigint; v_to bigint;
begin
  select c.* into v_channel from channels c where c.id = p_channel and c.epoch = p_epoch for no key update;
  if not found then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
  select min(e.seq), max(e.seq), array_agg(e.message_id order by e.seq) into v_from, v_to, message_ids from entries e
   where e.channel_id = p_channel and e.addressed and e.seq > v_channel.settled_to and e.seq <= p_to;
  update turns t set state = 'stopped', reason = 'reset', epoch = p_epoch, settled_at = clock_timestamp()
   where t.channel_id = p_channel and t.state = 'running' and t.from_seq <= p_to returning t.id into turn_id;
  if turn_id is null and v_from is not null then
    insert into turns (channel_id, epoch, from_seq, to_seq, state, reason, settled_at)
    values (p_channel, p_epoch, v_from, v_to, 'stopped', 'reset', clock_timestamp()) returning id into turn_id;
  end if;
  perform void_draft(reset_channel.turn_id, p_epoch);
  update jobs set state = 'void', ended_at = clock_timestamp(), reason = 'reset'
   where channel_id = p_channel and state in ('running', 'staged');
  if p_to > v_channel.covered_to then
    update summaries set live = false where channel_id = p_channel and live;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values (p_channel, 1, p_to, 'reset', '', 0);
  end if;
  update channels c set covered_to = greatest(c.covered_to, p_to), settled_to = greatest(c.settled_to, p_to)
   where c.id = p_channel;
end $$;

-- Wakes the daemons that listen for requests of command-line programs.
create function requests_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('weir_requests', new.id::text);
  return null;
end $$;
create trigger requests_notify after insert on requests for each row execute function requests_notify();
