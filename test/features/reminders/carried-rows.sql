insert into reminders (channel_id, time_zone, text, next_at, asked_key, asked_seq, turn_id, run, call_id, read_to)
values ($channel, 'UTC', 'ask for $word', now() + interval '1 day', 'key-$n', 3, $turn, 'r', 'c', 3);
