-- Wishes: how people want to be answered in a channel, each from one message. The candidates made of them (`memory/candidates.ts`) are
-- stored nowhere, so that a deleted wish takes its weight with it.

create table wishes (
  id         bigint generated always as identity primary key,
  channel_id bigint not null,
  seq        bigint not null,
  agent      text   not null,
  act        text   not null, -- want, or stop: it is no longer wanted
  topic      text   not null,
  person     text, -- id of the person whom it is for, who has said it; null: everybody in the channel
  asker      text   not null, -- id of the person who said it
  wish       text   not null,
  quote      text   not null,
  at         timestamptz not null,
  key_id     text   not null,
  -- HMAC-SHA256 of the other columns but id and learned_at, under the key of the installation that key_id names
  signature  text   not null,
  learned_at timestamptz not null default clock_timestamp(),
  foreign key (channel_id, seq) references entries (channel_id, seq),
  unique (channel_id, seq, act, topic, wish),
  constraint wishes_have_times check (isfinite(at) and isfinite(learned_at))
);
alter table wishes alter column wish set statistics 0, alter column quote set statistics 0;

-- Each person ends for themselves a wish that several people share. A refusal is deleted with the wish that it is of.
create table wish_refusals (
  wish_id bigint not null references wishes (id) on delete cascade,
  person  text   not null check (person <> ''), -- the platform's id of the person
  at      timestamptz not null default clock_timestamp() check (isfinite(at)),
  primary key (wish_id, person)
);

-- Wishes come with the summary of their job, in its transaction. A message that was edited or deleted meanwhile brings none.
create function jobs_bring_wishes() returns trigger language plpgsql as $$
begin
  insert into wishes (channel_id, seq, agent, act, topic, person, asker, wish, quote, at, key_id, signature)
  select new.channel_id, w.seq, w.agent, w.act, w.topic, w.person, w.asker, w.wish, w.quote, w.at, w."keyId", w.signature
    from jsonb_to_recordset(old.result->'wishes') as w (
           seq bigint, agent text, act text, topic text, person text, asker text, wish text, quote text, at timestamptz,
           "keyId" text, signature text)
    join entries e on e.channel_id = new.channel_id and e.seq = w.seq and e.kind = 'user' and e.deleted_at is null
   where w.seq between new.from_seq and new.to_seq and w.seq <> all (old.edited_seqs) and w.signature is not null
  on conflict do nothing;
  delete from wishes w where w.channel_id = new.channel_id and w.learned_at < clock_timestamp() - interval '90 days';
  return null;
end $$;
create trigger jobs_bring_wishes after update of state on jobs
  for each row when (new.state = 'committed' and old.state <> 'committed' and new.kind = 'leaf' and old.result ? 'wishes')
  execute function jobs_bring_wishes();

-- Locks a channel and the one that it is a thread of, in the order of their ids, and raises their counts of retractions, so that every
-- holder of their wishes in memory reads them again.
create function touch_wishes(p_channel bigint) returns void language sql as $$
  with locked as (select id from channels where id in (p_channel, parent_channel(p_channel)) order by id for no key update)
  update search_progress p set taken_back = taken_back + 1 from locked where p.channel_id = locked.id;
$$;

-- Ends wishes for everybody, there or in the thread's channel. False: there are none of these.
create function end_wishes(p_channel bigint, p_ids bigint[]) returns boolean language plpgsql as $$
begin
  perform touch_wishes(p_channel);
  delete from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids);
  return found;
end $$;

-- Ends wishes for one person: their own are deleted, those of others they refuse. False: there are none of these.
create function refuse_wishes(p_channel bigint, p_ids bigint[], p_person text) returns boolean language plpgsql as $$
declare v_there boolean;
begin
  perform touch_wishes(p_channel);
  select exists (select from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids)) into v_there;
  delete from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids) and w.asker = p_person;
  insert into wish_refusals (wish_id, person)
    select w.id, p_person from wishes w where w.channel_id in (p_channel, parent_channel(p_channel)) and w.id = any (p_ids)
    on conflict (wish_id, person) do update set at = excluded.at;
  return v_there;
end $$;
