-- How a model's window is known, and until when. A daemon of the version before writes neither: its windows are what a refusal told.
alter table learned_models
  add column window_source text not null default 'told',
  add column window_until timestamptz;
comment on column learned_models.window_source is
  'told: a refusal said it; measured: the server''s counts show it; guessed: larger requests were refused, smaller ones answered';
comment on column learned_models.window_until is 'from then on the window is not believed; null: 30 days after window_at';
