-- A turn begins under a lock that an edit and a deletion wait for, and that waits for them: an edit asks whether a turn has
-- read the text, and a turn that begins meanwhile would read it unseen. A delivery needs no more than the epoch.
create function turns_refuse_old_epoch() returns trigger language plpgsql as $$
declare current_epoch bigint;
begin
  select epoch into current_epoch from channels where id = new.channel_id for share;
  if current_epoch is distinct from new.epoch then
    raise exception 'epoch % of channel % is over', new.epoch, new.channel_id using errcode = 'WE002';
  end if;
  return new;
end $$;
drop trigger turns_refuse_old_epoch on turns;
create trigger turns_refuse_old_epoch before insert or update on turns for each row execute function turns_refuse_old_epoch();
