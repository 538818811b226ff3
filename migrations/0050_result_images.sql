-- Pictures that tools have brought, beside those of people's messages, for as long as their turn runs: one that begins again after a
-- crash shows them again. Their `platform` is 'weir', `message_id` the turn's number, and `name` the seq of the result.

-- Appends what a turn wrote, with the pictures of its results.
-- p_asked, p_done: as `append_turn_approvals` takes them.
-- p_images: [{entry, type}], by place among the entries, from 0; p_bytes: their bytes, in the same order.
create function append_turn_images(
  p_channel bigint, p_epoch bigint, p_turn bigint, p_after bigint, p_at timestamptz, p_entries jsonb, p_asked jsonb, p_done bigint[],
  p_images jsonb, p_bytes bytea[],
  out first_seq bigint
) language plpgsql as $$
declare v_known integer;
begin
  select a.first_seq into first_seq
    from append_turn_approvals(p_channel, p_epoch, p_turn, p_after, p_at, p_entries, p_asked, p_done) a;
  select count(*) into v_known from images i where i.platform = 'weir' and i.message_id = p_turn::text;
  insert into images (platform, message_id, number, name, type, bytes)
  select 'weir', p_turn::text, v_known + i.place - 1, (append_turn_images.first_seq + (i.image->>'entry')::bigint)::text,
         i.image->>'type', p_bytes[i.place]
    from jsonb_array_elements(p_images) with ordinality i (image, place);
end $$;

-- No request of a later turn shows them.
create function turns_drop_images() returns trigger language plpgsql as $$
begin
  delete from images i where i.platform = 'weir' and i.message_id = new.id::text;
  return null;
end $$;
create trigger turns_drop_images after update of state on turns
  for each row when (old.state = 'running' and new.state <> 'running') execute function turns_drop_images();

-- Nobody can say whether a picture tells what was taken back. So all of a turn's go with the words of one of its calls or results, and
-- with a message that it answers.
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
