-- A channel may be answered with another model than its agent's, by an owner's word. A name that the configuration does not have any more
-- stays, is not used, and is told of once.

alter table channels add column chosen_model text check (chosen_model <> ''), add column chosen_by text,
                     add column chosen_at timestamptz,
                     add column model_loss_told boolean not null default false, add column model_losses integer not null default 0,
                     add constraint channels_model_has_time check ((chosen_model is null) = (chosen_at is null));
comment on column channels.chosen_model is 'as the configuration names it; null: its agent''s';
comment on column channels.chosen_by is 'the platform''s id of who chose it';
comment on column channels.model_losses is 'how often the channel was told that it lost a model';
comment on column channels.model_loss_told is 'the channel was told that the configuration does not have it any more';
