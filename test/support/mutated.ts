import type { Random } from "../fuzz/random.ts";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export const HUGE = "x".repeat(100_000);
const DEEP: Json = JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`);
const SCALARS: readonly Json[] = [null, 0, -1, 1e308, true, "", "not what it was", HUGE];
const WRONG = [...SCALARS, DEEP, [], {}, [null], [[{}]], { toString: 1, id: {} }, { length: 3 }];

/** A wire value with one to three parts removed or replaced by another kind. */
export function mutated(random: Random, value: Json): Json {
  const box: { value: Json } = { value: structuredClone(value) };
  for (let changes = random.int(1, 3); changes > 0; changes--) {
    if (!hasParts(box.value)) break;
    changeOne(random, box);
  }
  return box.value ?? null;
}

function changeOne(random: Random, box: object): void {
  let holder = box;
  for (;;) {
    const key = random.pick(Object.keys(holder));
    const inner: unknown = Reflect.get(holder, key);
    if (hasParts(inner) && random.chance(0.8)) {
      holder = inner;
      continue;
    }
    if (random.chance(0.25)) Reflect.deleteProperty(holder, key);
    else Reflect.set(holder, key, structuredClone(random.pick(WRONG)));
    return;
  }
}

function hasParts(value: unknown): value is object {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
