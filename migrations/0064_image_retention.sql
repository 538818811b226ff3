-- How long the pictures of messages are kept, where the configuration says so. Their texts, which name them, stay.

-- Up to where the entries of a channel are covered by a summary, and nobody waits for an answer to them.
create function done_to(p_channel bigint) returns bigint language sql stable as $$
  select least(c.covered_to, (select min(e.seq) - 1 from entries e
                               where e.channel_id = c.id and e.addressed and e.seq > c.settled_to))
    from channels c where c.id = p_channel
$$;

-- Looks at the p_limit pictures behind one in the order of their key, and lets those of them go that were kept before p_before and whose
-- message is as old, covered and answered, wherever it stands: the first one of a thread stands in two channels.
-- Returns the last one that was looked at, and how many went; no row: there is none behind.
create function expire_images(p_before timestamptz, p_limit integer, p_platform text, p_message text, p_number integer)
returns table (platform text, message_id text, number integer, expired bigint) language sql as $$
  with looked as materialized (
    select i.platform, i.message_id, i.number, i.kept_at from images i
     where (i.platform, i.message_id, i.number) > (p_platform, p_message, p_number)
     order by i.platform, i.message_id, i.number limit p_limit
  ), gone as (
    delete from images i using looked l
     where (i.platform, i.message_id, i.number) = (l.platform, l.message_id, l.number)
       -- Those of a running turn end with it.
       and l.platform <> 'weir' and l.kept_at < p_before
       and not exists (
         select from entries e join channels c on c.id = e.channel_id and c.platform = l.platform
          where e.message_id = l.message_id and e.deleted_at is null and (e.at >= p_before or e.seq > done_to(c.id)))
    returning i.number
  )
  select l.platform, l.message_id, l.number, (select count(*) from gone)
    from looked l order by l.platform desc, l.message_id desc, l.number desc limit 1
$$;
