insert into notes (channel_id, turn_id, agent, file, text, read_to)
values ($channel, $turn, 'main', 'notes.md', 'it is $word', 3);
