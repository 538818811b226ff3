import { PairingStore } from "../features/pairing/pairing-store.ts";
import leven from "leven";
import { channelTitle } from "../admin/commands/command.ts";
import { forgetAnswer } from "../admin/requests/forget-answer.ts";
import type { Config } from "../config/config.ts";
import { OperatorError } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import { buildDaemon } from "../daemon/daemon.ts";
import { redactPerson } from "../router/redact-messages.ts";
import { mayHaveDaemon } from "../store/database/open.ts";
import type { BorneByPerson, KnownPerson, SpokenPlace } from "../store/deletion/personal-data.ts";
import type { Store } from "../store/store.ts";
import { displayableLine } from "../text/displayable.ts";
import { counted } from "../text/text.ts";
import { ask, assertNoCluster, TIMES } from "../admin/requests/ask-daemon.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { openLog, readConfig, withStore } from "./shared/open.ts";
import { Spinner } from "./shared/progress.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type ForgetUserOptions = CommonOptions & { readonly yes?: boolean };

const SHOWN = 40;
/** People among whom a misspelt one is looked for. */
export const MOST_PEOPLE = 5000;
const SUGGESTED = 5;

export interface NamedPerson {
  readonly platform: string | null;
  /** An id, or a name. */
  readonly called: string;
}

/**
 * `weir forget-user ID`: shows a person's messages on a platform, and with `--yes` deletes all of them. A running daemon does
 * it; without one, this command.
 * @throws OperatorError if there is no such person, or content remains
 */
export async function forgetUser(io: Io, typed: string, options: ForgetUserOptions): Promise<void> {
  const { yes: isDone = false } = options;
  const config = isDone ? readConfig(io, options) : readConfigToLook(io, options);
  const { person, isThere, isPaired } = await withStore(io, config, async (store, database) => {
    const pairing = new PairingStore(database);
    const found = await findPerson({ ...store, pairing }, parsePerson(typed), isDone);
    const { platform, id } = found;
    const places = await store.people.places(platform, id);
    say(io, describePerson(found, places, await store.people.borne(platform, id), isDone));
    const paired = await isPairedOrAsks(pairing, platform, id);
    if (paired)
      say(io, `${isDone ? "Ended is" : "It would also end"} that they were let in to direct messages.`);
    return { person: found, isThere: places.length > 0, isPaired: paired };
  });
  if (!isDone) return;
  // First, so that no new messages of the person are stored during the deletion.
  if (isPaired) {
    const { platform, id } = person;
    await withStore(
      io,
      config,
      async (_, database) => new PairingStore(database).remove({ platform, person: id }),
      "asker",
    );
  }
  if (!isThere) return;
  const asked = await askDaemon(io, config, person);
  const done = asked.isTaken ? asked.forgotten : await forgetHere(io, config, person, asked.forgotten);
  await withStore(io, config, async (store) => tellRest(io, store, person, done));
}

/** `discord:1234`, `<@1234>`, `1234` or a name. Pure. */
export function parsePerson(typed: string): NamedPerson {
  const text = typed.trim();
  const [, platform = null, rest = ""] = /^(?:([a-z]+):)?(.*)$/su.exec(text) ?? [];
  // As Discord and Slack show a mention in a message's source.
  const called = /^<@!?([^|>]+)(?:\|[^>]*)?>$/.exec(rest.trim())?.[1] ?? rest.trim();
  return { platform, called };
}

/**
 * @param isExact a name is not enough, since names can be copied
 * @throws OperatorError with the candidates
 */
async function findPerson(
  store: Pick<Store, "people"> & { readonly pairing: PairingStore },
  { platform, called }: NamedPerson,
  isExact: boolean,
): Promise<KnownPerson> {
  const { people } = store;
  if (called === "") throw new OperatorError(`Say who: \`${weirCommand("forget-user discord:1234")}\`.`);
  const known = await people.known(platform, called, SUGGESTED + 1);
  const byId = known.filter(({ id }) => id === called);
  const [one, ...others] = byId.length > 0 ? byId : known;
  const typed = platform === null ? called : `${platform}:${called}`;
  if (one === undefined) {
    // A paired person may have sent no message yet.
    if (platform !== null && (await isPairedOrAsks(store.pairing, platform, called)))
      return { platform, id: called, name: called, messages: 0 };
    const near = nearestPeople(called, await people.known(platform, null, MOST_PEOPLE));
    const hint = near.length === 0 ? "" : ` Did you mean ${near.map(nameOf).join(", or ")}?`;
    throw new OperatorError(
      `Nobody is known as ${JSON.stringify(displayableLine(typed).slice(0, 80))}.${hint}`,
    );
  }
  if (others.length > 0)
    throw new OperatorError(
      `Several people are ${displayableLine(typed)}: ${[one, ...others].map(nameOf).join(", ")}. Say which, by platform and id.`,
    );
  if (isExact && (byId.length === 0 || platform === null))
    throw new OperatorError(
      `Did you mean ${nameOf(one)}? --yes wants the platform and the id: anybody may take a name.`,
    );
  return one;
}

/** Whether a person was let in to direct messages, or asks for it. */
async function isPairedOrAsks(pairing: PairingStore, platform: string, id: string): Promise<boolean> {
  const all = [...(await pairing.people()), ...(await pairing.open(platform))];
  return all.some((one) => one.platform === platform && one.person === id);
}

export function nearestPeople(typed: string, people: readonly KnownPerson[]): KnownPerson[] {
  const wanted = typed.toLowerCase();
  const most = Math.max(2, Math.floor(wanted.length / 3));
  const distance = (text: string): number => {
    const known = text.toLowerCase();
    return known.startsWith(wanted) ? 0 : leven(wanted, known);
  };
  return people
    .map((person) => ({ person, far: Math.min(distance(person.id), distance(person.name)) }))
    .filter(({ far }) => far <= most)
    .toSorted((a, b) => a.far - b.far)
    .slice(0, SUGGESTED)
    .map(({ person }) => person);
}

function nameOf({ platform, id, name }: KnownPerson): string {
  return displayableLine(`${platform}:${id} (${name})`);
}

/** The content that would be deleted, and that would remain. Pure. */
function describePerson(
  person: KnownPerson,
  places: readonly SpokenPlace[],
  { memories, pictures, summaries }: BorneByPerson,
  isDone: boolean,
): string {
  if (places.length === 0) return `Nothing of ${nameOf(person)} is in the log.`;
  const total = places.reduce((sum, { messages }) => sum + messages, 0);
  const lines = places
    .toSorted((a, b) => b.messages - a.messages)
    .slice(0, SHOWN)
    .map(({ channel, messages }) => {
      const title = channelTitle(channel);
      const address = formatAddress(channel.address);
      return `  ${displayableLine(title === address ? address : `${address}  ${title}`)}: ${counted(messages, "message")}`;
    });
  return [
    `${nameOf(person)}: ${counted(total, "message")} in ${counted(places.length, "channel")}.`,
    ...lines,
    ...(places.length > SHOWN ? [`  and ${places.length - SHOWN} more`] : []),
    `${isDone ? "With them go" : "With them would go"} ${counted(memories, "memory", "memories")} that nobody else bears, ${counted(pictures, "picture")}, ` +
      `and what else tells of them: in other memories, in notes, in arguments of tool calls. ` +
      `Summaries over them, to be written again from what is left: ${summaries}.`,
    "What others and the agent have said stays, and that they wrote, when and under which name. The platform keeps its own copies.",
    ...(isDone
      ? []
      : [
          `To do it: \`${weirCommand(`forget-user ${displayableLine(`${person.platform}:${person.id}`)} --yes`)}\``,
        ]),
  ].join("\n");
}

interface Forgotten {
  readonly messages: number;
  readonly memories: number;
}

/** @returns `isTaken` false: there is no daemon, or none of this version, to do the rest */
async function askDaemon(
  io: Io,
  config: Config,
  { platform, id }: KnownPerson,
): Promise<{ readonly isTaken: boolean; readonly forgotten: Forgotten }> {
  const nothing: Forgotten = { messages: 0, memories: 0 };
  if (!(await mayHaveDaemon(config.database))) return { isTaken: false, forgotten: nothing };
  const work = async (store: Store): Promise<{ isTaken: boolean; forgotten: Forgotten }> => {
    const { people, requests } = store;
    using _line = new Spinner(io.stderr, "Asking the daemon to forget");
    let forgotten = nothing;
    // One after the other: each holds its channel's row for a moment.
    for (const { channel } of await people.places(platform, id)) {
      const request = await requests.add(channel.id, { kind: "forget", person: id });
      const again = "run this again later, and it says what is left";
      const answer = await ask(requests, request, io.shutdown, TIMES, forgetAnswer, again);
      if (answer === null) {
        await assertNoCluster(store, `forget in ${formatAddress(channel.address)}`);
        return { isTaken: false, forgotten };
      }
      if (answer.kind === "forgotten") forgotten = added(forgotten, answer);
    }
    return { isTaken: true, forgotten };
  };
  const asked = await withStore(io, config, work, "asker");
  if (!asked.isTaken)
    io.stderr.write(
      "No daemon has taken this: none runs, or its version is older and knows no such request. It is done here.\n",
    );
  return asked;
}

/** Without a daemon: builds everything but the platforms. A daemon that did not take the request loses the channels, and loads them again. */
async function forgetHere(
  io: Io,
  config: Config,
  { platform, id }: KnownPerson,
  before: Forgotten,
): Promise<Forgotten> {
  await withStore(io, config, async (store) => assertComparable(store, { platform, id }));
  const log = openLog(io, config, config.log.level === "info" ? "warn" : config.log.level);
  await using daemon = await buildDaemon({ config, log, platforms: () => [], bindings: [] });
  using _line = new Spinner(io.stderr, "Forgetting");
  let forgotten = before;
  for (const { channel } of await daemon.store.people.places(platform, id)) {
    const taken = await daemon.registry.visit(channel.id, async () =>
      redactPerson(daemon, channel, id, () => !io.shutdown.aborted && !daemon.lost.aborted),
    );
    forgotten = added(forgotten, taken);
  }
  daemon.lost.throwIfAborted();
  await daemon.sweepFiles();
  return forgotten;
}

/**
 * @throws OperatorError if texts cannot be compared with messages here: all texts that may be derived from them would be
 * deleted, without a way to restore them
 */
async function assertComparable(
  { retention }: Pick<Store, "retention">,
  person: { readonly platform: string; readonly id: string },
): Promise<void> {
  const strange = await retention.countStrange(person);
  if (strange === 0) return;
  throw new OperatorError(
    `Nothing is forgotten: the texts of ${counted(strange, "message")} are no longer kept, and their fingerprints were made with another ` +
      "signing.key than the one here. Run this where the daemon runs, or bring its signing.key into the data folder first.",
  );
}

function added(one: Forgotten, other: Forgotten): Forgotten {
  return { messages: one.messages + other.messages, memories: one.memories + other.memories };
}

/** Reports the remaining content, as the log has it. */
async function tellRest(
  io: Io,
  { people }: Store,
  person: KnownPerson,
  { messages, memories }: Forgotten,
): Promise<void> {
  const places = await people.places(person.platform, person.id);
  const left = places.reduce((total, place) => total + place.messages, 0);
  const what = `${counted(messages, "message")} and ${counted(memories, "memory", "memories")}`;
  if (left > 0)
    throw new OperatorError(
      `Forgotten: ${what}. ${counted(left, "message")} of ${nameOf(person)} are left: run this again.`,
    );
  say(io, `Forgotten: ${what}. Nothing of ${nameOf(person)} is left in the log.`);
}
