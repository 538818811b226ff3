-- What people can see, take along and delete.

-- The platform's id of a message of the log: what it was received with, or, of the agent's own, what it was delivered as.
create function source_message_id(p_entry entries) returns text language sql stable as $$
  select coalesce(p_entry.message_id, (
    select d.message_id from deliveries d
     where d.channel_id = p_entry.channel_id and d.turn_id = p_entry.turn_id and d.entry_seq = p_entry.seq and d.message_id is not null
     order by d.part limit 1))
$$;
