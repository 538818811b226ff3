insert into subagents (channel_id, number, turn_id, epoch, agent, call_id, asked_seq, read_to, task, tools)
values ($channel, $n + 1, $turn, 1, 'main', 'spawn-$n', 3, 3, 'find $word', '{}');
