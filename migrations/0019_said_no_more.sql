-- What was said must not outlive its deletion.

-- Of a failure the kind and the model are kept, and nothing that the provider said; of a skip nothing: a model's words.
alter table turns disable trigger turns_refuse_old_epoch;
update turns t set reason = case when t.state = 'failed' then substring(t.reason from '^[a-z_]+ \([^)]*\)') end
 where t.state = 'skipped' or t.state = 'failed' and t.reason ~ '^[a-z_]+ \(';
alter table turns enable trigger turns_refuse_old_epoch;

-- An answer to a program beside the daemon names the job, whose summary's text is read with it.
update requests set answer = answer - 'text' where answer ? 'text';
