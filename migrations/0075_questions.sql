-- A chain of turns: a hand-off and the report of a subagent begin a turn that nobody asked for. The calls of all of them together are bounded.
alter table turns add column question bigint;
comment on column turns.question is 'the turn with which its chain began, which somebody asked for; null: it is that one';
create index turns_of_question on turns (question) where question is not null;
create index model_calls_of_turn on model_calls (turn_id) where turn_id is not null;

-- Calls that a chain of turns and its subagents have taken, as far as they are stored.
create function calls_of_question(p_question bigint) returns integer language sql stable as $$
  select count(*)::integer from model_calls m
   where m.turn_id = any (array(select t.id from turns t where t.id = p_question or t.question = p_question));
$$;
