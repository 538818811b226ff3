with made as (
  insert into approvals (channel_id, turn_id, call_id, agent, tool, state, arguments, fingerprint, expires_at)
  values ($channel, $turn, 'call-$n', 'main', 'open', 'done', '{"code":"$word"}', 'f', now()) returning id)
insert into approval_rules (channel_id, agent, tool, arguments, fingerprint, approval_id)
select $channel, 'main', 'open', '{"code":"$word"}', 'f$n', id from made;
