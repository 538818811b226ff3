-- The log: what was said, by whom, in which order. The truth of Weir; all else can be derived from it.
-- Error classes of our own: WE001 a broken invariant, WE002 a write with an old epoch.

create extension if not exists btree_gist;
create extension if not exists btree_gin;
create extension if not exists pg_trgm;

create table channels (
  id          bigint generated always as identity primary key,
  platform    text   not null check (platform <> ''),
  name        text   not null check (name <> ''),
  kind        text   not null check (kind in ('dm', 'channel', 'thread')),
  workspace   text   not null default '',
  agent       text   not null check (agent <> ''),
  last_seq    bigint not null default 0,
  settled_to  bigint not null default 0,
  covered_to  bigint not null default 0,
  omitted_to  bigint not null default 0,
  epoch       bigint not null default 0,
  fetched_to  text,
  created_at  timestamptz not null default now(),
  unique (platform, name),
  check (settled_to <= last_seq and covered_to <= last_seq and omitted_to <= last_seq)
);
comment on column channels.settled_to is 'every addressed message up to here has been answered, skipped, stopped or failed with a word';
comment on column channels.covered_to is 'live summaries tile 1..covered_to';
comment on column channels.omitted_to is 'entries in covered_to+1..omitted_to are left out of the view by emergency';
comment on column channels.epoch is 'raised when a daemon takes the channel; its actor''s writes carry it';
comment on column channels.fetched_to is 'the platform''s message id up to which no gap is open';

create function channels_refuse_fall() returns trigger language plpgsql as $$
begin
  if new.last_seq < old.last_seq or new.settled_to < old.settled_to or new.covered_to < old.covered_to
     or new.omitted_to < old.omitted_to or new.epoch < old.epoch then
    raise exception 'a watermark of channel % must not fall', old.id using errcode = 'WE001';
  end if;
  return new;
end $$;
create trigger channels_refuse_fall before update on channels for each row execute function channels_refuse_fall();

create table turns (
  id          bigint generated always as identity primary key,
  channel_id  bigint not null references channels,
  epoch       bigint not null,
  from_seq    bigint not null,
  to_seq      bigint not null,
  state       text   not null default 'running'
              check (state in ('running', 'answered', 'skipped', 'stopped', 'failed')),
  attempts    integer not null default 1 check (attempts >= 1),
  reason      text,
  model_ms    integer,
  started_at  timestamptz not null default now(),
  settled_at  timestamptz,
  check (from_seq <= to_seq),
  check ((state = 'running') = (settled_at is null))
);
create unique index turns_one_running on turns (channel_id) where state = 'running';
create index turns_of_channel on turns (channel_id, to_seq);
comment on table turns is 'a turn owns the messages from_seq..to_seq that were due when it began, and settles them at once';

create table entries (
  channel_id  bigint not null references channels,
  seq         bigint not null check (seq >= 1),
  kind        text   not null check (kind in ('user', 'assistant', 'tool_call', 'tool_result', 'notice')),
  at          timestamptz not null,
  text        text   not null,
  tokens      integer not null check (tokens >= 0),
  addressed   boolean not null default false,
  author_id   text,
  author_name text,
  author_bot  boolean,
  message_id  text,
  reply_to    text,
  turn_id     bigint references turns,
  after_seq   bigint,
  epoch       bigint,
  data        jsonb,
  appended_at timestamptz not null default clock_timestamp(),
  deleted_at  timestamptz,
  primary key (channel_id, seq),
  check ((kind = 'user') = (author_id is not null and author_name is not null and message_id is not null)),
  check ((turn_id is null) = (after_seq is null)),
  check (turn_id is null or epoch is not null),
  check (kind not in ('assistant', 'tool_call', 'tool_result') or turn_id is not null),
  check (addressed = false or kind = 'user'),
  check (deleted_at is null or text = '')
);
create unique index entries_message on entries (message_id, channel_id) where message_id is not null;
create index entries_due on entries (channel_id, seq) where addressed;
comment on column entries.at is 'messages: when it was said, by the platform''s clock; all others: when it was appended';
comment on column entries.tokens is 'estimated tokens of the text as a model reads it';
comment on column entries.after_seq is 'the last message of the turn that wrote this: in the view it stands right behind it';
comment on column entries.data is 'tool_call: {calls}; tool_result: {call_id, tool, references}; notice: {edits}; assistant: {stopped}';

create function entries_take_next_seq() returns trigger language plpgsql as $$
begin
  update channels set last_seq = new.seq
   where id = new.channel_id and last_seq = new.seq - 1 and (new.epoch is null or epoch = new.epoch);
  if found then
    return new;
  end if;
  if new.epoch is not null and not exists (select from channels where id = new.channel_id and epoch = new.epoch) then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  raise exception 'entry % is not the next of channel %', new.seq, new.channel_id using errcode = 'WE001';
end $$;
create trigger entries_take_next_seq before insert on entries for each row execute function entries_take_next_seq();

-- Append-only: the one change an entry may see is that its text goes.
create function entries_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.deleted_at is not null and new.text = ''
     and (new.channel_id, new.seq, new.kind, new.at, new.addressed, new.author_id, new.message_id, new.turn_id, new.after_seq)
         is not distinct from
         (old.channel_id, old.seq, old.kind, old.at, old.addressed, old.author_id, old.message_id, old.turn_id, old.after_seq)
  then
    return new;
  end if;
  raise exception 'the log is append-only (entry % of channel %)', old.seq, old.channel_id using errcode = 'WE001';
end $$;
create trigger entries_refuse_change before update or delete on entries for each row execute function entries_refuse_change();

create table revisions (
  channel_id  bigint  not null,
  seq         bigint  not null,
  revision    integer not null check (revision >= 1),
  text        text    not null,
  at          timestamptz not null,
  noted_seq   bigint,
  primary key (channel_id, seq, revision),
  foreign key (channel_id, seq) references entries
);
comment on column revisions.noted_seq is 'a model had read the text before: the view shows the change as the note at this seq';

create function revisions_refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.text = ''
     and (new.channel_id, new.seq, new.revision, new.at, new.noted_seq)
         is not distinct from (old.channel_id, old.seq, old.revision, old.at, old.noted_seq) then
    return new;
  end if;
  raise exception 'the log is append-only (revision % of entry % of channel %)', old.revision, old.seq, old.channel_id
    using errcode = 'WE001';
end $$;
create trigger revisions_refuse_change before update or delete on revisions
  for each row execute function revisions_refuse_change();

-- A turn or a delivery is written by the channel's owner only. FOR SHARE: a takeover waits for us, or we see it.
create function refuse_old_epoch() returns trigger language plpgsql as $$
declare current_epoch bigint;
begin
  select epoch into current_epoch from channels where id = new.channel_id for share;
  if current_epoch is distinct from new.epoch then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  return new;
end $$;
create trigger turns_refuse_old_epoch before insert or update on turns for each row execute function refuse_old_epoch();

create table deliveries (
  id              bigint generated always as identity primary key,
  channel_id      bigint not null references channels,
  turn_id         bigint not null references turns,
  part            integer not null check (part >= 0),
  epoch           bigint not null,
  entry_seq       bigint,
  idempotency_key text   not null unique,
  drafted         boolean not null default false,
  message_id      text,
  state           text   not null default 'pending' check (state in ('pending', 'sent', 'failed')),
  reason          text,
  created_at      timestamptz not null default now(),
  ended_at        timestamptz,
  unique (turn_id, part),
  foreign key (channel_id, entry_seq) references entries,
  check ((state = 'pending') = (ended_at is null)),
  check (state <> 'sent' or (message_id is not null and entry_seq is not null))
);
create index deliveries_pending on deliveries (channel_id) where state = 'pending';
comment on column deliveries.entry_seq is 'the entry whose text is sent; null while its turn is still writing it';
comment on column deliveries.drafted is 'a piece may have been shown under this key: the final text needs an edit as well';
comment on column deliveries.message_id is 'the platform''s id of our message, stored before any edit of it';
create trigger deliveries_refuse_old_epoch before insert or update on deliveries
  for each row execute function refuse_old_epoch();

create table model_calls (
  id                bigint generated always as identity primary key,
  channel_id        bigint not null references channels,
  turn_id           bigint references turns,
  purpose           text   not null check (purpose in ('turn', 'compaction')),
  model             text   not null,
  outcome           text   not null,
  estimated_tokens  integer not null,
  prompt_tokens     integer,
  cached_tokens     integer,
  completion_tokens integer,
  first_token_ms    integer,
  total_ms          integer not null,
  at                timestamptz not null default now()
);
create index model_calls_of_channel on model_calls (channel_id, id);
