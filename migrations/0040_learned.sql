-- Wishes: how people want to be answered in a channel, each from one message. What is made of them (`memory/candidates.ts`) is stored
-- nowhere: a wish that goes takes its weight with it.

create table wishes (
  id         bigint generated always as identity primary key,
  channel_id bigint not null,
  seq        bigint not null,
  agent      text   not null,
  act        text   not null,
  topic      text   not null,
  person     text,
  asker      text   not null,
  wish       text   not null,
  quote      text   not null,
  at         timestamptz not null,
  key_id     text   not null,
  signature  text   not null,
  learned_at timestamptz not null default clock_timestamp(),
  foreign key (channel_id, seq) references entries (channel_id, seq),
  unique (channel_id, seq, act, topic, wish),
  constraint wishes_have_times check (isfinite(at) and isfinite(learned_at))
);
-- What a text says is not to stand in the statistics of its column.
alter table wishes alter column wish set statistics 0, alter column quote set statistics 0;
comment on column wishes.act is 'want, or stop: it is wanted no more';
comment on column wishes.person is 'id of the person whom it is for, who has said it; null: everybody in the channel';
comment on column wishes.asker is 'id of the person who said it';
comment on column wishes.signature is 'HMAC-SHA256 of the other columns but id and learned_at, under the key of the installation that key_id tells from others';

-- They come with the summary of their job, in its transaction. A message that was edited or deleted meanwhile brings none.
create function jobs_bring_wishes() returns trigger language plpgsql as $$
begin
  insert into wishes (channel_id, seq, agent, act, topic, person, asker, wish, quote, at, key_id, signature)
  select new.channel_id, w.seq, w.agent, w.act, w.topic, w.person, w.asker, w.wish, w.quote, w.at, w."keyId", w.signature
    from jsonb_to_recordset(old.result->'wishes') as w (
           seq bigint, agent text, act text, topic text, person text, asker text, wish text, quote text, at timestamptz,
           "keyId" text, signature text)
    join entries e on e.channel_id = new.channel_id and e.seq = w.seq and e.kind = 'user' and e.deleted_at is null
   where w.seq between new.from_seq and new.to_seq and w.seq <> all (old.edited_seqs) and w.signature is not null
     -- A daemon of an older version tells only that something was edited.
     and (not old.edited or old.edited_seqs <> '{}')
  on conflict do nothing;
  delete from wishes w where w.channel_id = new.channel_id and w.learned_at < clock_timestamp() - interval '90 days';
  return null;
end $$;
create trigger jobs_bring_wishes after update of state on jobs
  for each row when (new.state = 'committed' and old.state <> 'committed' and new.kind = 'leaf' and old.result ? 'wishes')
  execute function jobs_bring_wishes();

-- They go with their message, and with its words.
create function entries_take_wishes() returns trigger language plpgsql as $$
begin
  delete from wishes w where w.channel_id = new.channel_id and w.seq = new.seq;
  return null;
end $$;
create trigger entries_take_wishes after update of deleted_at on entries
  for each row when (old.deleted_at is null and new.deleted_at is not null) execute function entries_take_wishes();
create trigger revisions_take_wishes after insert on revisions for each row execute function entries_take_wishes();
