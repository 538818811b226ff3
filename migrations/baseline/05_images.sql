-- Pictures of people's messages, kept because the platforms' links to them expire, and of tools' results.
-- Those of messages belong to a message of the platform and not to one channel's entry: the first message of a thread stands in two
-- channels. Those of results are kept while their turn runs, so that a turn that begins again after a crash shows them again: their
-- `platform` is 'weir', `message_id` the turn's number, and `name` the seq of the result.

create table images (
  platform   text    not null,
  message_id text    not null,
  number     integer not null check (number >= 0),
  name       text    not null,
  type       text    not null,
  bytes      bytea   not null,
  kept_at    timestamptz not null default now(),
  primary key (platform, message_id, number)
);
-- The pictures are compressed already.
alter table images alter column bytes set storage external, alter column name set statistics 0;

-- Appends a turn's entries with the pictures of its results.
-- p_images: [{entry, type}], by place among the entries, from 0; p_bytes: their bytes, in the same order.
create function append_turn_images(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_after bigint, p_at timestamptz, p_entries jsonb,
  p_images jsonb, p_bytes bytea[],
  out first_seq bigint
) language plpgsql as $$
declare v_known integer;
begin
  select a.first_seq into first_seq from append_turn_entries(p_channel, p_epoch, p_turn, p_after, p_at, p_entries) a;
  select count(*) into v_known from images i where i.platform = 'weir' and i.message_id = p_turn::text;
  insert into images (platform, message_id, number, name, type, bytes)
  select 'weir', p_turn::text, v_known + i.place - 1, (append_turn_images.first_seq + (i.image->>'entry')::bigint)::text,
         i.image->>'type', p_bytes[i.place]
    from jsonb_array_elements(p_images) with ordinality i (image, place);
end $$;

-- A turn's pictures are deleted when it ends: no request of a later turn shows them.
create function turns_drop_images() returns trigger language plpgsql as $$
begin
  delete from images i where i.platform = 'weir' and i.message_id = new.id::text;
  return null;
end $$;
create trigger turns_drop_images after update of state on turns
  for each row when (old.state = 'running' and new.state <> 'running') execute function turns_drop_images();

-- Nobody can say whether a picture shows retracted words. So all pictures of a turn are deleted with the words of one of its calls or
-- results, and with a message that it answers.
create function entries_drop_images() returns trigger language plpgsql as $$
begin
  if new.kind = 'user' then
    delete from images i using turns t
     where t.channel_id = new.channel_id and t.state = 'running' and new.seq between t.from_seq and t.to_seq
       and i.platform = 'weir' and i.message_id = t.id::text;
  else
    delete from images i where i.platform = 'weir' and i.message_id = new.turn_id::text;
  end if;
  return null;
end $$;
create trigger entries_drop_images after update on entries
  for each row when (new.kind in ('tool_call', 'tool_result')
                     or (new.kind = 'user' and old.deleted_at is null and new.deleted_at is not null))
  execute function entries_drop_images();

-- Looks at the p_limit pictures behind one in the order of their key, and deletes those that were kept before p_before and whose
-- message is as old, covered and answered in every channel in which it stands. Pictures of running turns stay.
-- Returns the last one that was looked at, and how many were deleted; no row: there is none behind.
create function expire_images(p_before timestamptz, p_limit integer, p_platform text, p_message text, p_number integer)
returns table (platform text, message_id text, number integer, expired bigint) language sql as $$
  with looked as materialized (
    select i.platform, i.message_id, i.number, i.kept_at from images i
     where (i.platform, i.message_id, i.number) > (p_platform, p_message, p_number)
     order by i.platform, i.message_id, i.number limit p_limit
  ), gone as (
    delete from images i using looked l
     where (i.platform, i.message_id, i.number) = (l.platform, l.message_id, l.number)
       and l.platform <> 'weir' and l.kept_at < p_before
       and not exists (
         select from entries e join channels c on c.id = e.channel_id and c.platform = l.platform
          where e.message_id = l.message_id and e.deleted_at is null and (e.at >= p_before or e.seq > done_to(c.id)))
    returning i.number
  )
  select l.platform, l.message_id, l.number, (select count(*) from gone)
    from looked l order by l.platform desc, l.message_id desc, l.number desc limit 1
$$;
