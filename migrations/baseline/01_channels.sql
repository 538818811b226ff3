-- The schema of Weir, by subject: each table, function, trigger and index stands once, in its present form. The files are one
-- migration and run in the order of their names.
--
-- Error classes of our own: WE001 is a broken invariant, WE002 a write by a daemon that has lost the channel, WE003 a write by a
-- daemon that has lost the channel's partition.
-- A text is retracted when its message is edited or deleted. An entry is covered when a summary stands for it in the view.
-- The planner's statistics repeat values of a column until the next ANALYZE. Columns with words of people or models have none,
-- so that a retracted text does not live on there (`set statistics 0`).

create extension if not exists btree_gist;
create extension if not exists btree_gin;
-- For similarity(), by which statements are compared. No index uses trigrams.
create extension if not exists pg_trgm;

-- Channels, how far each has been read, answered, covered and fetched, and the fence around their owner.

create table channels (
  id              bigint generated always as identity primary key,
  platform        text   not null check (platform <> ''),
  name            text   not null check (name <> ''),
  kind            text   not null check (kind in ('dm', 'channel', 'thread')),
  workspace       text   not null default '',
  agent           text   not null check (agent <> ''),
  last_seq        bigint not null default 0,
  -- every addressed message up to here has been answered, skipped, stopped or failed with a word
  settled_to      bigint not null default 0,
  covered_to      bigint not null default 0, -- live summaries tile 1..covered_to
  omitted_to      bigint not null default 0, -- entries in covered_to+1..omitted_to are left out of the view by an emergency
  epoch           bigint not null default 0, -- raised when a daemon takes the channel; the writes of its actor carry it
  fetched_to      text, -- a gap is open: messages after this one of the platform may be missing, though later ones are there
  created_at      timestamptz not null default now(),
  place           jsonb, -- in the words of the platform: {workspace, channel, parent: {id, name} | null}
  gone_at         timestamptz, -- since when it is deleted on its platform: the texts that people said there are deleted
  -- of the gap behind fetched_to: {read: messages so far, readTo: time, until: time, untilId: the message before which it ends};
  -- untilId stays when it is whole
  backlog         jsonb,
  is_private      boolean, -- as its platform reported last; null: it did not, and the channel counts as private
  -- the configuration shares its memories with its workspace, as long as it is public
  shares_memory   boolean not null default false,
  -- the model that an owner chose for it, as the configuration names it; null: the model of its agent
  chosen_model    text check (chosen_model <> ''),
  chosen_by       text, -- the platform's id of the person who chose it
  chosen_at       timestamptz,
  -- a message in the channel has said that the configuration no longer has the chosen model
  model_loss_told boolean not null default false,
  model_losses    integer not null default 0, -- how often the channel lost a chosen model and was told so
  -- md5 because `hashtext` may differ between versions of Postgres. One byte of 256 values divides evenly by 64.
  partition       smallint generated always as (get_byte(decode(md5(platform || ':' || name), 'hex'), 0) % 64) stored,
  -- the newest message that asks for a turn: messages can wait only if it is above settled_to
  due_to          bigint not null default 0,
  -- since when `is_private` has its value, by the platform's clock where it tells that; null: always, as far as is known
  privacy_from    timestamptz,
  privacy_after   bigint not null default 0, -- the newest entry when that became known
  unique (platform, name),
  check (settled_to <= last_seq and covered_to <= last_seq and omitted_to <= last_seq),
  constraint channels_model_has_time check ((chosen_model is null) = (chosen_at is null))
);
create index channels_gone on channels (id) where gone_at is not null;
create index channels_threads on channels (platform, (place->'parent'->>'id')) where kind = 'thread';
-- Only columns that never change: an index on the watermarks would make each turn write to every index of the row.
create index channels_in_partition on channels (partition);

-- Refuses that a watermark or an epoch falls: each trigger says which.
create function refuse_fall() returns trigger language plpgsql as $$
begin
  raise exception 'a watermark or an epoch of % % must not fall', tg_table_name,
    coalesce(to_jsonb(old)->>'id', to_jsonb(old)->>'shard') using errcode = 'WE001';
end $$;
create trigger channels_refuse_fall before update on channels for each row
  when (new.last_seq < old.last_seq or new.settled_to < old.settled_to or new.covered_to < old.covered_to
        or new.omitted_to < old.omitted_to or new.epoch < old.epoch)
  execute function refuse_fall();

-- The fence: only the daemon with the latest epoch, the channel's owner, writes its turns. This function alone raises WE002; every
-- writer of an owner calls it, directly or through a trigger. It locks the channel's row against a takeover until the transaction ends.
-- p_lock: 'key share' blocks no append; 'share' also blocks edits and deletions; 'no key update' is for callers that append.
create function assert_epoch(p_channel bigint, p_epoch bigint, p_lock text) returns void language plpgsql as $$
declare v_epoch bigint;
begin
  case p_lock
    when 'key share' then select epoch into v_epoch from channels where id = p_channel for key share;
    when 'share' then select epoch into v_epoch from channels where id = p_channel for share;
    when 'no key update' then select epoch into v_epoch from channels where id = p_channel for no key update;
  end case;
  if v_epoch is distinct from p_epoch then
    raise exception 'epoch % of channel % is over', p_epoch, p_channel using errcode = 'WE002';
  end if;
end $$;

-- Locks the channel's row for its owner as an append does, and refuses every other daemon.
create function lock_owned(p_channel bigint, p_epoch bigint) returns void language plpgsql as $$
begin
  perform assert_epoch(p_channel, p_epoch, 'no key update');
end $$;

-- Refuses writes of a daemon that has lost the channel. It takes the weakest lock, so that a note about a delivery blocks no append.
create function refuse_old_epoch() returns trigger language plpgsql as $$
begin
  perform assert_epoch(new.channel_id, new.epoch, 'key share');
  return new;
end $$;

-- A daemon that takes a channel waits for all writers that have read the old epoch: FOR UPDATE conflicts with the lock of each.
create function channels_await_writers() returns trigger language plpgsql as $$
begin
  perform from channels where id = old.id for update;
  return new;
end $$;
create trigger channels_await_writers before update on channels
  for each row when (old.epoch <> new.epoch) execute function channels_await_writers();

-- Returns the channel that a thread belongs to; null: it is no thread, or its channel is unknown.
create function parent_channel(p_channel bigint) returns bigint language sql stable as $$
  select p.id from channels t join channels p on p.platform = t.platform and p.name = t.place->'parent'->>'id'
   where t.id = p_channel and t.kind = 'thread'
$$;

-- Returns the threads of a channel.
create function thread_channels(p_channel bigint) returns setof bigint language sql stable as $$
  select t.id from channels p
    join channels t on t.kind = 'thread' and t.platform = p.platform and t.place->'parent'->>'id' = p.name
   where p.id = p_channel and t.id <> p.id
$$;

-- Dates a change of a channel's privacy: by the time that its platform tells, else by the present. Times are cut to whole
-- milliseconds, which is what platforms have.
create function channels_date_privacy() returns trigger language plpgsql as $$
begin
  new.privacy_after := new.last_seq;
  if new.privacy_from is not distinct from old.privacy_from then
    new.privacy_from := date_trunc('milliseconds', clock_timestamp());
  end if;
  return new;
end $$;
create trigger channels_date_privacy before update of is_private, privacy_from on channels
  for each row when (old.is_private is distinct from new.is_private or old.privacy_from is distinct from new.privacy_from)
  execute function channels_date_privacy();

-- Numbers the people of one name in a channel, in the order in which they first spoke: the second is shown as "Ann (2)". A number
-- never changes, so that a line never reads differently later.
create table speakers (
  channel_id bigint  not null references channels (id) on delete cascade,
  name       text    not null,
  author_id  text    not null,
  number     integer not null check (number > 0),
  primary key (channel_id, name, author_id),
  unique (channel_id, name, number)
);

-- Returns an author's number among those of the same name in a channel, from 1. The first call assigns it. Two concurrent first
-- calls may choose the same number: the unique key refuses one of them, and its loop tries again.
create function speaker_number(p_channel bigint, p_name text, p_author text) returns integer language plpgsql as $$
declare v_number integer;
begin
  loop
    select s.number into v_number from speakers s where s.channel_id = p_channel and s.name = p_name and s.author_id = p_author;
    if found then return v_number; end if;
    insert into speakers (channel_id, name, author_id, number)
    select p_channel, p_name, p_author, coalesce(max(s.number), 0) + 1 from speakers s
     where s.channel_id = p_channel and s.name = p_name
    on conflict do nothing;
  end loop;
end $$;
