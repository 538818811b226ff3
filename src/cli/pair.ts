import { listRequests, NO_SUCH_CODE } from "../features/pairing/command.ts";
import type { Config } from "../config/config.ts";
import { type ChatPlatform, CHAT_PLATFORMS, chatPlatform, platformRow } from "../platforms/platforms.ts";
import { OperatorError } from "../core/errors.ts";
import { describeStranger, letInByCode } from "../features/pairing/pairing-desk.ts";
import {
  OPERATOR,
  type PairedPerson,
  PairingStore,
  type PlatformPerson,
} from "../features/pairing/pairing-store.ts";
import type { KnownPerson } from "../store/deletion/personal-data.ts";
import type { Database } from "../store/database/database.ts";
import type { Store } from "../store/store.ts";
import { displayableLine } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import { type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { assertHasRun, firstTimeFormat, withStore } from "./shared/open.ts";
import { MOST_PEOPLE, nearestPeople, parsePerson } from "./forget-user.ts";
import { nearestName } from "../config/nearest-name.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type PairOptions = CommonOptions & {
  /** `platform:id` of who is to be let in no longer. */
  readonly remove?: string;
  /** Id of who is let in without a code. */
  readonly user?: string;
  /** Of `user`. */
  readonly platform?: string;
  readonly json?: boolean;
};

const SHOWN = 40;

/**
 * `weir pair`: lists requests for direct messages, and paired people; with a code or `--user` it lets a person in, with
 * `--remove` it reverts that. A running daemon follows within a second or two.
 * @throws OperatorError if no request has the code, no person of that id was let in, or the id is not a person's
 */
export async function pair(io: Io, code: string | undefined, options: PairOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  const { remove, user, platform, json = false } = options;
  if ([code, remove, user].filter((one) => one !== undefined).length > 1)
    throw new OperatorError("Say a code, or --user and an id, or --remove and a person: one of them.");
  if (platform !== undefined && user === undefined)
    throw new OperatorError("--platform says where --user has the id: say --user, too.");
  const person = user === undefined ? null : readUser(user, platform, config);
  await assertHasRun(config);
  const work = async ({ people }: Store, database: Database): Promise<void> => {
    const pairing = new PairingStore(database);
    if (code !== undefined) return letIn(io, pairing, code);
    if (person !== null) return letInById(io, config, { people, pairing }, person);
    return remove === undefined
      ? list(io, config, pairing, json)
      : takeOut(io, config, pairing, parsePlatformPerson(remove));
  };
  const isLooking = (code ?? user ?? remove) === undefined;
  await withStore(io, config, work, isLooking ? "reader" : "asker");
}

async function letIn(io: Io, pairing: PairingStore, code: string): Promise<void> {
  const request = await letInByCode(pairing, code, null, OPERATOR);
  if (request === null)
    throw new OperatorError(`${NO_SUCH_CODE} \`${weirCommand("pair")}\` lists who waits.`);
  say(
    io,
    `${describeStranger(request)} is let in. A daemon that runs knows it within a second or two, and tells them.`,
  );
}

async function letInById(
  io: Io,
  config: Config,
  store: AskingPeople & { readonly pairing: PairingStore },
  person: PlatformPerson,
): Promise<void> {
  const shown = displayableLine(`${person.platform}:${person.person}`);
  if (!isIdOfPerson(person)) throw new OperatorError(await whyNobody(store, person));
  if (namedInConfig(config, person)) return say(io, `${shown} needs no letting in: ${WHERE_NAMED} has them.`);
  if (await store.pairing.letInById(person, OPERATOR))
    say(io, `${shown} is let in. A daemon that runs knows it within a second or two.`);
  else say(io, `${shown} was let in before.`);
  for (const line of uncounted(config)) say(io, line);
}

interface AskingPeople {
  readonly pairing: Pick<PairingStore, "open">;
  readonly people: Pick<Store["people"], "known">;
}

/** Why an id fits no person, with the likely candidates. */
export async function whyNobody(store: AskingPeople, { platform, person }: PlatformPerson): Promise<string> {
  const row = platformRow(platform);
  const what = `${displayableLine(person)} is no id of a person on ${row?.title ?? platform}.`;
  const upper = { platform, person: person.toUpperCase() };
  if (isIdOfPerson(upper)) return `${what} Did you mean ${upper.person}?`;
  const [near] = await peopleLike(store, { platform, person });
  if (near !== undefined)
    return `${what} Did you mean ${displayableLine(`${near.id} (${near.name})`)}? A name is not enough: anybody may take one.`;
  return `${what} Where it stands: ${row?.questions.personHint ?? "the platform shows it"}.`;
}

/** People of that platform who ask to be let in or are known, and whose id or name is near. */
async function peopleLike(
  { pairing, people }: AskingPeople,
  { platform, person }: PlatformPerson,
): Promise<readonly KnownPerson[]> {
  const asking = (await pairing.open(platform)).map((one) => {
    return { platform, id: one.person, name: one.name, messages: 0 };
  });
  return nearestPeople(person, [...asking, ...(await people.known(platform, null, MOST_PEOPLE))]);
}

export function isIdOfPerson({ platform, person }: PlatformPerson): boolean {
  const row = platformRow(platform);
  return row !== undefined && row.ids.test(person) && row.questions.person.test(person);
}

/**
 * The person of `--user` and `--platform`: `1234`, `<@1234>` or `discord:1234`. Pure.
 * @throws OperatorError
 */
export function readUser(
  user: string,
  platform: string | undefined,
  { platforms }: { readonly platforms: Readonly<Record<ChatPlatform, unknown>> },
): PlatformPerson {
  const { platform: before, called: person } = parsePerson(user);
  const named = platform?.trim().toLowerCase();
  if (before !== null && named !== undefined && before !== named)
    throw new OperatorError(`--user says ${before}, and --platform ${displayableLine(named)}: which one?`);
  const on = CHAT_PLATFORMS.filter((one) => platforms[one] !== null);
  const wanted = named ?? before;
  if (wanted !== null && !on.some((one) => one === wanted)) {
    const near = chatPlatform(wanted) === undefined ? nearestName(wanted, CHAT_PLATFORMS) : null;
    const what = `${displayableLine(wanted)} is no platform that is set up here`;
    const which = on.length === 0 ? "none is" : `${on.join(" and ")} ${on.length === 1 ? "is" : "are"}`;
    throw new OperatorError(`${what}: ${which}.${near === null ? "" : ` Did you mean ${near}?`}`);
  }
  const [only, ...others] = on;
  const found = wanted ?? (others.length === 0 ? only : undefined);
  if (found === undefined)
    throw new OperatorError(
      on.length === 0
        ? "No platform is set up here on which somebody could be let in: docs/quick-start.md."
        : `Say on which platform: ${on.map((one) => `--platform ${one}`).join(", or ")}.`,
    );
  if (person === "") throw new OperatorError(`--user takes an id, as ${found}:1234.`);
  return { platform: found, person };
}

async function takeOut(io: Io, config: Config, pairing: PairingStore, person: PlatformPerson): Promise<void> {
  const shown = displayableLine(`${person.platform}:${person.person}`);
  const isNamed = namedInConfig(config, person);
  if (!(await pairing.remove(person))) {
    const hint = isNamed
      ? `config.toml names them: ${WHERE_NAMED}.`
      : `\`${weirCommand("pair")}\` lists who was.`;
    throw new OperatorError(`${shown} was not let in by a code. ${hint}`);
  }
  say(
    io,
    `${shown} is let in no longer, and their reminders in direct messages are over. What was said stays in the log.`,
  );
  if (isNamed) say(io, `But config.toml names them still: ${WHERE_NAMED}.`);
}

const WHERE_NAMED = "allow or owners of the platform";

function namedInConfig({ platforms }: Config, { platform, person }: PlatformPerson): boolean {
  const chat = chatPlatform(platform);
  const { allow = [], owners = [] } = chat === undefined ? {} : (platforms[chat] ?? {});
  return allow.includes(person) || owners.includes(person);
}

/** `discord:1234`. Pure. @throws OperatorError */
function parsePlatformPerson(typed: string): PlatformPerson {
  const [, platform, person] = /^([a-z]+):(\S+)$/.exec(typed.trim()) ?? [];
  if (platform !== undefined && person !== undefined) return { platform, person };
  throw new OperatorError(
    `--remove takes the platform and the id of a person, as discord:1234. \`${weirCommand("pair")}\` lists them.`,
  );
}

async function list(io: Io, config: Config, pairing: PairingStore, isJson: boolean): Promise<void> {
  const [requests, people] = await Promise.all([pairing.open(null), pairing.people()]);
  if (isJson) return sayJson(io, { requests, people }, 2);
  say(io, listRequests(requests, weirCommand));
  const time = firstTimeFormat(config);
  for (const line of describePeople(people, time)) say(io, line);
  for (const line of uncounted(config)) say(io, line);
}

/** On which platforms letting in changes nothing. */
function uncounted({ platforms }: Config): string[] {
  return CHAT_PLATFORMS.flatMap((platform) => {
    const policy = platforms[platform]?.dm ?? "pairing";
    return policy === "pairing" ? [] : [`This counts for nothing on ${platform}: its dm is "${policy}".`];
  });
}

function describePeople(people: readonly PairedPerson[], time: TimeFormat): string[] {
  if (people.length === 0) return ["Nobody was let in by a code yet."];
  const lines = people
    .slice(0, SHOWN)
    .map(({ platform, person, since, letInBy }) =>
      displayableLine(`  ${platform}:${person}  since ${time.full(since)}, by ${letInBy}`),
    );
  const left = people.length - SHOWN;
  return ["Let in:", ...lines, ...(left > 0 ? [`  and ${left} more: --json lists all`] : [])];
}
