-- What people can see, take along and delete.

-- The platform's id of a message of the log: what it was received with, or, of the agent's own, what it was delivered as.
create function source_message_id(p_entry entries) returns text language sql stable as $$
  select coalesce(p_entry.message_id, (
    select d.message_id from deliveries d
     where d.channel_id = p_entry.channel_id and d.turn_id = p_entry.turn_id and d.entry_seq = p_entry.seq and d.message_id is not null
     order by d.part limit 1))
$$;

-- Requests of command-line programs to forget a person in a channel. A daemon of a version before leaves them alone.
alter table requests add column person text;
alter table requests drop constraint requests_kind_known;
alter table requests add constraint requests_kind_known check (kind in ('compact', 'redo', 'forget')),
                     add constraint requests_forget_has_person check ((kind = 'forget') = (person is not null));
comment on column requests.person is 'the platform''s id of who is to be forgotten in the channel';
