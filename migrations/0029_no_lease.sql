-- A job has no lease: the channel's owner owns its job, and nothing ever read `leased_until`. The version before still passes the
-- parameter and writes the column, so both stay for this version; the next one drops them.

alter table jobs alter column leased_until set default now();

-- Begins a job of the channel's owner. The job reads the neighbouring summary before its range as well, and so all that this
-- summary has read.
create or replace function begin_job(
  p_channel bigint, p_epoch bigint, p_kind text, p_tier text, p_from bigint, p_to bigint, p_level integer,
  p_source_tokens integer, p_lease_ms integer default null
) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    insert into jobs (channel_id, kind, tier, from_seq, to_seq, level, source_tokens, saw_from)
    values (p_channel, p_kind, p_tier, p_from, p_to, p_level, p_source_tokens,
            least(p_from, (select min(coalesce(s.saw_from, s.from_seq)) from summaries s
                            where s.channel_id = p_channel and s.live and s.kind <> 'reset'
                              and s.to_seq >= p_from - 1 and s.from_seq <= p_to),
                  -- The note of an edit tells what an entry says now, and that entry may stand before the range.
                  (select min((e.data->>'edits')::bigint) from entries e
                    where e.channel_id = p_channel and e.seq between p_from and p_to and e.kind = 'notice')))
    returning *;
end $$;

-- Gives the live job of a channel to its new owner. A running job begins again; a staged one stays as it is.
create or replace function take_job(p_channel bigint, p_epoch bigint, p_lease_ms integer default null) returns setof jobs language plpgsql as $$
begin
  perform lock_owned(p_channel, p_epoch);
  return query
    update jobs set attempt = attempt + (state = 'running')::integer
     where channel_id = p_channel and state in ('running', 'staged') returning *;
end $$;
