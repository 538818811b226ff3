-- Since when a channel is private or public: what is shared with its workspace follows from when it was said.

alter table channels add column privacy_from timestamptz, add column privacy_after bigint not null default 0;
comment on column channels.privacy_from is 'since when `is_private` says so, by the platform''s clock where it tells that; null: always, as far as is known';
comment on column channels.privacy_after is 'the newest entry when that became known';

-- No row says whether a channel was private before. One that shares what it remembers, and has memories that it does not share, may have been.
update channels c set privacy_from = date_trunc('milliseconds', clock_timestamp()), privacy_after = c.last_seq
 where c.is_private = false and c.shares_memory
   and exists (select from memories m where m.channel_id = c.id and m.scope = 'channel');

-- Dates a change of a channel's privacy: by the time that its platform tells, else by now. Whole milliseconds, as platforms have them.
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

-- What a channel has shared is its own again once it is private, and stays so; also where only its end as a private one is heard of.
drop trigger channels_keep_memories on channels;
create trigger channels_keep_memories after update of is_private, privacy_from on channels
  for each row when ((new.is_private and old.is_private is distinct from new.is_private)
                     or (old.is_private = false and new.is_private = false and old.privacy_from is distinct from new.privacy_from))
  execute function channels_keep_memories();
