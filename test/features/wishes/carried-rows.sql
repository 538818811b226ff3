insert into wishes (channel_id, seq, agent, act, topic, asker, wish, quote, at, key_id, signature)
values ($channel, $n + 1, 'main', 'want', 'tone', 'u-ann', 'say $word', '$word', now(), 'k', 's');
