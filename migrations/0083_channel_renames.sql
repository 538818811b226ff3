-- Other ids of channels: a platform may give a channel another id, and everything that the log has of the channel keeps the first.

create table channel_renames (
  platform text not null,
  id       text not null, -- as the platform calls the channel since then
  first_id text not null, -- by which the log has the channel, its threads and its messages
  noted_at timestamptz not null default clock_timestamp(),
  primary key (platform, id)
);

-- Notes another id of a channel, once, unless the log has messages under that id already. A channel that the log does not have needs none.
create function rename_channel(p_platform text, p_from text, p_to text) returns void language plpgsql as $$
declare v_first text := coalesce((select r.first_id from channel_renames r where r.platform = p_platform and r.id = p_from), p_from);
begin
  if p_to = v_first or exists (select from channels c where c.platform = p_platform and c.name = p_to and c.last_seq > 0)
     or not exists (select from channels c where c.platform = p_platform
                      and (c.name = v_first or (c.kind = 'thread' and c.place->'parent'->>'id' = v_first)))
  then return; end if;
  insert into channel_renames (platform, id, first_id) values (p_platform, p_to, v_first) on conflict do nothing;
end $$;
