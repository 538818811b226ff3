/**
 * Names a feature (`src/features`), with the types of what it offers: to commands and the daemon its service, to tools its kit of
 * one turn. Rooms below the features hand both on without knowing them.
 */
export interface FeatureKey<Service, Kit = null> {
  readonly name: string;
  /** Only for the types: it has no value. */
  readonly types?: readonly [Service, Kit];
}

/** @throws if the feature is not part of this Weir */
export type ServiceOf = <Service>(key: FeatureKey<Service, unknown>) => Service;

/** @throws if the feature is not part of this Weir */
export type KitOf = <Kit>(key: FeatureKey<unknown, Kit>) => Kit;
