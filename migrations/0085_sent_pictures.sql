-- An agent sends a picture of a tool's result as a file behind its answer: the pictures of a turn stay until its answer is sent, or until
-- no call of `attach` that it has asked an approval for can send one.

-- Deletes the pictures of a channel's results that nothing needs any more.
create function drop_result_images(p_channel bigint) returns void language sql as $$
  delete from images i using turns t
   where i.platform = 'weir' and i.message_id = t.id::text and t.channel_id = p_channel and t.state <> 'running'
     and not exists (select from deliveries d where d.turn_id = t.id and d.state = 'pending')
     and not exists (
       select from approvals a
        where a.turn_id = t.id and a.tool = 'attach' and (
          a.state in ('open', 'allowed', 'running')
          -- The turn that has run it is a later one, which is not noted.
          or a.state = 'done' and (
            exists (select from deliveries d where d.channel_id = p_channel and d.state = 'pending')
            or exists (select from turns l where l.channel_id = p_channel and l.state = 'running'))))
$$;

create or replace function turns_drop_images() returns trigger language plpgsql as $$
begin
  -- Most turns have none, and need no more than this look.
  if exists (select from images i where i.platform = 'weir') then perform drop_result_images(new.channel_id); end if;
  return null;
end $$;
drop trigger turns_drop_images on turns;
-- Deferred: the transaction that settles a turn makes the rows of its deliveries afterwards.
create constraint trigger turns_drop_images after update of state on turns deferrable initially deferred
  for each row when (old.state = 'running' and new.state <> 'running') execute function turns_drop_images();
create trigger deliveries_drop_images after update of state on deliveries
  for each row when (old.state = 'pending' and new.state <> 'pending') execute function turns_drop_images();
create trigger approvals_drop_images after update of state on approvals
  for each row when (old.tool = 'attach' and old.state in ('open', 'allowed', 'running') and new.state not in ('open', 'allowed', 'running'))
  execute function turns_drop_images();

-- Nobody can say whether a picture shows retracted words. So all pictures of a turn are deleted with the words of one of its calls or
-- results, and with a message that it answers, also once it has ended.
create or replace function entries_drop_images() returns trigger language plpgsql as $$
begin
  if new.kind = 'user' then
    delete from images i using turns t
     where t.channel_id = new.channel_id and new.seq between t.from_seq and t.to_seq
       and i.platform = 'weir' and i.message_id = t.id::text;
  else
    delete from images i where i.platform = 'weir' and i.message_id = new.turn_id::text;
  end if;
  return null;
end $$;
