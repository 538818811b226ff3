-- What was spent in a time is looked for in the calls of that time alone.
create index model_calls_by_time on model_calls (at);
