-- Up to when each platform was listened to, so that what is said meanwhile in a channel that the log has nothing of is looked for, too.
create table heard_marks (
  platform text        not null,
  account  text        not null,
  heard_to timestamptz not null,
  primary key (platform, account)
);
comment on column heard_marks.account is 'the bot as whom Weir listens, by the platform''s id';
comment on column heard_marks.heard_to is 'everything that was said to it before is in the log, or on record as missing';

-- A reaction may be given, taken back and given again: those under one message are looked up by it.
create index entries_reactions on entries (reply_to) where message_id like 'reaction/%';

-- A channel that was deleted on its platform: its messages were deleted with it, and go batch by batch, whatever comes between.
alter table channels add column gone_at timestamptz;
comment on column channels.gone_at is 'deleted on its platform: the texts that people said there go';
create index channels_gone on channels (id) where gone_at is not null;
create index channels_threads on channels (platform, (place->'parent'->>'id')) where kind = 'thread';
