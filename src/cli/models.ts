import { nearestName } from "../config/nearest-name.ts";
import { OperatorError } from "../core/errors.ts";
import type { LearnedModel } from "../llm/catalog/learned-models.ts";
import { describeRefused, type Refused } from "../llm/dialect.ts";
import { lessonPlaces } from "../llm/model-provider.ts";
import type { Store } from "../store/store.ts";
import { displayableLine } from "../text/displayable.ts";
import { formatNumber } from "../text/format.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type ModelsOptions = CommonOptions & { readonly forget?: string; readonly json?: boolean };

/** The learned facts of a model, under its full name. */
interface Known {
  readonly name: string;
  /** As its server calls it. */
  readonly model: string;
  /** Its server, as the database has it. */
  readonly key: string;
  readonly learned: LearnedModel | undefined;
  readonly refused: readonly Refused[];
}

/**
 * `weir models`: the learned facts of the models at the configured servers. It asks no daemon and no server.
 * @throws OperatorError if nothing was learned about the model to forget
 */
export async function showModels(io: Io, options: ModelsOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  await assertHasRun(config);
  await withStore(io, config, async (store) => {
    const known = await knownOf(store, lessonPlaces(config.llm));
    if (options.forget !== undefined) {
      await forgetModel(store, known, options.forget);
      const until = "A daemon that runs knows it until it is restarted.";
      return say(io, `What was learned of ${displayableLine(options.forget)} is forgotten. ${until}`);
    }
    if (options.json === true) {
      for (const { name, learned, refused } of known)
        sayJson(io, { name, window: learned?.window ?? null, factor: learned?.factor ?? null, refused });
      return;
    }
    if (known.length === 0) return say(io, "Nothing was learned of any model yet.");
    for (const one of known) say(io, describeKnown(one));
    say(
      io,
      `\`${weirCommand("models --forget NAME")}\` has a model begin anew, from the next start of the daemon on.`,
    );
  });
}

/** The learned facts of some servers, by the full names of models. */
export async function knownOf(
  { learnedModels, refusedFields }: Pick<Store, "learnedModels" | "refusedFields">,
  places: ReturnType<typeof lessonPlaces>,
): Promise<readonly Known[]> {
  const all = await Promise.all(
    places.map(async ({ prefix, key }) => {
      const [learned, refused] = await Promise.all([learnedModels.load(key), refusedFields.load(key)]);
      const models = new Set([...learned, ...refused].map(({ model }) => model));
      return Array.from(models, (model): Known => ({
        name: `${prefix}${model}`,
        model,
        key,
        learned: learned.find((one) => one.model === model),
        refused: refused.filter((one) => one.model === model).map((one) => one.refused),
      }));
    }),
  );
  return all.flat().toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** A line for the model, and one for each learned fact. Pure. */
export function describeKnown({ name, learned, refused }: Known): string {
  const { window = null, factor = null } = learned ?? {};
  const facts = [
    ...(window === null
      ? []
      : [
          `window ${formatNumber(window.tokens)} tokens (${window.source}), until ${window.until.toISOString().slice(0, 10)}`,
        ]),
    ...(factor === null ? [] : [`${factor.toFixed(2)} real tokens for each estimated one`]),
    ...refused.map((one) => {
      const reason = [one.status, one.code].filter((part) => part !== null && part !== "").join(" ");
      return `${describeRefused(one)}${reason === "" ? "" : ` (refused: ${reason})`}`;
    }),
  ];
  return [displayableLine(name), ...facts.map((fact) => `  ${displayableLine(fact)}`)].join("\n");
}

/** @throws OperatorError if nothing was learned of it */
export async function forgetModel(
  { learnedModels, refusedFields }: Pick<Store, "learnedModels" | "refusedFields">,
  known: readonly Known[],
  name: string,
): Promise<void> {
  const one = known.find((candidate) => candidate.name === name);
  if (one === undefined) {
    const names = known.map((candidate) => candidate.name);
    const near = nearestName(name, names);
    const hint =
      near === null
        ? `\`${weirCommand("models")}\` lists those of which something was.`
        : `Did you mean ${near}?`;
    throw new OperatorError(`Nothing was learned of a model ${JSON.stringify(name.slice(0, 200))}. ${hint}`);
  }
  await learnedModels.forget(one.key, one.model);
  await refusedFields.forget(one.key, one.model);
}
